#include "gpu/device.h"

#include <stdexcept>

#include "gpu/runtime_memory.h"
#include "gpu/shared_object.h"

namespace attnplan::gpu {
namespace {

constexpr const char* kLibrary = "libattnplan_hip.so";

// At the path, or wherever the loader looks.
SharedObject open_library(const std::string& path) {
  if (!path.empty()) return SharedObject(path);
  return SharedObject(kLibrary);
}

}  // namespace

Device open_device(const std::string& path) {
  const SharedObject object = open_library(path);
  if (!object)
    throw std::runtime_error("cannot load " + std::string(kLibrary) + ": " + object.error());
  Device device;
  object.find("attnplan_hip_device", &device.library.device);
  object.find("attnplan_hip_contracts", &device.library.contracts);
  object.find("attnplan_hip_workspace_size", &device.library.workspace_size);
  object.find("attnplan_hip_launch", &device.library.launch);
  object.find("attnplan_hip_select_workspace_size", &device.library.select_workspace_size);
  object.find("attnplan_hip_select", &device.library.select);
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  if (device.library.device(0, &device.info, &error) != ATTNPLAN_OK) {
    throw std::runtime_error(error.message);
  }
  device.memory = open_memory(device.info.arch);
  return device;
}

}  // namespace attnplan::gpu
