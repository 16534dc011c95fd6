// A stream-K work list before it is written: where each worker begins. All of the list follows from
// that by arithmetic. Plain data: the loops of work_loops.inc are compiled once per instruction
// set.
#pragma once

#include <stdint.h>

#include "attnplan_plan_format.h"
#include "planner/schedule_tile.h"

namespace attnplan {

// An item costs its KV tokens and this many more: starting it, reading Q, writing the result.
inline constexpr int64_t kItemOverheadTokens = 128;

// The tiles of one segment for one KV head.
struct WorkSpan {
  int32_t count = 0;
  int32_t kv_tile = 1;
  int32_t longest = 0;              // tokens: no tile has more
  int32_t request = 0;              // plan position of the first tile
  const int32_t* tokens = nullptr;  // [count] KV of each tile
  // [count] rows, where every request is one tile that begins at KV 0; null: see `tiles`.
  const int32_t* rows = nullptr;
  const WorkTile* tiles = nullptr;  // [count]
};

// Tiles are numbered head by head, and by segment within a head. The cost of all tiles in that
// order is a line; worker w begins near w shares of it.
struct WorkCuts {
  int32_t workers = 1;
  int32_t heads = 1;
  int32_t num_spans = 0;
  bool causal = false;
  bool few_tiles = false;  // against workers; then no two workers begin at one place inside a tile
  const WorkSpan* spans = nullptr;
  int64_t share = 0;     // tokens, rounded down
  int32_t fraction = 0;  // the rest of a share, in 65536ths
  int32_t num_tiles = 0;
  // [workers + 1], and room for a vector before and behind. Worker w begins inside `tile` where kv,
  // the tokens of the tile in front of that, is not 0.
  int32_t* tile = nullptr;
  int32_t* kv = nullptr;
  int32_t* excess = nullptr;  // cost in front of the worker, beyond w whole shares
  int32_t* items = nullptr;   // items in front of the worker
  int32_t* front = nullptr;   // where the last of these begins in the worker's first tile; -1: not
  int32_t* rows = nullptr;    // of that tile, where it is a request; only if there are many tiles
  int32_t* flags = nullptr;   // of that item, likewise
  int32_t* slots = nullptr;   // tiles cut so far, this one included, and cuts in them
  int32_t* merges = nullptr;  // workers that begin at the first cut of a tile, ascending
  int32_t num_splits = 0;
  int32_t num_merges = 0;
  int32_t most = 0;  // load of the longest worker, beyond one whole share
};

inline constexpr int32_t kCutsMargin = 16;  // elements

}  // namespace attnplan
