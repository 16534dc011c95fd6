// Mutated blobs: what verify accepts, the accessors may trust; what it
// refuses, they still survive. The input is the number of a plan and a list of (offset, byte).
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "../fuzz/bytes.h"
#include "../fuzz/fuzz_target.h"
#include "blob_reader.h"
#include "everything.h"
#include "follow_plan.h"

namespace attnplan::plan {
namespace {

using fuzz::require;

struct Original {
  explicit Original(uint64_t seed)
      : batch(random_batch(seed)), structs(batch), scratch(property::create_scratch()) {
    Error error;
    planner = property::create_planner(structs.config(), &error);
    if (!planner) return;
    size_t bytes = 0;
    if (attnplan_plan_size(planner.get(), scratch.get(), &structs.step(), structs.group(), &bytes,
                           nullptr) != ATTNPLAN_OK ||
        bytes > 60000) {
      return;
    }
    plan = property::build(planner.get(), scratch.get(), structs.step(), structs.group(), &error);
  }

  Batch batch;
  BatchStructs structs;
  Planner planner;
  Scratch scratch;
  Buffer plan;
};

// Made once: inputs change blobs, not steps.
const std::vector<std::unique_ptr<Original>>& originals() {
  static const auto made = [] {
    std::vector<std::unique_ptr<Original>> out;
    for (uint64_t seed = 1; out.size() < 64; ++seed) {
      auto original = std::make_unique<Original>(seed);
      if (original->plan.size() > 0) out.push_back(std::move(original));
    }
    return out;
  }();
  return made;
}

Buffer mutate(const Buffer& plan, fuzz::Bytes* input) {
  const size_t cut = input->one_in(8) ? input->take<uint16_t>() % plan.size() : 0;
  Buffer out(plan.size() - cut);
  std::memcpy(out.data(), plan.data(), out.size());
  while (!input->empty() && out.size() > 0) {
    // Mostly the header and the tables, where a byte decides what others mean.
    const size_t reach = input->one_in(4) ? out.size() : std::min<size_t>(out.size(), 1400);
    out.data()[input->take<uint16_t>() % reach] = input->take<uint8_t>();
  }
  return out;
}

void judge(const Original& original, const Buffer& blob) {
  const attnplan_step* step = &original.structs.step();
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  const attnplan_status alone =
      attnplan_plan_verify(blob.data(), blob.size(), nullptr, nullptr, nullptr, nullptr, &error);
  require(alone == ATTNPLAN_OK || alone == ATTNPLAN_INVALID_ARGUMENT, "another status");
  require(alone == ATTNPLAN_OK || error.message[0] != '\0', "a refusal without a word");
  const bool accepted = alone == ATTNPLAN_OK;
  require(read_blob(blob.data(), blob.size(), accepted ? original.planner.get() : nullptr, step)
              .empty(),
          "an accessor leaves the blob");
  require(!accepted || follow_plan(blob).empty(), "what was accepted leads a reader astray");
  const attnplan_status with_step =
      attnplan_plan_verify(blob.data(), blob.size(), original.planner.get(), original.scratch.get(),
                           step, original.structs.group(), &error);
  require(accepted || with_step != ATTNPLAN_OK, "the step makes a broken plan good");
  if (with_step != ATTNPLAN_OK) return;
  require(blob.size() == original.plan.size(), "a plan of another size");
  if ((property::header_of(blob).flags & ATTNPLAN_PLAN_FIXED_LAYOUT) == 0) return;
  for (const attnplan_byte_range& range : byte_ranges(original.plan)) {
    require(std::memcmp(blob.data() + range.offset, original.plan.data() + range.offset,
                        static_cast<size_t>(range.bytes)) == 0,
            "verified, and not the plan of the step");
  }
}

}  // namespace
}  // namespace attnplan::plan

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attnplan::plan;
  attnplan::fuzz::Bytes input(data, size);
  const auto& all = originals();
  const Original& original = *all[input.take<uint8_t>() % all.size()];
  judge(original, mutate(original.plan, &input));
  return 0;
}
