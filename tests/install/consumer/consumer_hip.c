/* Somebody else's program on the HIP module: a device that never exists is refused in words. */
#include <attnplan_hip.h>
#include <stdio.h>

int main(void) {
  attnplan_hip_device_info device = ATTNPLAN_HIP_DEVICE_INFO_INIT;
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  if (attnplan_hip_abi_version() != ATTNPLAN_HIP_ABI_VERSION) return 1;
  if (attnplan_hip_device(-1, &device, &error) != ATTNPLAN_INVALID_ARGUMENT) return 1;
  puts(error.message);
  return 0;
}
