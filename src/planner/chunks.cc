#include "planner/chunks.h"

#include <algorithm>

namespace attnplan {
namespace {

// The extend requests of one segment, by their context.
class Contexts {
 public:
  Contexts(const Plan& plan, const attnplan_segment& segment) : plan_(plan), segment_(segment) {
    for_each([this](int32_t context) {
      longest_ = std::max(longest_, context);
      with_context_ += context > 0;
      total_ += context;
    });
  }

  int32_t longest() const { return longest_; }
  int32_t with_context() const { return with_context_; }
  int64_t total() const { return total_; }
  // Workspace that a first chunk of `tokens` takes.
  int64_t filled(int64_t tokens) const {
    int64_t sum = 0;
    for_each([&](int32_t context) { sum += std::min<int64_t>(context, tokens); });
    return sum;
  }

 private:
  template <typename Visit>
  void for_each(Visit visit) const {
    for (int32_t i = segment_.req_begin; i < segment_.req_end; ++i) {
      if (plan_.lanes->query_lens[i] > 0) visit(plan_.context_in_cache(i));
    }
  }
  const Plan& plan_;
  const attnplan_segment& segment_;
  int32_t longest_ = 0;
  int32_t with_context_ = 0;
  int64_t total_ = 0;
};

// The largest multiple of the page that fits, never above the longest context rounded up.
int64_t fill_workspace(const Contexts& contexts, int64_t workspace, int64_t page) {
  int64_t fits = 1, most = (contexts.longest() + page - 1) / page;
  while (fits < most) {
    const int64_t middle = fits + (most - fits + 1) / 2;
    if (contexts.filled(middle * page) <= workspace) {
      fits = middle;
    } else {
      most = middle - 1;
    }
  }
  return fits * page;
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

Status too_many(Error* error, int64_t count, const char* what) {
  return error->set(Status::kPlanError, Code::kCapacityExceeded, -1, count, INT32_MAX,
                    "the context chunks have %lld %s, an index reaches %d",
                    static_cast<long long>(count), what, INT32_MAX);
}

}  // namespace

Status plan_chunks(Plan* plan, Error* error) {
  const Config& config = plan->state->config;
  auto& sets = plan->parts->chunk_sets;
  sets.clear();
  ChunkTotals& totals = plan->chunk_totals = {};
  const auto& segments = plan->parts->segments;
  for (size_t s = 0; s < segments.size(); ++s) {
    const attnplan_segment& segment = segments[s];
    if (segment.route != static_cast<int32_t>(Route::kExtend)) continue;
    const Contexts contexts(*plan, segment);
    const int64_t page = std::max(segment.page_size, 1);
    const int64_t workspace = config.chunk_workspace_tokens;
    const int64_t needed = contexts.filled(page);
    if (needed > workspace) {
      return error->set(Status::kPlanError, Code::kCapacityExceeded, -1, needed, workspace,
                        "one page of context for each of %d extend requests takes %lld tokens, the "
                        "chunk workspace has %lld",
                        contexts.with_context(), static_cast<long long>(needed),
                        static_cast<long long>(workspace));
    }
    int64_t chunk_tokens = 0;
    if (contexts.longest() > 0 && config.chunk_policy == ChunkPolicy::kFill) {
      chunk_tokens = fill_workspace(contexts, workspace, page);
    } else if (contexts.longest() > 0) {
      chunk_tokens = std::max(workspace / contexts.with_context() / page * page, page);
    }
    const int64_t num_chunks = chunk_tokens > 0 ? ceil_div(contexts.longest(), chunk_tokens) : 0;
    if (totals.chunks > INT32_MAX) return too_many(error, totals.chunks, "chunks");
    sets.push_back({static_cast<int32_t>(s),
                    static_cast<int32_t>(std::min<int64_t>(chunk_tokens, INT32_MAX)),
                    static_cast<int32_t>(num_chunks), static_cast<int32_t>(totals.chunks)});
    totals.chunks += num_chunks;
    totals.starts += num_chunks * (segment.req_end - segment.req_begin + 1);
    totals.tokens += contexts.total();
  }
  // The counts alone: the lists are written where they go, or not at all.
  if (totals.starts > INT32_MAX) return too_many(error, totals.starts, "starts of requests");
  if (plan->asked(ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST) && totals.tokens > INT32_MAX) {
    return too_many(error, totals.tokens, "tokens in the map of tokens to requests");
  }
  return Status::kOk;
}

}  // namespace attnplan
