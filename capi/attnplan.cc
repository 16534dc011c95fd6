// The planner behind its C ABI: converts, guards, and nothing else.
#include "attnplan.h"

#include <cstddef>
#include <utility>

#include "convert.h"
#include "guard.h"
#include "handles.h"
#include "versioned.h"

using attnplan::Code;
using attnplan::Error;
using attnplan::Group;
using attnplan::Status;
using attnplan::Step;

namespace {

Status invalid(Error* error, const char* why) {
  return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0, "%s", why);
}

attnplan_status finish(Status status, const Error& error, attnplan_error* out) {
  if (status != Status::kOk && out != nullptr) attnplan::fill_error(error, out);
  return static_cast<attnplan_status>(status);
}

attnplan_status build(const attnplan_planner* planner, attnplan_scratch* scratch,
                      const attnplan_step* step, const attnplan_group* group, void* buffer,
                      size_t capacity, size_t* bytes, attnplan_error* error_out) {
  Error error;
  size_t needed = 0;
  const Status status = attnplan::guard(&error, [&] {
    if (planner == nullptr || scratch == nullptr || bytes == nullptr) {
      return invalid(&error, "planner, scratch and bytes must be given");
    }
    Step own_step;
    Group own_group;
    Status s = attnplan::to_step(step, &own_step, &error);
    if (s == Status::kOk) s = attnplan::to_group(group, &own_group, &error);
    if (s != Status::kOk) return s;
    return planner->planner->build(own_step, own_group, &scratch->scratch,
                                   static_cast<std::byte*>(buffer), capacity, &needed, &error);
  });
  if (status == Status::kOk) {
    *bytes = needed;
    return ATTNPLAN_OK;
  }
  finish(status, error, error_out);
  if (status == Status::kPlanError) attnplan::fill_lists(scratch->scratch, error, error_out);
  return static_cast<attnplan_status>(status);
}

}  // namespace

uint32_t attnplan_abi_version(void) { return ATTNPLAN_ABI_VERSION; }

const char* attnplan_version_string(void) { return ATTNPLAN_VERSION; }

const char* attnplan_status_name(attnplan_status status) {
  return attnplan::name(static_cast<Status>(status));
}

const char* attnplan_code_name(attnplan_code code) {
  return attnplan::name(static_cast<Code>(code));
}

const char* attnplan_reason_name(attnplan_reason reason) {
  return attnplan::name(static_cast<attnplan::Reason>(reason));
}

const char* attnplan_route_name(attnplan_route route) {
  return attnplan::name(static_cast<attnplan::Route>(route));
}

const char* attnplan_dtype_name(attnplan_dtype dtype) {
  return attnplan::name(static_cast<attnplan::Dtype>(dtype));
}

attnplan_status attnplan_planner_create(const attnplan_config* config, attnplan_planner** planner,
                                        attnplan_error* error_out) {
  Error error;
  attnplan_planner* handle = nullptr;
  const Status status = attnplan::guard(&error, [&] {
    if (config == nullptr || planner == nullptr) {
      return invalid(&error, "config and planner must be given");
    }
    constexpr size_t kAllocatorEnd = offsetof(attnplan_config, allocator) + sizeof(void*);
    const attnplan_allocator* hooks =
        config->struct_size >= kAllocatorEnd ? config->allocator : nullptr;
    if (attnplan::half_given(hooks)) {
      return invalid(&error, "an allocator needs both functions or neither");
    }
    handle = attnplan::create_handle<attnplan_planner>(hooks);
    attnplan::Config own(&handle->memory);
    const Status s = attnplan::to_config(config, &own, &error);
    if (s != Status::kOk) return s;
    return attnplan::Planner::create(std::move(own), &handle->memory, &handle->planner, &error);
  });
  if (status == Status::kOk) {
    *planner = handle;
  } else {
    attnplan_planner_destroy(handle);
  }
  return finish(status, error, error_out);
}

void attnplan_planner_destroy(attnplan_planner* planner) {
  if (planner == nullptr) return;
  attnplan::Planner::destroy(planner->planner);
  attnplan::destroy_handle(planner);
}

int32_t attnplan_planner_num_kernels(const attnplan_planner* planner) {
  return planner != nullptr ? planner->planner->num_kernels() : 0;
}

const char* attnplan_planner_kernel_name(const attnplan_planner* planner, int32_t kernel) {
  if (kernel < 0 || kernel >= attnplan_planner_num_kernels(planner)) return nullptr;
  return planner->planner->contract(kernel).name.c_str();
}

attnplan_status attnplan_planner_kernel_info(const attnplan_planner* planner, int32_t kernel,
                                             attnplan_kernel_info* info,
                                             attnplan_error* error_out) {
  Error error;
  const Status status = attnplan::guard(&error, [&] {
    if (kernel < 0 || kernel >= attnplan_planner_num_kernels(planner)) {
      return invalid(&error, "the planner's profile has no such kernel");
    }
    const attnplan::KernelInfo own = planner->planner->kernel_info(kernel);
    attnplan_kernel_info result = ATTNPLAN_KERNEL_INFO_INIT;
    result.route = static_cast<attnplan_route>(own.route);
    result.reasons = own.reasons;
    result.page_size = own.page_size;
    result.label = static_cast<attnplan_dtype>(own.label);
    return attnplan::write_struct(result, info, "attnplan_kernel_info", &error);
  });
  return finish(status, error, error_out);
}

attnplan_status attnplan_planner_kv_view(const attnplan_planner* planner, attnplan_kv_view* view,
                                         attnplan_error* error_out) {
  Error error;
  const Status status = attnplan::guard(&error, [&] {
    if (planner == nullptr || view == nullptr) {
      return invalid(&error, "planner and view must be given");
    }
    const attnplan::KvView* resolved = planner->planner->kv_view();
    if (resolved == nullptr) {
      return invalid(&error, "the planner was created without a KV cache");
    }
    return attnplan::write_struct(attnplan::from_view(*resolved), view, "attnplan_kv_view", &error);
  });
  return finish(status, error, error_out);
}

attnplan_status attnplan_scratch_create(const attnplan_allocator* allocator,
                                        attnplan_scratch** scratch, attnplan_error* error_out) {
  Error error;
  const Status status = attnplan::guard(&error, [&] {
    if (scratch == nullptr) return invalid(&error, "scratch must be given");
    if (attnplan::half_given(allocator)) {
      return invalid(&error, "an allocator needs both functions or neither");
    }
    *scratch = attnplan::create_handle<attnplan_scratch>(allocator);
    return Status::kOk;
  });
  return finish(status, error, error_out);
}

void attnplan_scratch_destroy(attnplan_scratch* scratch) {
  if (scratch != nullptr) attnplan::destroy_handle(scratch);
}

attnplan_status attnplan_plan_size(const attnplan_planner* planner, attnplan_scratch* scratch,
                                   const attnplan_step* step, const attnplan_group* group,
                                   size_t* bytes, attnplan_error* error) {
  return build(planner, scratch, step, group, nullptr, 0, bytes, error);
}

attnplan_status attnplan_plan_build(const attnplan_planner* planner, attnplan_scratch* scratch,
                                    const attnplan_step* step, const attnplan_group* group,
                                    void* buffer, size_t capacity, size_t* bytes,
                                    attnplan_error* error_out) {
  if (buffer == nullptr || reinterpret_cast<uintptr_t>(buffer) % ATTNPLAN_PLAN_ALIGNMENT != 0) {
    Error error;
    return finish(invalid(&error, "buffer must be given and 64-byte aligned"), error, error_out);
  }
  return build(planner, scratch, step, group, buffer, capacity, bytes, error_out);
}

attnplan_status attnplan_plan_bound(const attnplan_planner* planner, size_t* bytes,
                                    attnplan_error* error_out) {
  Error error;
  const Status status = attnplan::guard(&error, [&] {
    if (planner == nullptr || bytes == nullptr) {
      return invalid(&error, "planner and bytes must be given");
    }
    return planner->planner->bound(bytes, &error);
  });
  return finish(status, error, error_out);
}
