// The pipeline: validate -> classify -> order -> segment -> route -> measure -> write.
#include "attnplan/planner.h"

#include <new>

#include "kv/block_table.h"
#include "planner/assemble.h"
#include "planner/classify.h"
#include "planner/create.h"
#include "planner/hash.h"
#include "planner/lengths.h"
#include "planner/limits.h"
#include "planner/order.h"
#include "planner/resolve.h"
#include "planner/scratch.h"
#include "planner/segment.h"
#include "planner/state.h"
#include "planner/validate.h"
#include "planner/write.h"

namespace attnplan {
namespace {

// One step on its way through the stages.
class Pipeline {
 public:
  Pipeline(const Planner::State& state, const Step& step, const Group& group,
           Scratch::Buffers& buffers, Error* error)
      : state_(state), step_(step), group_(group), buffers_(buffers), error_(error) {}

  Status run() {
    Status status = check_values();
    if (status == Status::kOk) status = check_table();
    if (status != Status::kOk) return status;
    classify_exactness(state_.config, step_, lengths_.seq_lens, buffers_, &lanes_);
    if (state_.config.order == Order::kSort) {
      sort_lanes(state_.config, buffers_, &lanes_, &scan_);
    }
    routing_.parts = segment(lanes_, scan_);
    status = resolve(routing_, state_.policy, buffers_, &policy_, error_);
    if (status != Status::kOk) return status;
    return check_limits(state_.config.limits, lanes_, buffers_.routing.segments, error_);
  }

  Plan plan() { return assemble(state_, step_, routing_, policy_, buffers_); }

 private:
  Status check_values() {
    lengths_ = resolve_lengths(step_, *state_.isa, buffers_);
    const int32_t room = state_.view && step_.phase != Phase::kDraft
                             ? uniform_capacity(group_, state_.config.kv_cache->block_size)
                             : INT32_MAX;
    scan_ = scan_step(state_.config, step_, lengths_, room, *state_.isa, buffers_);
    lanes_.n = step_.num_reqs;
    lanes_.rows = scan_.rows;
    lanes_.query_lens = lengths_.query_lens;
    lanes_.seq_lens = lengths_.seq_lens;
    lanes_.context_lens = buffers_.context_lens.fit(0);
    lanes_.classes = buffers_.classes.fit(0);
    return validate(state_.config, step_, lengths_, scan_, lanes_.context_lens, lanes_.classes,
                    error_);
  }

  // Width and ids of the block table, where the cache is known.
  Status check_table() {
    buffers_.warnings.clear();
    if (!state_.view || !group_.has_table()) return Status::kOk;
    BlockTableInput in{&group_, &*state_.config.kv_cache, lanes_.query_lens, lanes_.seq_lens,
                       lanes_.n};
    if (step_.phase == Phase::kDraft) {
      int32_t* clamped = buffers_.clamped_seq_lens.fit(static_cast<size_t>(lanes_.n));
      lanes_.clamped = clamp_seq_lens(in, clamped, &buffers_.warnings);
      if (lanes_.clamped) lanes_.seq_lens = in.seq_lens = clamped;
    } else if (scan_.suspicious || group_.block_indptr != nullptr) {
      if (const Status status = check_width(in, error_); status != Status::kOk) return status;
    }
    return check_ids(in, *state_.isa, error_);
  }

  const Planner::State& state_;
  const Step& step_;
  const Group& group_;
  Scratch::Buffers& buffers_;
  Error* error_;
  Lengths lengths_;
  ScanResult scan_{};
  Lanes lanes_;
  RoutingInput routing_{&state_.kernels, &lanes_, state_.isa, {}, state_.config.max_segments};
  Ragged policy_ = Ragged::kDefault;
};

}  // namespace

Status Planner::create(Config config, std::pmr::memory_resource* memory, Planner** planner,
                       Error* error) {
  void* place = memory->allocate(sizeof(State), alignof(State));
  State* state;
  try {
    state = new (place) State(std::move(config), memory);
  } catch (...) {
    memory->deallocate(place, sizeof(State), alignof(State));
    throw;
  }
  const Status status = resolve_state(state, error);
  if (status == Status::kOk) {
    *planner = &state->planner;
  } else {
    destroy(&state->planner);
  }
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

const Config& Planner::config() const { return state_->config; }

const KvView* Planner::kv_view() const { return state_->view ? &*state_->view : nullptr; }

uint64_t Planner::hash() const { return state_->hash; }

Status Planner::build(const Step& step, const Group& group, Scratch* scratch, std::byte* out,
                      size_t capacity, size_t* bytes, Error* error) const {
  Pipeline pipeline(*state_, step, group, scratch->buffers(), error);
  if (const Status status = pipeline.run(); status != Status::kOk) return status;
  return write_plan(pipeline.plan(), out, capacity, bytes, error);
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
