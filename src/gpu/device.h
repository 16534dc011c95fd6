// A GPU as the command sees it: the calls of libattnplan_hip.so, and memory. Both are found at run
// time, so that the command itself needs neither; the tests hand in simulated ones.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "attnplan_hip.h"

namespace attnplan::gpu {

struct Library {
  decltype(&attnplan_hip_device) device = nullptr;
  decltype(&attnplan_hip_contracts) contracts = nullptr;
  decltype(&attnplan_hip_workspace_size) workspace_size = nullptr;
  decltype(&attnplan_hip_launch) launch = nullptr;
  decltype(&attnplan_hip_select_workspace_size) select_workspace_size = nullptr;
  decltype(&attnplan_hip_select) select = nullptr;
};

// Calls wait until they are done and throw std::runtime_error.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual void* allocate(size_t bytes) = 0;  // aligned to 64 bytes
  virtual void release(void* address) = 0;
  virtual void upload(void* to, const void* from, size_t bytes) = 0;
  virtual void download(void* to, const void* from, size_t bytes) = 0;  // after all launches
};

struct Device {
  Library library;
  std::unique_ptr<Memory> memory;
  attnplan_hip_device_info info = ATTNPLAN_HIP_DEVICE_INFO_INIT;
};

// Opens libattnplan_hip.so, at `path` if given, and the first GPU. Throws std::runtime_error with a
// sentence for a person.
Device open_device(const std::string& path);

}  // namespace attnplan::gpu
