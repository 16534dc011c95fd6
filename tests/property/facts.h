// What a batch says, read straight from its arrays in plan order: the ground under the checks that
// trust neither planner.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "batch.h"
#include "library.h"

namespace attnplan::property {

struct Facts {
  std::vector<int64_t> input;    // request of the step at each plan position
  std::vector<int64_t> query;    // rows
  std::vector<int64_t> seq;      // tokens, cut to what a draft step's table can hold
  std::vector<int64_t> context;  // tokens
  int64_t rows = 0;

  size_t count() const { return query.size(); }
};

// In the order of the step, or in the order that `order` gives (a permutation).
Facts facts_of(const oracle::Batch& batch, std::span<const int32_t> order);

// Properties that every plan must have; the first that this one lacks, or an empty string.
std::string check_order(const oracle::Batch& batch, const Buffer& plan);
std::string check_shape(const Facts& facts, const Buffer& plan);
std::string check_figures(const Facts& facts, const Buffer& plan);
std::string check_routes(const Facts& facts, const attnplan_step& step, const Buffer& plan);
std::string check_contracts(const oracle::Batch& batch, const Facts& facts, const Buffer& plan);

std::string check_format(const Buffer& plan);
// What the header says of the model and the cache.
std::string check_model(const oracle::Batch& batch, const Buffer& plan);

// All of them.
std::string check_plan(const oracle::Batch& batch, const attnplan_step& step, const Buffer& plan);

std::string check_explain(const oracle::BatchStructs& structs, const attnplan_planner* planner,
                          const Buffer& plan);

// How the planner behaves as a library: sizes, buffers, repetition, failure, borrowed inputs.
std::string check_calls(const oracle::Batch& batch, const oracle::BatchStructs& structs,
                        const attnplan_planner* planner, attnplan_scratch* scratch,
                        const Buffer& plan);

}  // namespace attnplan::property
