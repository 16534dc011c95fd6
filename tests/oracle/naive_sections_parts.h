// What the naive sections are made from. Internal.
#pragma once

#include <cstdint>
#include <vector>

#include "naive_parts.h"
#include "naive_sections.h"

namespace attnplan::oracle {

struct SectionInputs {
  const attnplan_config* config = nullptr;
  const attnplan_group* group = nullptr;
  const NaivePlan* plan = nullptr;
  NaiveSetup setup;
  std::vector<NaiveRequest> requests;  // in plan order, bounds and clamps settled
  std::vector<int64_t> step_row;       // first row of each of them in the step's own order

  bool wants(int32_t section) const { return (config->sections >> section & 1u) != 0; }
  bool fixed_layout() const;
  bool graph() const;      // graph sizes are given
  bool all_exact() const;  // query and sequence lengths
  bool any_inexact_query() const;
  // From the first request of inexact query length to the last: rows of one may be another's.
  bool rows_unknown(size_t request) const;
  // Context tokens that the block table holds.
  int64_t context_in_table(const NaiveRequest& request) const;
  // The caller's blocks of one request (plan position); null where only the width is known.
  const int32_t* blocks(size_t request) const;
};

using SectionMap = std::map<int32_t, NaiveList>;

void add_length_lists(const SectionInputs& in, SectionMap* out);      // naive_sections.cc
MaybeError add_page_lists(const SectionInputs& in, SectionMap* out);  // naive_sections_pages.cc
int64_t page_table_width(const SectionInputs& in);
void add_page_table(const SectionInputs& in, SectionMap* out);
void add_slots(const SectionInputs& in, SectionMap* out);
MaybeError add_chunks(const SectionInputs& in, SectionMap* out);  // naive_sections_chunks.cc
void add_window(const SectionInputs& in, SectionMap* out);        // naive_sections_ranges.cc
void add_local(const SectionInputs& in, SectionMap* out);
void add_context_parallel(const SectionInputs& in, SectionMap* out);
void add_launch(const SectionInputs& in, SectionMap* out);

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace attnplan::oracle
