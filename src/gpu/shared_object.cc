#include "gpu/shared_object.h"

#include <dlfcn.h>

#include <stdexcept>

namespace attnplan::gpu {

SharedObject::SharedObject(const std::string& name)
    : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)), name_(name) {
  if (handle_ == nullptr) {
    const char* why = dlerror();
    error_ = why != nullptr ? why : "unknown error";
  }
}

void* SharedObject::address(const char* name) const {
  void* found = dlsym(handle_, name);
  if (found == nullptr) throw std::runtime_error(name_ + " has no " + name);
  return found;
}

}  // namespace attnplan::gpu
