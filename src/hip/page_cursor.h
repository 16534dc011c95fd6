// From key positions of one request to addresses in a paged cache.
#pragma once

#include "hip/attention_args.h"
#include "hip/wave.h"

namespace attnplan::hip {

// Offset of a page, without the head.
ATTNPLAN_DEVICE int64_t page_offset(int64_t block_stride, int64_t page_stride,
                                    int32_t pages_per_stride, int32_t id) {
  if (pages_per_stride == 1) return id * block_stride;
  pages_per_stride = uniform_here(pages_per_stride);  // no reciprocal of it waits in a register
  const auto block =
      static_cast<int32_t>(static_cast<uint32_t>(id) / static_cast<uint32_t>(pages_per_stride));
  return block * block_stride + (id - block * pages_per_stride) * page_stride;
}

// The pages of one request, by position. Reads no list entry behind the last live page: a position
// beyond it gets the last page, whose keys the caller masks.
class PageCursor {
 public:
  ATTNPLAN_DEVICE PageCursor(const AttentionArgs& args, int32_t request, int32_t seq_len)
      : args_(args), shift_(args.page_shift), checked_(args.bad_pages != nullptr ? 1 : 0) {
    const int32_t begin = args.page_indptr == nullptr ? request * args.page_table_width
                                                      : load_uniform(args.page_indptr + request);
    pages_ = args.page_indices + begin;
    last_ = ((seq_len + (1 << shift_) - 1) >> shift_) - 1;
  }
  // `position` is the same in the whole wave.
  ATTNPLAN_DEVICE int32_t id(int32_t position) const {
    const int32_t index = position >> shift_;
    int32_t page = load_uniform(pages_ + (index < last_ ? index : last_));
    if (uniform_here(checked_) != 0 &&
        static_cast<uint32_t>(page) >= static_cast<uint32_t>(args_.num_pages)) {
      store_words<1>(computed_here(args_.bad_pages), Words<1>{{computed_here(1u)}});
      page = 0;
    }
    return page;
  }
  ATTNPLAN_DEVICE int32_t token(int32_t position) const { return position & ((1 << shift_) - 1); }

 private:
  const AttentionArgs& args_;
  const int32_t shift_;
  const int checked_;
  const int32_t* pages_;
  int32_t last_;
};

}  // namespace attnplan::hip
