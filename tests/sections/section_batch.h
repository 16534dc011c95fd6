// Random batches that ask for sections, and the C structs of a call for one of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "batch.h"
#include "batch_json.h"

namespace attnplan::sections_test {

using oracle::Batch;

// What a batch of the property tests cannot say. Slots and tiles follow from the seed and an index,
// so that they stay what they are while a failing batch is made smaller.
struct Extras {
  uint64_t seed = 0;
  bool slots = false;  // a slot mapping is given
  bool slots_int64 = false;
};

struct SectionBatch {
  Batch batch;
  Extras extras;
};

SectionBatch generate_section_batch(uint64_t seed);

// Points into the batch, which must live as long.
class SectionStructs {
 public:
  SectionStructs(const Batch& batch, const Extras& extras);
  SectionStructs(const SectionStructs&) = delete;
  SectionStructs& operator=(const SectionStructs&) = delete;

  const attnplan_config& config() const { return config_; }
  const attnplan_step& step() const { return structs_.step(); }
  const attnplan_group* group() const { return has_group_ ? &group_ : nullptr; }
  const std::vector<int64_t>& slots() const { return slots_; }  // empty: no mapping

 private:
  oracle::BatchStructs structs_;
  attnplan_config config_;
  attnplan_group group_ = ATTNPLAN_GROUP_INIT;
  bool has_group_ = false;
  std::vector<int64_t> slots_;
  std::vector<int32_t> slots_int32_;
  std::vector<attnplan_contract> contracts_;
  std::vector<const attnplan_contract*> contract_pointers_;
};

// The batch document, with everything that the sections depend on.
std::string to_document(const Batch& batch, const Extras& extras);

int64_t num_rows(const Batch& batch);

}  // namespace attnplan::sections_test
