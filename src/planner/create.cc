#include "planner/create.h"

#include "attnplan_plan_format.h"
#include "planner/hash.h"
#include "planner/profiles.h"
#include "planner/state.h"
#include "planner/write.h"

namespace attnplan {
namespace {

Status below(Error* error, const char* what, int64_t value, int64_t limit) {
  return error->set(Status::kPlanError, Code::kValueOutOfRange, -1, value, limit,
                    "%s is %lld, expected at least %lld", what, static_cast<long long>(value),
                    static_cast<long long>(limit));
}

constexpr int32_t kMaxWorkers = 65536;  // far beyond any device; lists grow with it

Status check_scalars(const Config& c, Error* error) {
  const struct {
    const char* name;
    int64_t value;
    int64_t least;
  } scalars[] = {{"decode_threshold", c.decode_threshold, 1},
                 {"num_q_heads", c.num_q_heads, 1},
                 {"num_kv_heads", c.num_kv_heads, 1},
                 {"head_size", c.head_size, 1},
                 {"v_head_size", c.v_head_size, 1},
                 {"sliding_window", c.sliding_window, 0},
                 {"num_workers", c.num_workers, 1},
                 {"max_model_len", c.limits.max_model_len, 0},
                 {"max_num_seqs", c.limits.max_num_seqs, 0},
                 {"max_num_batched_tokens", c.limits.max_num_batched_tokens, 0},
                 {"max_sections_bytes", c.limits.max_sections_bytes, 0},
                 {"max_segments", c.max_segments, 1},
                 {"chunk_workspace_tokens", c.chunk_workspace_tokens, 1},
                 {"work_fixed_tokens", c.work_fixed_tokens, c.work == Work::kFixed ? 1 : 0},
                 {"graph width", c.graph.width, 0},
                 {"graph max_num_seqs", c.graph.max_num_seqs, 0},
                 {"context_parallel world", c.context_parallel_world, 1},
                 {"context_parallel rank", c.context_parallel_rank, 0},
                 {"context_parallel interleave", c.context_parallel_interleave, 1},
                 {"local_attention_chunk", c.local_attention_chunk, 0}};
  for (const auto& scalar : scalars) {
    if (scalar.value < scalar.least) return below(error, scalar.name, scalar.value, scalar.least);
  }
  if (c.num_workers > kMaxWorkers) {
    return error->set(Status::kPlanError, Code::kValueOutOfRange, -1, c.num_workers, kMaxWorkers,
                      "num_workers is %d, expected at most %d", c.num_workers, kMaxWorkers);
  }
  for (const auto* sizes : {&c.graph.full, &c.graph.piecewise}) {
    for (const int32_t rows : *sizes) {
      if (rows < 1) return below(error, "a graph size", rows, 1);
    }
  }
  if (c.num_q_heads % c.num_kv_heads != 0) {
    return error->set(Status::kPlanError, Code::kValueOutOfRange, -1, c.num_q_heads, c.num_kv_heads,
                      "num_q_heads %d is no multiple of num_kv_heads %d", c.num_q_heads,
                      c.num_kv_heads);
  }
  if (c.context_parallel_rank >= c.context_parallel_world) {
    return error->set(Status::kPlanError, Code::kValueOutOfRange, -1, c.context_parallel_rank,
                      c.context_parallel_world, "context_parallel rank %d is not below world %d",
                      c.context_parallel_rank, c.context_parallel_world);
  }
  return Status::kOk;
}

Status check_contract(const Contract& c, Error* error) {
  if (c.name.empty() || c.route == Route::kPad) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0,
                      "a contract needs a name and a route");
  }
  const struct {
    const char* name;
    int64_t value;
  } bounds[] = {
      {"max_query_len", c.max_query_len}, {"max_query_len_x_group", c.max_query_len_x_group},
      {"min_requests", c.min_requests},   {"max_requests", c.max_requests},
      {"max_seq_len", c.max_seq_len},     {"tile_tokens", c.tile_tokens},
      {"num_splits", c.num_splits}};
  for (const auto& bound : bounds) {
    if (bound.value < 0) return below(error, bound.name, bound.value, 0);
  }
  if (c.query_tile < 1) return below(error, "query_tile", c.query_tile, 1);
  if (c.kv_tile < 1) return below(error, "kv_tile", c.kv_tile, 1);
  return Status::kOk;
}

Status resolve_profile(Config* config, std::pmr::memory_resource* memory, Error* error) {
  if (config->contracts.empty() && !config->profile.empty()) {
    std::pmr::vector<Contract> kernels(memory);
    if (!built_in_profile(config->profile, &kernels)) {
      return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0,
                        "no built-in profile is called \"%.100s\"", config->profile.c_str());
    }
    config->contracts = std::move(kernels);
  }
  if (config->contracts.empty()) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0,
                      "a planner needs a profile or contracts");
  }
  for (const Contract& contract : config->contracts) {
    if (const Status status = check_contract(contract, error); status != Status::kOk) {
      return status;
    }
  }
  return Status::kOk;
}

Status invalid(Error* error, const char* what, const char* why) {
  return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0, "%s needs %s", what, why);
}

// A virtual batch names its keys by a block of the table: its chunk has to begin with one.
Status check_local_chunk(int32_t chunk, int32_t block_size, Error* error) {
  if (chunk % block_size == 0) return Status::kOk;
  return error->set(Status::kPlanError, Code::kValueOutOfRange, -1, chunk, block_size,
                    "local_attention_chunk %d is no multiple of the block size %d", chunk,
                    block_size);
}

// What the sections need is there, and how large they can get.
Status resolve_sections(Planner::State* state, Error* error) {
  const Config& config = state->config;
  const auto asked = [&config](int32_t id) { return (config.sections >> id & 1) != 0; };
  constexpr uint64_t kKnown = ((uint64_t{1} << (ATTNPLAN_SECTION_LAUNCH + 1)) - 1) &
                              ~((uint64_t{1} << ATTNPLAN_SECTION_QUERY_START_LOC) - 1);
  if ((config.sections & ~kKnown) != 0) {
    return error->set(Status::kUnimplemented, Code::kNone, -1,
                      static_cast<int64_t>(config.sections), static_cast<int64_t>(kKnown),
                      "sections asks for bits that are no section of this version");
  }
  const bool pages = asked(ATTNPLAN_SECTION_PAGE_INDPTR) || asked(ATTNPLAN_SECTION_PAGE_INDICES) ||
                     asked(ATTNPLAN_SECTION_LAST_PAGE_LEN) || asked(ATTNPLAN_SECTION_PAGE_TABLE) ||
                     asked(ATTNPLAN_SECTION_SLOTS);
  if (pages && !state->view) return invalid(error, "a section of pages or slots", "kv_cache");
  if (asked(ATTNPLAN_SECTION_LOCAL) && config.local_attention_chunk == 0) {
    return invalid(error, "section local", "local_attention_chunk");
  }
  if (asked(ATTNPLAN_SECTION_LOCAL) && config.kv_cache) {
    const Status status =
        check_local_chunk(config.local_attention_chunk, config.kv_cache->block_size, error);
    if (status != Status::kOk) return status;
  }
  state->capacity = capacity_of(config, state->view ? &*state->view : nullptr, state->kernels);
  const char* missing = missing_limit(config);
  if (config.section_layout == SectionLayout::kFixed && missing != nullptr) {
    return invalid(error, "a fixed layout", missing);
  }
  const bool by_default =
      config.section_layout == SectionLayout::kAuto && config.graph.enabled && !missing;
  state->fixed_layout = config.section_layout == SectionLayout::kFixed || by_default;
  return Status::kOk;
}

}  // namespace

Status resolve_state(Planner::State* state, Error* error) {
  Config& config = state->config;
  if (config.kv_cache) {
    // Head counts are checked below; a cache is described without them.
    const Status status =
        resolve_kv_view(*config.kv_cache, config.num_kv_heads, config.head_size, config.v_head_size,
                        config.arch, &state->view.emplace(), error);
    if (status != Status::kOk) return status;
  }
  if (const Status status = check_scalars(config, error); status != Status::kOk) return status;
  if (const Status status = resolve_profile(&config, state->memory, error); status != Status::kOk) {
    return status;
  }
  const KvView* view = state->view ? &*state->view : nullptr;
  state->kernels.reserve(config.contracts.size());
  for (const Contract& contract : config.contracts) {
    state->kernels.push_back(resolve_kernel(contract, config, view, state->memory));
  }
  state->policy = config.ragged != Ragged::kDefault           ? config.ragged
                  : config.profile_ragged != Ragged::kDefault ? config.profile_ragged
                                                              : Ragged::kDemote;
  if (const Status status = resolve_sections(state, error); status != Status::kOk) return status;
  state->num_sections = count_sections(*state);
  state->isa = &best_isa();
  state->hash = hash_config(config, *state->isa);
  return Status::kOk;
}

}  // namespace attnplan
