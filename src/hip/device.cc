#include "hip/device.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "hip/attention_args.h"
#include "hip/kernel_table.h"
#include "hip/runtime.h"

namespace attnplan::hip {
namespace {

Status invalid(Error* error, int64_t value, int64_t limit, const char* what, const char* why) {
  return error->set(Status::kInvalidArgument, Code::kNone, -1, value, limit, "%s: %s", what, why);
}

// ATTNPLAN_HIP_BUILT_ARCHS: the architectures with code in the library, each between two spaces.
bool has_code_for(const char* arch) {
  char word[sizeof(DeviceProperties::arch) + 2];
  std::snprintf(word, sizeof word, " %s ", arch);
  return std::string_view(ATTNPLAN_HIP_BUILT_ARCHS).find(word) != std::string_view::npos;
}

// Blocks of the usual attention kernel that the whole device holds at a time.
int32_t resident_workers(int32_t ordinal, const DeviceProperties& properties) {
  const Kernel kernel = find_kernel(Kind::kAttention, {ATTNPLAN_DTYPE_BF16, 128, 128, false, 1});
  int before = ordinal, blocks = 0;
  if (current_device(&before) != 0 || use_device(ordinal) != 0) blocks = 1;
  if (blocks == 0 &&
      resident_blocks(kernel, kAttentionWaves * properties.wave_size, &blocks) != 0) {
    blocks = 1;
  }
  use_device(before);
  return properties.compute_units * std::max(blocks, 1);
}

}  // namespace

Status describe_device(int32_t ordinal, attnplan_hip_device_info* device, Error* error) {
  int count = 0;
  int failed = device_count(&count);
  if (failed != 0)
    return error->set(Status::kInvalidArgument, Code::kNone, -1, ordinal, 0,
                      "the GPU runtime finds no device: %s. Is the driver loaded, may this user "
                      "open it, and are devices visible (HIP_VISIBLE_DEVICES, "
                      "CUDA_VISIBLE_DEVICES)?",
                      describe(failed));
  if (ordinal < 0 || ordinal >= count) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, ordinal, count,
                      "ordinal %d: there are %d devices", ordinal, count);
  }
  DeviceProperties properties;
  failed = device_properties(ordinal, &properties);
  if (failed != 0) {
    return invalid(error, ordinal, count, "the GPU runtime cannot describe the device",
                   describe(failed));
  }
  if (!has_code_for(properties.arch)) {
    return error->set(Status::kUnimplemented, Code::kNone, -1, ordinal, count,
                      "device %d is %s, the library has code for:%s", ordinal, properties.arch,
                      ATTNPLAN_HIP_BUILT_ARCHS);
  }
  static_assert(sizeof device->name == sizeof properties.name &&
                sizeof device->arch == sizeof properties.arch);
  std::memcpy(device->name, properties.name, sizeof device->name);
  std::memcpy(device->arch, properties.arch, sizeof device->arch);
  device->memory_bytes = properties.memory_bytes;
  device->l2_bytes = properties.l2_bytes;
  device->compute_units = properties.compute_units;
  device->wave_size = properties.wave_size;
  device->num_workers = resident_workers(ordinal, properties);
  return Status::kOk;
}

}  // namespace attnplan::hip
