// The C structs: whatever a caller puts into them, calls answer with a status, read nothing that
// was not given to them, and a plan is the same one when it is asked for twice.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "../plan/element_bytes.h"
#include "fuzz_target.h"
#include "struct_input.h"

namespace attnplan::fuzz {
namespace {

constexpr size_t kLargestPlan = size_t{1} << 20;  // bytes; larger ones are only sized
constexpr size_t kLargestBlock = size_t{1} << 26;
constexpr int64_t kMostRows = 1 << 20;    // more have more tiles and chunks than a fuzzer has
constexpr int64_t kMostTokens = 1 << 20;  // time for; without such sections any length is tried

// Allocates until it is told not to, and never what only a work list of millions of items wants.
struct Supply {
  uint32_t left = UINT32_MAX;
  int64_t live = 0;

  static void* allocate(void* context, size_t bytes, size_t alignment) {
    auto* self = static_cast<Supply*>(context);
    if (self->left == 0 || bytes > kLargestBlock) return nullptr;
    --self->left;
    ++self->live;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void deallocate(void* context, void* pointer, size_t, size_t) {
    if (pointer != nullptr) --static_cast<Supply*>(context)->live;
    std::free(pointer);
  }
};

struct AlignedFree {
  void operator()(uint8_t* pointer) const { std::free(pointer); }
};
using Block = std::unique_ptr<uint8_t, AlignedFree>;

// Exactly `bytes` bytes, aligned as a plan must be, and all the same: a plan of fixed layout does
// not write all of its room.
Block aligned_block(size_t bytes) {
  void* pointer = nullptr;
  require(posix_memalign(&pointer, ATTNPLAN_PLAN_ALIGNMENT, bytes) == 0, "no memory for a plan");
  std::memset(pointer, 0xa5, bytes);
  return Block(static_cast<uint8_t*>(pointer));
}

volatile uint8_t g_sink = 0;

void read_sections(const uint8_t* plan, size_t bytes) {
  for (int32_t id = -1; id <= ATTNPLAN_SECTION_END; ++id) {
    attnplan_section_view view = ATTNPLAN_SECTION_VIEW_INIT;
    if (attnplan_plan_get_section(plan, bytes, id, &view, nullptr) != ATTNPLAN_OK) continue;
    require(view.count <= view.capacity || view.capacity == 0, "a section over its capacity");
    uint8_t sum = 0;  // touches every byte that is claimed to be there
    const size_t width = element_bytes(view.type);
    require(width > 0, "a section of an unknown type");
    const auto* data = static_cast<const uint8_t*>(view.data);
    for (size_t i = 0; i < static_cast<size_t>(view.count) * width; ++i) sum ^= data[i];
    g_sink = sum;
  }
}

// Plans that were cut short on their way are no plans.
void read_cut_plan(const uint8_t* plan, size_t bytes, Bytes* input) {
  const size_t kept = input->take<uint16_t>() % bytes;
  Heap heap;
  const Block block = aligned_block(kept);
  std::copy(plan, plan + kept, block.get());
  require(attnplan_plan_get_header(block.get(), kept) == nullptr, "half a plan has a header");
  require(attnplan_plan_get_segments(block.get(), kept) == nullptr, "half a plan has segments");
}

void read_plan(const attnplan_planner* planner, const StructInput& input, const uint8_t* plan,
               size_t bytes) {
  const attnplan_plan_header* header = attnplan_plan_get_header(plan, bytes);
  require(header != nullptr, "a plan without a header");
  require(header->total_bytes == bytes, "total_bytes");
  require(header->num_segments == 0 || attnplan_plan_get_segments(plan, bytes) != nullptr,
          "segments that cannot be read");
  std::vector<int32_t> routes(static_cast<size_t>(input.num_reqs));
  require(attnplan_plan_get_routes(plan, bytes, input.step, routes.data(), nullptr) == ATTNPLAN_OK,
          "routes that cannot be read");
  read_sections(plan, bytes);
  size_t length = 0;
  if (attnplan_plan_explain(planner, input.step, plan, bytes, nullptr, &length, nullptr) !=
      ATTNPLAN_OK) {
    return;
  }
  std::vector<char> text(length);
  const attnplan_status status =
      attnplan_plan_explain(planner, input.step, plan, bytes, text.data(), &length, nullptr);
  require(status == ATTNPLAN_OK && text.size() == length && text.back() == '\0',
          "an explanation of another length");
}

void build(const attnplan_planner* planner, attnplan_scratch* scratch, const StructInput& input,
           attnplan_error* error, Bytes* bytes) {
  size_t size = 0;
  const attnplan_status sized =
      attnplan_plan_size(planner, scratch, input.step, input.group, &size, error);
  if (sized != ATTNPLAN_OK || size > kLargestPlan) return;
  const Block plan = aligned_block(size), again = aligned_block(size);
  size_t written = 0;
  attnplan_status status = attnplan_plan_build(planner, scratch, input.step, input.group,
                                               plan.get(), size, &written, error);
  if (status == ATTNPLAN_OUT_OF_MEMORY) return;
  require(status == ATTNPLAN_OK && written == size, "plan_size promised a plan");
  status = attnplan_plan_build(planner, scratch, input.step, input.group, again.get(), size,
                               &written, nullptr);
  require(status == ATTNPLAN_OK, "the second plan fails");
  require(std::equal(plan.get(), plan.get() + size, again.get()),
          "planning twice gives other bytes");
  status = attnplan_plan_build(planner, scratch, input.step, input.group, again.get(), size - 1,
                               &written, nullptr);
  require(status == ATTNPLAN_BUFFER_TOO_SMALL, "one byte less is enough");
  read_plan(planner, input, plan.get(), size);
  read_cut_plan(plan.get(), size, bytes);
}

attnplan_error* make_error(Bytes* bytes, Heap* heap) {
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  const uint32_t refusals = bytes->below(4), requests = bytes->below(4);
  error.refusals = heap->copy(std::vector<attnplan_refusal>(refusals));
  error.requests = heap->copy(std::vector<int32_t>(requests));
  error.refusals_capacity = static_cast<int32_t>(refusals);
  error.requests_capacity = static_cast<int32_t>(requests);
  if (bytes->one_in(16)) error.refusals = nullptr;
  if (bytes->one_in(16)) error.requests = nullptr;
  if (bytes->one_in(16)) error.requests_capacity = -1;
  const size_t size =
      bytes->one_in(8) ? bytes->take<uint8_t>() % (sizeof(error) / 8 + 1) * 8 : sizeof(error);
  return heap->versioned(error, size, 0);
}

void plan_once(Bytes* bytes, Heap* heap, Supply* supply) {
  const attnplan_allocator hooks = {Supply::allocate, Supply::deallocate, supply};
  const StructInput input = decode(bytes, heap, &hooks);
  attnplan_error* error = bytes->one_in(8) ? nullptr : make_error(bytes, heap);
  if (input.fail_after > 0) supply->left = input.fail_after;

  attnplan_planner* planner = nullptr;
  if (attnplan_planner_create(input.config, &planner, error) != ATTNPLAN_OK) {
    require(planner == nullptr, "a planner in spite of an error");
    return;
  }
  attnplan_kv_view view = ATTNPLAN_KV_VIEW_INIT;
  attnplan_planner_kv_view(planner, &view, error);
  for (int32_t k = -1; k <= attnplan_planner_num_kernels(planner); ++k) {
    attnplan_planner_kernel_name(planner, k);
  }
  attnplan_scratch* scratch = nullptr;
  if (attnplan_scratch_create(&hooks, &scratch, error) == ATTNPLAN_OK &&
      (!input.per_token || (input.num_rows <= kMostRows && input.max_tokens <= kMostTokens))) {
    build(planner, scratch, input, error, bytes);
  }
  attnplan_scratch_destroy(scratch);
  attnplan_planner_destroy(planner);
}

}  // namespace
}  // namespace attnplan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  attnplan::fuzz::Bytes bytes(data, size);
  attnplan::fuzz::Heap heap;
  attnplan::fuzz::Supply supply;
  attnplan::fuzz::plan_once(&bytes, &heap, &supply);
  attnplan::fuzz::require(supply.live == 0, "memory that was not given back");
  return 0;
}
