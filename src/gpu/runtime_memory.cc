#include "gpu/runtime_memory.h"

#include <cstdint>
#include <stdexcept>

#include "gpu/shared_object.h"

namespace attnplan::gpu {
namespace {

SharedObject open_first(std::initializer_list<const char*> names) {
  std::string errors;
  for (const char* name : names) {
    SharedObject found(name);
    if (found) return found;
    errors += (errors.empty() ? "" : "; ") + found.error();
  }
  throw std::runtime_error("no GPU runtime: " + errors);
}

void check(int error, const char* what) {
  if (error == 0) return;
  throw std::runtime_error(std::string(what) + " failed on the GPU, error " +
                           std::to_string(error));
}

// Signatures as the runtime's C interface has them; error 0 is success.
class HipMemory : public Memory {
 public:
  HipMemory()
      : runtime_(open_first(
            {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"})) {
    runtime_.find("hipMalloc", &malloc_);
    runtime_.find("hipFree", &free_);
    runtime_.find("hipMemcpy", &memcpy_);
  }
  void* allocate(size_t bytes) override {
    void* address = nullptr;
    check(malloc_(&address, bytes), "allocating memory");
    return address;
  }
  void release(void* address) override { (void)free_(address); }
  void upload(void* to, const void* from, size_t bytes) override {
    check(memcpy_(to, from, bytes, kHostToDevice), "copying");
  }
  void download(void* to, const void* from, size_t bytes) override {
    check(memcpy_(to, from, bytes, kDeviceToHost), "copying");
  }

 private:
  enum { kHostToDevice = 1, kDeviceToHost = 2 };
  SharedObject runtime_;
  int (*malloc_)(void**, size_t) = nullptr;
  int (*free_)(void*) = nullptr;
  int (*memcpy_)(void*, const void*, size_t, int) = nullptr;
};

// The driver's interface: the runtime that the library carries uses the same primary context.
class CudaMemory : public Memory {
 public:
  CudaMemory() : driver_(open_first({"libcuda.so.1"})) {
    int (*init)(unsigned) = nullptr;
    int (*retain)(void**, int) = nullptr;
    int (*set_current)(void*) = nullptr;
    driver_.find("cuInit", &init);
    driver_.find("cuDevicePrimaryCtxRetain", &retain);
    driver_.find("cuCtxSetCurrent", &set_current);
    driver_.find("cuMemAlloc_v2", &malloc_);
    driver_.find("cuMemFree_v2", &free_);
    driver_.find("cuMemcpyHtoD_v2", &to_device_);
    driver_.find("cuMemcpyDtoH_v2", &to_host_);
    void* context = nullptr;
    check(init(0), "starting the driver");
    check(retain(&context, 0), "opening the GPU");
    check(set_current(context), "opening the GPU");
  }
  void* allocate(size_t bytes) override {
    uint64_t address = 0;
    check(malloc_(&address, bytes), "allocating memory");
    return reinterpret_cast<void*>(address);
  }
  void release(void* address) override { (void)free_(reinterpret_cast<uint64_t>(address)); }
  void upload(void* to, const void* from, size_t bytes) override {
    check(to_device_(reinterpret_cast<uint64_t>(to), from, bytes), "copying");
  }
  void download(void* to, const void* from, size_t bytes) override {
    check(to_host_(to, reinterpret_cast<uint64_t>(from), bytes), "copying");
  }

 private:
  SharedObject driver_;
  int (*malloc_)(uint64_t*, size_t) = nullptr;
  int (*free_)(uint64_t) = nullptr;
  int (*to_device_)(uint64_t, const void*, size_t) = nullptr;
  int (*to_host_)(void*, uint64_t, size_t) = nullptr;
};

}  // namespace

std::unique_ptr<Memory> open_memory(const std::string& arch) {
  if (arch.starts_with("sm_")) return std::make_unique<CudaMemory>();
  return std::make_unique<HipMemory>();
}

}  // namespace attnplan::gpu
