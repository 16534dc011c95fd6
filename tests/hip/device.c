/* The library loads where there is no GPU and says so; where there is one, it describes it. */
#include "attnplan_hip.h"
#include "check.h"

static attnplan_hip_device_info marked(void) {
  attnplan_hip_device_info device = ATTNPLAN_HIP_DEVICE_INFO_INIT;
  device.compute_units = -7;
  return device;
}

static void check_first_device(void) {
  attnplan_hip_device_info device = marked();
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  const attnplan_status status = attnplan_hip_device(0, &device, &error);
  if (status == ATTNPLAN_OK) {
    CHECK(device.name[0] != 0 && device.arch[0] != 0);
    CHECK(device.compute_units > 0 && device.num_workers >= device.compute_units);
    CHECK(device.wave_size == 32 || device.wave_size == 64);
    CHECK(device.memory_bytes > 0);
    return;
  }
  CHECK_INT(error.status, status);
  CHECK_INT(device.compute_units, -7);
  if (status == ATTNPLAN_UNIMPLEMENTED) {
    CHECK_CONTAINS(error.message, "the library has code for");
  } else {
    CHECK_INT(status, ATTNPLAN_INVALID_ARGUMENT);
    CHECK_CONTAINS(error.message, "GPU runtime");
  }
}

static void check_no_such_device(void) {
  attnplan_hip_device_info device = marked();
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  CHECK_INT(attnplan_hip_device(-1, &device, &error), ATTNPLAN_INVALID_ARGUMENT);
  CHECK_INT(error.value, -1);
  CHECK_INT(device.compute_units, -7);
  CHECK_INT(attnplan_hip_device(0, NULL, &error), ATTNPLAN_INVALID_ARGUMENT);
  CHECK_CONTAINS(error.message, "attnplan_hip_device_info is NULL");
  CHECK_INT(attnplan_hip_device(1000, &device, NULL), ATTNPLAN_INVALID_ARGUMENT);
}

int main(void) {
  CHECK_INT(attnplan_hip_abi_version() >> 16, ATTNPLAN_HIP_ABI_VERSION >> 16);
  check_first_device();
  check_no_such_device();
  return check_report();
}
