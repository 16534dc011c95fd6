// The face of the planner. Its pipeline stands in pipeline.cc.
#include "attnplan/planner.h"

#include <new>
#include <utility>

#include "planner/create.h"
#include "planner/pipeline.h"
#include "planner/scratch.h"
#include "planner/write.h"

namespace attnplan {

Status Planner::create(Config config, std::pmr::memory_resource* memory, Planner** planner,
                       Error* error) {
  // Gives everything back where a step fails, by a status or for lack of memory.
  struct Owner {
    ~Owner() { destroy(planner); }
    Planner* planner;
  };
  // Constructing a State moves the configuration and allocates nothing.
  void* place = memory->allocate(sizeof(State), alignof(State));
  auto* state = new (place) State(std::move(config), memory);
  Owner owner{&state->planner};
  const Status status = resolve_state(state, error);
  if (status == Status::kOk) *planner = std::exchange(owner.planner, nullptr);
  return status;
}

void Planner::destroy(Planner* planner) {
  if (planner == nullptr) return;
  State* state = planner->state_;
  std::pmr::memory_resource* memory = state->memory;
  state->~State();
  memory->deallocate(state, sizeof(State), alignof(State));
}

int32_t Planner::num_kernels() const { return static_cast<int32_t>(state_->kernels.size()); }

const Contract& Planner::contract(int32_t kernel) const {
  return state_->config.contracts[static_cast<size_t>(kernel)];
}

KernelInfo Planner::kernel_info(int32_t index) const {
  const Kernel& kernel = state_->kernels[static_cast<size_t>(index)];
  KernelInfo info{kernel.route, kernel.static_refusals, kernel.page_size, kernel.label};
  // Not even one row of its query heads fits.
  if (kernel.max_query_len_by_group < 1) info.reasons |= bit(Reason::kGroupTooWide);
  return info;
}

const Config& Planner::config() const { return state_->config; }

const KvView* Planner::kv_view() const { return state_->view ? &*state_->view : nullptr; }

uint64_t Planner::hash() const { return state_->hash; }

Status Planner::build(const Step& step, const Group& group, Scratch* scratch, std::byte* out,
                      size_t capacity, size_t* bytes, Error* error) const {
  StepScan scan;
  Plan plan;
  const Status status = make_plan(*state_, step, group, scratch->buffers(), &scan, &plan, error);
  if (status != Status::kOk) return status;
  return write_plan(plan, out, capacity, bytes, error);
}

Status Planner::build_many(std::span<const Planner* const> planners, const Step& step,
                           std::span<const Group> groups, Scratch* scratch,
                           std::span<const Output> outputs, size_t* bytes, size_t* failed,
                           Error* error) {
  StepScan scan;
  for (size_t i = 0; i < planners.size(); ++i) {
    Plan plan;
    Status status =
        make_plan(*planners[i]->state_, step, groups[i], scratch->buffers(), &scan, &plan, error);
    if (status == Status::kOk) {
      status = write_plan(plan, outputs[i].data, outputs[i].capacity, &bytes[i], error);
    }
    if (status != Status::kOk) {
      *failed = i;
      return status;
    }
  }
  return Status::kOk;
}

Status Planner::bound(size_t* bytes, Error* error) const {
  if (const char* missing = missing_limit(state_->config)) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0,
                      "the bound of a plan needs the limit %s", missing);
  }
  *bytes = plan_bound(*state_);
  return Status::kOk;
}

Scratch::Scratch(std::pmr::memory_resource* memory) {
  buffers_ = new (memory->allocate(sizeof(Buffers), alignof(Buffers))) Buffers(memory);
}

Scratch::~Scratch() {
  std::pmr::memory_resource* memory = buffers_->memory;
  buffers_->~Buffers();
  memory->deallocate(buffers_, sizeof(Buffers), alignof(Buffers));
}

const std::pmr::vector<std::pair<int32_t, uint32_t>>& Scratch::failed_refusals() const {
  return buffers_->failed_refusals;
}

const std::pmr::vector<int32_t>& Scratch::failed_requests() const {
  return buffers_->failed_requests;
}

}  // namespace attnplan
