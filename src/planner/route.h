// Gives every live request to the first kernel whose contract was proved on its segment.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "attnplan/planner.h"
#include "planner/isa.h"
#include "planner/kernel.h"
#include "planner/lanes.h"
#include "planner/segment.h"

namespace attnplan {

struct RoutedSegment {
  Range range;
  int32_t kernel = -1;
  Facts facts;
};

// One refusal: `kernel` was tried on exactly the live requests of `range`.
struct Trial {
  int32_t kernel;
  Range range;
  uint32_t reasons;
};

struct KnownFacts {
  Range range;
  Facts facts;
};

struct RoutingBuffers {
  explicit RoutingBuffers(std::pmr::memory_resource* memory)
      : segments(memory),
        trials(memory),
        left(memory),
        known_facts(memory),
        run_skip(memory),
        probe_skip(memory) {}
  std::pmr::vector<RoutedSegment> segments;  // in plan order
  std::pmr::vector<Trial> trials;
  std::pmr::vector<Range> left;              // requests that no kernel takes
  std::pmr::vector<KnownFacts> known_facts;  // of the lanes of this step
  // Per kernel: no start before this position needs another look.
  std::pmr::vector<int32_t> run_skip;
  std::pmr::vector<int32_t> probe_skip;
};

struct RoutingInput {
  const std::pmr::vector<Kernel>* kernels;
  const Lanes* lanes;
  const Isa* isa;
  const ScanResult* scan;  // in plan order
  Parts parts;
  int32_t max_segments;  // decode segments under split_runs
};

struct RoutingResult {
  bool ok = false;  // false: buffers.left is not empty
  // In effect: kDefault where D is empty or was admitted whole, kDemote where nothing of D stayed
  // on a decode kernel.
  Ragged policy = Ragged::kDefault;
};

// `policy` is demote, uniform_prefix or split_runs.
RoutingResult route(const RoutingInput& in, Ragged policy, RoutingBuffers* buffers);

}  // namespace attnplan
