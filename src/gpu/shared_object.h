// A shared object opened at run time. It stays loaded.
#pragma once

#include <string>

namespace attnplan::gpu {

class SharedObject {
 public:
  // Null inside where it cannot be loaded; error() says why.
  explicit SharedObject(const std::string& name);

  explicit operator bool() const { return handle_ != nullptr; }
  const std::string& error() const { return error_; }
  // Throws std::runtime_error where it has no such function.
  template <class Function>
  void find(const char* name, Function* function) const {
    *function = reinterpret_cast<Function>(address(name));
  }

 private:
  void* address(const char* name) const;

  void* handle_;
  std::string name_;
  std::string error_;
};

}  // namespace attnplan::gpu
