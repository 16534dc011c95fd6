#include "attnplan_hip.h"

#include "fill_error.h"
#include "hip/device.h"
#include "versioned.h"

using attnplan::Error;
using attnplan::Status;

namespace {

attnplan_status finish(Status status, const Error& error, attnplan_error* out) {
  if (status != Status::kOk) attnplan::fill_error(error, out);
  return static_cast<attnplan_status>(status);
}

}  // namespace

extern "C" {

uint32_t attnplan_hip_abi_version(void) { return ATTNPLAN_HIP_ABI_VERSION; }

attnplan_status attnplan_hip_device(int32_t ordinal, attnplan_hip_device_info* device,
                                    attnplan_error* error_out) {
  Error error;
  attnplan_hip_device_info copy = ATTNPLAN_HIP_DEVICE_INFO_INIT;
  const attnplan_hip_device_info* given;
  Status status = attnplan::read_struct(device, &copy, &given, "attnplan_hip_device_info", &error);
  attnplan_hip_device_info info = ATTNPLAN_HIP_DEVICE_INFO_INIT;
  if (status == Status::kOk) status = attnplan::hip::describe_device(ordinal, &info, &error);
  if (status == Status::kOk) attnplan::write_versioned(info, device);
  return finish(status, error, error_out);
}

}  // extern "C"
