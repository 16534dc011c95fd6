// What a planner knows: its configuration, and what follows from that alone.
#pragma once

#include <memory_resource>
#include <optional>
#include <vector>

#include "attnplan/planner.h"
#include "planner/capacity.h"
#include "planner/isa.h"
#include "planner/kernel.h"

namespace attnplan {

struct Planner::State {
  State(Config c, std::pmr::memory_resource* m)
      : memory(m), planner(this), config(std::move(c)), kernels(m) {}

  std::pmr::memory_resource* memory;
  Planner planner;
  Config config;
  std::pmr::vector<Kernel> kernels;  // one per contract, in order of preference
  std::optional<KvView> view;
  Ragged policy = Ragged::kDemote;
  bool fixed_layout = false;
  int32_t num_sections = 0;  // of every plan
  Capacity capacity;
  const Isa* isa = nullptr;
  uint64_t hash = 0;  // of everything above that can change a plan
};

}  // namespace attnplan
