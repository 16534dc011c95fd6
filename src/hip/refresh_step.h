// The step as the device knows it: lengths of the request at a plan position, and where its blocks
// are. What makes no sense is clamped here and noted; nothing behind this needs to ask again.
#pragma once

#include <cstdint>

#include "hip/plan_reader.h"
#include "hip/refresh_args.h"

namespace attnplan::hip {

template <class T>
ATTNPLAN_DEVICE T at_least(T value, T low) {
  return value < low ? low : value;
}
template <class T>
ATTNPLAN_DEVICE T at_most(T value, T high) {
  return value > high ? high : value;
}
ATTNPLAN_DEVICE int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct RequestLengths {
  int32_t request;  // of the step
  int32_t query_len;
  int32_t seq_len;  // inside the limit; 0 for a pad
  int32_t context;  // before a cut, which may lie below it
  int32_t is_cut;
  uint32_t status;

  ATTNPLAN_DEVICE int32_t context_in_cache() const { return at_most(context, seq_len); }
};

class RefreshStep {
 public:
  ATTNPLAN_DEVICE RefreshStep(const RefreshArgs& args, const PlanReader& plan)
      : args_(args),
        order_(plan.find<const int32_t>(ATTNPLAN_SECTION_ORDER)),
        rows_(plan.header().num_rows),
        n_(plan.header().num_reqs),
        sorted_((plan.header().flags & ATTNPLAN_PLAN_SORTED) != 0) {}

  ATTNPLAN_DEVICE int32_t num_reqs() const { return n_; }
  ATTNPLAN_DEVICE int32_t num_rows() const { return rows_; }
  ATTNPLAN_DEVICE const RefreshArgs& args() const { return args_; }

  ATTNPLAN_DEVICE RequestLengths lengths(int32_t position) const {
    RequestLengths out{sorted_ && order_ ? order_.data[position] : position, 0, 0, 0, 0, 0};
    const int64_t begin = args_.query_start_loc[out.request];
    const int64_t rows = args_.query_start_loc[out.request + 1] - begin;
    if (rows < 0 || (out.request == 0 && begin != 0)) out.status |= kRefreshBadStarts;
    if (rows > rows_) out.status |= kRefreshRowCount;
    out.query_len = static_cast<int32_t>(at_most<int64_t>(at_least<int64_t>(rows, 0), rows_));
    if (out.query_len == 0) return out;
    const int32_t given = args_.seq_lens[out.request];
    const bool causal = (args_.flags & kRefreshCausal) != 0;
    if (given < (causal ? out.query_len : 0)) out.status |= kRefreshBadSeqLen;
    const int32_t total = at_least(given, 0);
    const int64_t limit = most_tokens(out.request);
    out.is_cut = total > limit;
    if (out.is_cut && (args_.flags & kRefreshMayCut) == 0) out.status |= kRefreshTooLong;
    out.seq_len = static_cast<int32_t>(at_most<int64_t>(total, limit));
    out.context = at_least(total - out.query_len, 0);
    return out;
  }

  // The id of a block of a request; `block` lies below its KV length.
  ATTNPLAN_DEVICE int32_t block_id(int32_t request, int64_t block) const {
    switch (args_.table) {
      case TableKind::kBlocks:
        return args_.ids[table_row(request) * args_.stride + block];
      case TableKind::kCsr:
        return args_.ids[args_.indptr[request] + block];
      case TableKind::kTokens: {
        const int32_t slot =
            args_.ids[table_row(request) * args_.stride + block * args_.block_size];
        return slot < 0 ? -1 : slot / args_.block_size;
      }
      default:
        return -1;
    }
  }
  // The kernel page that holds tokens from page * page_size on. A block without an id gives
  // negative pages.
  ATTNPLAN_DEVICE int32_t page_id(int32_t request, int32_t page) const {
    const int32_t block = page / args_.pages_per_block;
    const auto id = static_cast<uint32_t>(block_id(request, block));
    return static_cast<int32_t>(id * static_cast<uint32_t>(args_.block_page_stride) +
                                static_cast<uint32_t>(page - block * args_.pages_per_block));
  }
  // The slot of a position below the KV length, as the cache's storage has it.
  ATTNPLAN_DEVICE int64_t slot_at(int32_t request, int32_t position) const {
    if (args_.table == TableKind::kTokens) {
      return in_storage(args_.ids[table_row(request) * args_.stride + position]);
    }
    const int32_t block = position / args_.block_size;
    return in_storage(int64_t{block_id(request, block)} * args_.block_size + position -
                      block * args_.block_size);
  }
  // The engine's own slot of a row.
  ATTNPLAN_DEVICE int64_t given_slot(int32_t request, int32_t row) const {
    const int64_t at = int64_t{args_.query_start_loc[request]} + row;
    if (at < 0 || at >= rows_) return -1;
    return in_storage((args_.flags & kRefreshSlotsInt64) != 0
                          ? static_cast<const int64_t*>(args_.slot_mapping)[at]
                          : static_cast<const int32_t*>(args_.slot_mapping)[at]);
  }

 private:
  ATTNPLAN_DEVICE int64_t table_row(int32_t request) const {
    if (args_.table_rows == nullptr) return request;
    return (args_.flags & kRefreshRowsInt64) != 0
               ? static_cast<const int64_t*>(args_.table_rows)[request]
               : static_cast<const int32_t*>(args_.table_rows)[request];
  }
  // What table and model have room for.
  ATTNPLAN_DEVICE int64_t most_tokens(int32_t request) const {
    int64_t most = args_.max_model_len > 0 ? args_.max_model_len : INT32_MAX;
    if (args_.table == TableKind::kBlocks) {
      most = at_most(most, int64_t{args_.columns} * args_.block_size);
    } else if (args_.table == TableKind::kCsr) {
      const int64_t blocks = int64_t{args_.indptr[request + 1]} - args_.indptr[request];
      most = at_most(most, at_least<int64_t>(blocks, 0) * args_.block_size);
    } else if (args_.table == TableKind::kTokens) {
      most = at_most<int64_t>(most, args_.columns);
    }
    return most;
  }
  // Packed blocks lie two blocks apart.
  ATTNPLAN_DEVICE int64_t in_storage(int64_t slot) const {
    if (slot < 0 || (args_.flags & kRefreshPacked) == 0) return slot;
    const auto unsigned_slot = static_cast<uint64_t>(slot);
    const auto block_size = static_cast<uint64_t>(args_.block_size);
    return static_cast<int64_t>(unsigned_slot + unsigned_slot / block_size * block_size);
  }

  const RefreshArgs& args_;
  Section<const int32_t> order_;
  int32_t rows_;
  int32_t n_;
  bool sorted_;
};

// The pads that a graph adds, as far as refresh has to know: of full width they have one KV token.
struct RefreshPads {
  int32_t first;  // plan position behind the last segment
  int32_t end;    // behind the requests of a uniform full graph; `first` where pads are empty
  int32_t padded_requests;

  ATTNPLAN_DEVICE RefreshPads(const PlanReader& plan, const RefreshArgs& args) {
    const attnplan_plan_header& header = plan.header();
    const auto segments = plan.find<const attnplan_segment>(ATTNPLAN_SECTION_SEGMENTS);
    const int64_t count = segments.count;
    const bool uniform = (header.flags & ATTNPLAN_PLAN_HAS_GRAPH) != 0 && header.graph_width > 0;
    const int32_t begin = count > 0 ? segments.data[0].req_begin : 0;
    const int32_t graph_end = uniform ? begin + header.graph_requests : 0;
    first = count > 0 ? segments.data[count - 1].req_end : 0;
    padded_requests = at_least(header.num_reqs, graph_end);
    end = uniform && (args.flags & kRefreshFullWidthPads) != 0 ? at_least(graph_end, first) : first;
  }
  ATTNPLAN_DEVICE bool is_full(int32_t position) const {
    return first <= position && position < end;
  }
};

}  // namespace attnplan::hip
