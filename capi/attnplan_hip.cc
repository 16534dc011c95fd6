#include "attnplan_hip.h"

#include "fill_error.h"
#include "hip/contracts.h"
#include "hip/device.h"
#include "hip/launch_check.h"
#include "hip/plan_layer.h"
#include "hip/run.h"
#include "hip/select_check.h"
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

attnplan_status attnplan_hip_contracts(const attnplan_hip_attention* attention,
                                       const attnplan_contract* const** contracts, size_t* count,
                                       attnplan_error* error_out) {
  Error error;
  attnplan::hip::Layer layer;
  Status status = attnplan::hip::read_layer(attention, &layer, &error);
  if (status == Status::kOk && (contracts == nullptr || count == nullptr)) {
    status = error.set(Status::kInvalidArgument, attnplan::Code::kNone, -1, 0, 0, "%s is NULL",
                       contracts == nullptr ? "contracts" : "count");
  }
  if (status == Status::kOk) status = attnplan::hip::check_query_dtype(layer, &error);
  if (status != Status::kOk) return finish(status, error, error_out);
  const attnplan::hip::ContractList list = attnplan::hip::layer_contracts(layer);
  *contracts = list.contracts;
  *count = list.count;
  return ATTNPLAN_OK;
}

attnplan_status attnplan_hip_workspace_size(const attnplan_hip_attention* attention,
                                            const void* plan, size_t plan_bytes, size_t* bytes,
                                            attnplan_error* error_out) {
  Error error;
  attnplan::hip::Layer layer;
  attnplan::hip::HostPlan host;
  attnplan::hip::Workspace workspace;
  Status status = attnplan::hip::read_layer(attention, &layer, &error);
  if (status == Status::kOk) {
    status = attnplan::hip::HostPlan::read(plan, plan_bytes, &host, &error);
  }
  if (status == Status::kOk) status = attnplan::hip::check_plan_layer(host, layer, &error);
  if (status == Status::kOk) {
    status = attnplan::hip::workspace_of(layer, host, &workspace, &error);
  }
  if (status == Status::kOk && bytes == nullptr) {
    status = error.set(Status::kInvalidArgument, attnplan::Code::kNone, -1, 0, 0, "bytes is NULL");
  }
  if (status == Status::kOk) *bytes = static_cast<size_t>(workspace.bytes);
  return finish(status, error, error_out);
}

attnplan_status attnplan_hip_launch(const attnplan_hip_launch_args* args, void* stream,
                                    attnplan_error* error_out) {
  Error error;
  return finish(attnplan::hip::run_segment(args, stream, &error), error, error_out);
}

attnplan_status attnplan_hip_select_workspace_size(const attnplan_hip_attention* attention,
                                                   const void* plan, size_t plan_bytes,
                                                   int32_t max_seq_len, size_t* bytes,
                                                   attnplan_error* error_out) {
  Error error;
  attnplan::hip::Layer layer;
  attnplan::hip::HostPlan host;
  int64_t need = 0;
  Status status = attnplan::hip::read_layer(attention, &layer, &error);
  if (status == Status::kOk) {
    status = attnplan::hip::HostPlan::read(plan, plan_bytes, &host, &error);
  }
  if (status == Status::kOk) status = attnplan::hip::check_plan_layer(host, layer, &error);
  if (status == Status::kOk && (bytes == nullptr || max_seq_len < 0)) {
    status = error.set(Status::kInvalidArgument, attnplan::Code::kNone, -1, max_seq_len, 0,
                       bytes == nullptr ? "bytes is NULL" : "max_seq_len is negative");
  }
  if (status == Status::kOk) {
    status = attnplan::hip::select_workspace_bytes(layer, host, max_seq_len, &need, &error);
  }
  if (status == Status::kOk) *bytes = static_cast<size_t>(need);
  return finish(status, error, error_out);
}

attnplan_status attnplan_hip_select(const attnplan_hip_select_args* args, void* stream,
                                    attnplan_error* error_out) {
  Error error;
  return finish(attnplan::hip::run_select(args, stream, &error), error, error_out);
}

attnplan_status attnplan_hip_kv_write(const attnplan_hip_kv_write_args* args, void* stream,
                                      attnplan_error* error_out) {
  Error error;
  return finish(attnplan::hip::run_kv_write(args, stream, &error), error, error_out);
}

attnplan_status attnplan_hip_refresh(const attnplan_hip_refresh_args* args, void* stream,
                                     attnplan_error* error_out) {
  Error error;
  return finish(attnplan::hip::run_refresh(args, stream, &error), error, error_out);
}

attnplan_status attnplan_hip_advance(const int32_t* query_start_loc, int32_t* seq_lens,
                                     int32_t num_reqs, int32_t max_model_len, void* stream,
                                     attnplan_error* error_out) {
  Error error;
  return finish(attnplan::hip::run_advance(query_start_loc, seq_lens, num_reqs, max_model_len,
                                           stream, &error),
                error, error_out);
}

}  // extern "C"
