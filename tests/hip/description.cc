#include "hip/description.h"

#include <sstream>

namespace attnplan::hip_test {
namespace {

constexpr const char* kBatchNames[] = {"uniform", "ragged",  "verify", "pads", "one_row",
                                       "extend",  "prefill", "mixed",  "long", "clamped",
                                       "empty",   "shared",  "idle"};
constexpr const char* kLayoutNames[] = {"lbnhc", "lbhnc", "lhbnc", "blhnc",
                                        "blnhc", "bhlnc", "mla"};
constexpr const char* kScaleNames[] = {"no scales", "tensor scales", "token scales"};
constexpr const char* kKernelNames[] = {"all kernels", "decode", "extend", "prefill"};
constexpr const char* kWorkNames[] = {"none", "auto", "stream_k", "equal_chunks", "fixed"};

}  // namespace

const char* name_of(Batch batch) { return kBatchNames[static_cast<int>(batch)]; }

std::string words(const Description& d) {
  std::ostringstream out;
  out << d.name << " seed " << d.seed << ": " << name_of(d.batch) << ", q " << name_of(d.q)
      << ", cache " << name_of(d.cache) << " with " << kScaleNames[static_cast<int>(d.scales)]
      << ", heads " << d.num_q_heads() << "/" << d.num_kv_heads << " of " << d.head_size << "/"
      << d.v_head_size << ", " << kLayoutNames[d.layout] << (d.packed ? " packed" : "")
      << (d.shuffle ? " shuffle" : "") << ", block " << d.block_size << ", page " << d.page_size
      << (d.page_table ? " table" : " list");
  if (d.block_stride_pad > 0) out << ", blocks apart";
  if (d.mask == ATTNPLAN_MASK_FULL) out << ", full mask";
  if (d.sliding_window > 0) out << ", window " << d.sliding_window;
  if (d.soft_cap > 0) out << ", cap " << d.soft_cap;
  if (d.softmax_scale > 0) out << ", scale " << d.softmax_scale;
  if (!d.lse) out << ", no lse";
  if (!d.dense) out << ", strided tensors";
  out << ", " << kKernelNames[static_cast<int>(d.kernels)] << ", " << kWorkNames[d.work];
  if (d.work == ATTNPLAN_WORK_FIXED) out << " " << d.work_fixed_tokens;
  out << " over " << d.num_workers << " workers";
  if (d.graph_pads >= 0) {
    out << ", " << d.graph_pads << (d.full_width ? " full-width" : "") << " rows of a"
        << (d.piecewise ? " piecewise graph" : " graph") << (d.compact ? ", compact" : "");
  }
  return out.str();
}

}  // namespace attnplan::hip_test
