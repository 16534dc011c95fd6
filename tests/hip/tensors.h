// What a launch of a problem reads and writes, in device memory. Whatever no live token owns is
// poison: NaN in the cache and its scales, in outputs and workspace, between the rows of tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "cpu/kv_layout.h"
#include "hip/contents.h"
#include "hip/description.h"
#include "hip/memory.h"
#include "hip/planning.h"
#include "hip/step.h"

namespace attnplan::hip_test {

// Strides of the query, of the output and of the log-sum-exp, in elements.
struct Strides {
  int64_t q_row, q_head, out_row, out_head, lse_row;
};
Strides strides_of(const Description& description);

// float32 [pages][heads][tokens] with room between; strides in elements.
struct ScaleStrides {
  int64_t page, head, token;
};
ScaleStrides scale_strides_of(const Description& description);

cpu::KvLayout layout_of(const Description& description, const Step& step);

struct Tensors {
  Tensors(const Description& description, const Step& step, const Contents& contents,
          const Plan& plan, size_t workspace_bytes);

  std::vector<const Buffer*> all() const;

  cpu::KvLayout layout;
  Buffer q;
  Buffer cache;
  Buffer plan;
  std::optional<Buffer> k_scales;
  std::optional<Buffer> v_scales;
  std::optional<Buffer> out;
  std::optional<Buffer> lse;
  std::optional<Buffer> workspace;
};

}  // namespace attnplan::hip_test
