// What every work list must be. Each check gives the first thing that is wrong, or nothing.
#pragma once

#include <string>

#include "visible.h"
#include "work_batch.h"
#include "work_list.h"

namespace attnplan::schedule {

constexpr int64_t kItemOverhead = 128;  // tokens: what an item costs besides its KV

// Items are tiles of rows and ranges of KV; ranges of a tile meet without a gap and cover what its
// rows may see, and no KV tile more.
std::string check_items(const WorkBatch& batch, const Visible& visible, const WorkList& list);
// The same said once more, token by token, without a thought about tiles.
std::string check_every_token(const WorkBatch& batch, const Visible& visible, const WorkList& list);
std::string check_flags(const WorkBatch& batch, const Visible& visible, const WorkList& list);
std::string check_slots(const WorkBatch& batch, const WorkList& list);
std::string check_merges(const WorkList& list);
std::string check_loads(const WorkBatch& batch, const WorkList& list);

// Cells (row, KV head, token) that check_every_token() looks at.
int64_t count_tokens(const WorkBatch& batch, const Visible& visible);

// All of them; token by token where that is cheap.
std::string check_work(const WorkBatch& batch, const WorkList& list);

}  // namespace attnplan::schedule
