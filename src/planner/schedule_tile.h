// An output tile of the work list before its KV is split.
#pragma once

#include <cstdint>

namespace attnplan {

// Rows of one request, and the KV that some of them may see.
struct WorkTile {
  int32_t request;    // plan position
  int32_t row_begin;  // from the request's first row
  int32_t row_end;
  int32_t kv_begin;  // tokens, a multiple of kv_tile
  int32_t kv_end;
  int32_t kv_tile;
  int32_t all_see;     // KV below this is seen by every row under the mask
  int32_t window_all;  // KV from this on is in every row's window

  int32_t tokens() const { return kv_end - kv_begin; }
};

}  // namespace attnplan
