#include "kernel_args.h"

#include "hip/plan_refresh.h"
#include "simt/launch.h"

namespace attnplan::refresh {

KernelArgs::KernelArgs(const Tensors& tensors, const cpu::RefreshRules& rules, bool narrow)
    : rows_(tensors.table_rows.begin(), tensors.table_rows.end()) {
  for (const int64_t slot : tensors.slot_mapping) slots_.push_back(static_cast<int32_t>(slot));
  args.query_start_loc = tensors.query_start_loc.data();
  args.seq_lens = tensors.seq_lens.data();
  if (!tensors.ids.empty()) args.ids = tensors.ids.data();
  if (!tensors.indptr.empty()) {
    args.table = hip::TableKind::kCsr;
    args.indptr = tensors.indptr.data();
  } else if (!tensors.ids.empty()) {
    args.table = tensors.tokens ? hip::TableKind::kTokens : hip::TableKind::kBlocks;
  }
  if (!tensors.table_rows.empty()) {
    args.table_rows = narrow ? static_cast<const void*>(rows_.data()) : tensors.table_rows.data();
  }
  if (!tensors.slot_mapping.empty()) {
    args.slot_mapping =
        narrow ? static_cast<const void*>(slots_.data()) : tensors.slot_mapping.data();
  }
  if (!narrow) args.flags |= hip::kRefreshRowsInt64 | hip::kRefreshSlotsInt64;
  if (rules.draft) args.flags |= hip::kRefreshMayCut;
  if (rules.full_width_pads) args.flags |= hip::kRefreshFullWidthPads;
  if (rules.packed) args.flags |= hip::kRefreshPacked;
  if (rules.causal) args.flags |= hip::kRefreshCausal;
  args.stride = tensors.stride;
  args.columns = static_cast<int32_t>(tensors.columns);
  args.sections = rules.sections;
  args.block_size = static_cast<int32_t>(rules.block_size);
  args.page_size = static_cast<int32_t>(rules.page_size);
  if (args.page_size > 0) args.pages_per_block = args.block_size / args.page_size;
  args.block_page_stride = rules.packed ? 2 * args.pages_per_block : args.pages_per_block;
  args.max_model_len = static_cast<int32_t>(rules.max_model_len);
  args.sliding_window = static_cast<int32_t>(rules.sliding_window);
  args.local_chunk = static_cast<int32_t>(rules.local_chunk);
  args.context_world = static_cast<int32_t>(rules.context_world);
  args.context_rank = static_cast<int32_t>(rules.context_rank);
  args.context_interleave = static_cast<int32_t>(rules.context_interleave);
  args.group = static_cast<int32_t>(rules.group);
  args.query_tile = static_cast<int32_t>(rules.query_tile);
  args.kv_tile = static_cast<int32_t>(rules.kv_tile);
}

uint32_t status_bits(const cpu::RefreshFindings& findings) {
  uint32_t bits = 0;
  if (findings.bad_starts) bits |= hip::kRefreshBadStarts;
  if (findings.row_count) bits |= hip::kRefreshRowCount;
  if (findings.bad_seq_len) bits |= hip::kRefreshBadSeqLen;
  if (findings.too_long) bits |= hip::kRefreshTooLong;
  if (findings.capacity) bits |= hip::kRefreshCapacity;
  if (findings.chunks) bits |= hip::kRefreshChunks;
  return bits;
}

Grid random_grid(Dice* dice) {
  Grid grid;
  grid.wave64 = dice->percent(50);
  grid.blocks = dice->pick<int>({1, 1, 2, 3, 7});
  grid.threads = dice->pick<int>({64, 64, 128, 192, 256});
  if (!grid.wave64 && dice->percent(30)) grid.threads = 32;
  grid.seed = dice->next();
  return grid;
}

uint32_t launch_refresh(const Grid& grid, hip::RefreshArgs args, Buffer* plan) {
  uint32_t status = 0xffffffffu;
  args.plan = plan->data();
  args.status = &status;
  if (grid.wave64) {
    simt::launch(simt::options_for<hip::Gfx942>(grid.seed), grid.blocks, grid.threads,
                 [&] { hip::plan_refresh<hip::Gfx942>(args); });
  } else {
    simt::launch(simt::options_for<hip::Sm90>(grid.seed), grid.blocks, grid.threads,
                 [&] { hip::plan_refresh<hip::Sm90>(args); });
  }
  return status;
}

}  // namespace attnplan::refresh
