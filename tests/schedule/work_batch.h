// Random planners with a work list, and steps for them: the ground under the work-list tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnplan.h"
#include "dice.h"
#include "library.h"

namespace attnplan::schedule {

using property::Dice;

// How the tiles of one kernel look; 0 is the default of the contract.
struct Tiles {
  int32_t query_tile = 0;  // packed rows
  int32_t kv_tile = 0;     // tokens
};

// A planner's configuration and one step, with the memory that both point into.
class WorkBatch {
 public:
  WorkBatch();
  WorkBatch(const WorkBatch&) = delete;
  WorkBatch& operator=(const WorkBatch&) = delete;

  // Kernels of this route that take any mask; decode kernels want one width.
  void add_kernel(attnplan_route route, Tiles tiles);
  void add_request(int32_t query_len, int32_t seq_len);

  const attnplan_config& config();
  const attnplan_step& step();
  std::string words() const;  // for a failure message

  attnplan_config settings = ATTNPLAN_CONFIG_INIT;  // scalars
  std::vector<int32_t> query, seq;
  std::vector<uint8_t> is_prefilling;  // empty: not given
  std::vector<uint8_t> seq_len_exact;  // empty: not given
  attnplan_phase phase = ATTNPLAN_PHASE_TARGET;
  uint32_t flags = 0;         // ATTNPLAN_STEP_*
  int32_t max_query_len = 0;  // declared

  int32_t group() const;  // query heads per KV head
  int32_t threshold() const { return settings.decode_threshold; }

 private:
  std::vector<attnplan_contract> contracts_;
  std::vector<const attnplan_contract*> pointers_;
  attnplan_step step_ = ATTNPLAN_STEP_INIT;
};

enum class Size { kSmall, kLarge };

// Small ones can be checked token by token.
void make_random(Dice* dice, Size size, WorkBatch* batch);
// The parts: the planner, and another step for it.
void make_planner(Dice* dice, Size size, WorkBatch* batch);
void make_requests(Dice* dice, Size size, WorkBatch* batch);

}  // namespace attnplan::schedule
