// Context chunks: the definition of the planning page tried out, chunk length by chunk length.
#include <algorithm>

#include "naive_sections_parts.h"

namespace attnplan::oracle {
namespace {

struct Extends {  // of one segment
  std::vector<int64_t> contexts;
  int64_t page = 1;
  int64_t workspace = 32768;

  int64_t gathered(int64_t chunk) const {
    int64_t sum = 0;
    for (int64_t context : contexts) sum += std::min(context, chunk);
    return sum;
  }
  int64_t longest() const {
    return contexts.empty() ? 0 : *std::max_element(contexts.begin(), contexts.end());
  }
};

// The largest multiple of the page that fits: bisected, as gathered() never falls.
int64_t filled(const Extends& extends) {
  int64_t low = 1, high = std::max<int64_t>(1, ceil_div(extends.longest(), extends.page));
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    const bool fits = extends.gathered(middle * extends.page) <= extends.workspace;
    (fits ? low : high) = fits ? middle : middle - 1;
  }
  return low * extends.page;
}

int64_t shared_equally(const Extends& extends) {
  const int64_t with_context = std::count_if(extends.contexts.begin(), extends.contexts.end(),
                                             [](int64_t context) { return context > 0; });
  return std::max(extends.workspace / with_context / extends.page, int64_t{1}) * extends.page;
}

struct ChunkLists {
  NaiveList sets, chunks, cu_lens, tokens, skip;
  int64_t num_tokens = 0;  // of the dense map, whether or not it is asked for
};

void add_chunk(const SectionInputs& in, const NaiveSegment& segment, const Extends& extends,
               int64_t begin, int64_t end, ChunkLists* out) {
  int64_t total = 0, longest = 0;
  const int64_t cu_begin = static_cast<int64_t>(out->cu_lens.values.size());
  out->cu_lens.values.push_back(0);
  for (size_t i = 0; i < extends.contexts.size(); ++i) {
    const int64_t context = extends.contexts[i];
    const int64_t length = std::max<int64_t>(0, std::min(end, context) - begin);
    total += length;
    longest = std::max(longest, length);
    out->cu_lens.values.push_back(total);
    if (!in.wants(ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST)) continue;
    out->tokens.values.insert(out->tokens.values.end(), static_cast<size_t>(length),
                              segment.req_begin + static_cast<int64_t>(i));
  }
  for (int64_t value : {total, longest, cu_begin, out->num_tokens}) {
    out->chunks.values.push_back(value);
  }
  out->num_tokens += total;
}

MaybeError add_segment(const SectionInputs& in, int64_t index, ChunkLists* out) {
  const NaiveSegment& segment = in.plan->segments[static_cast<size_t>(index)];
  Extends extends;
  if (segment.page_size > 0) extends.page = segment.page_size;
  if (in.config->chunk_workspace_tokens > 0) {
    extends.workspace = in.config->chunk_workspace_tokens;
  }
  for (int64_t i = segment.req_begin; i < segment.req_end; ++i) {
    const NaiveRequest& request = in.requests[static_cast<size_t>(i)];
    extends.contexts.push_back(request.live() ? in.context_in_table(request) : 0);
    out->skip.values[static_cast<size_t>(i)] = extends.contexts.back() == 0 ? 1 : 0;
  }
  if (extends.gathered(extends.page) > extends.workspace) {
    return plan_error(ATTNPLAN_CODE_CAPACITY_EXCEEDED, -1, extends.gathered(extends.page),
                      extends.workspace);
  }
  int64_t chunk = 0, count = 0;
  if (extends.longest() > 0) {
    chunk = in.config->chunk_policy == ATTNPLAN_CHUNKS_EQUAL ? shared_equally(extends)
                                                             : filled(extends);
    count = ceil_div(extends.longest(), chunk);
  }
  const int64_t first = static_cast<int64_t>(out->chunks.values.size()) / 4;
  for (int64_t value : {index, chunk, count, first}) out->sets.values.push_back(value);
  for (int64_t k = 0; k < count; ++k) {
    add_chunk(in, segment, extends, k * chunk, (k + 1) * chunk, out);
  }
  return std::nullopt;
}

}  // namespace

MaybeError add_chunks(const SectionInputs& in, SectionMap* out) {
  const bool dense = in.wants(ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST);
  if (!in.wants(ATTNPLAN_SECTION_CHUNKS) && !dense) return std::nullopt;
  ChunkLists lists;
  lists.sets.type = ATTNPLAN_TYPE_CHUNK_SET;
  lists.chunks.type = ATTNPLAN_TYPE_CHUNK;
  lists.skip.extent = ATTNPLAN_EXTENT_REQUESTS;
  lists.skip.values.assign(in.requests.size(), 1);  // other kernels merge nothing
  for (size_t s = 0; s < in.plan->segments.size(); ++s) {
    if (in.plan->segments[s].route != ATTNPLAN_ROUTE_EXTEND) continue;
    if (MaybeError error = add_segment(in, static_cast<int64_t>(s), &lists)) return error;
  }
  bool exact = true;
  for (const NaiveRequest& request : in.requests) {
    exact &= request.exact_context;
  }
  // Where the cuts are is the host's choice; what lies between them follows the contexts.
  for (NaiveList* list : {&lists.chunks, &lists.cu_lens, &lists.tokens, &lists.skip}) {
    if (!exact) list->validity = ATTNPLAN_VALIDITY_DEVICE;
  }
  (*out)[ATTNPLAN_SECTION_CHUNKS] = lists.sets;
  (*out)[ATTNPLAN_SECTION_CHUNK_LIST] = lists.chunks;
  (*out)[ATTNPLAN_SECTION_CHUNK_CU_LENS] = lists.cu_lens;
  (*out)[ATTNPLAN_SECTION_CHUNK_SKIP_MERGE] = lists.skip;
  if (dense) (*out)[ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST] = lists.tokens;
  return std::nullopt;
}

}  // namespace attnplan::oracle
