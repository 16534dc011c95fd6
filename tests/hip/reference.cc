#include "hip/reference.h"

#include <cmath>
#include <limits>

#include "cpu/oracle.h"
#include "cpu/sample.h"
#include "hip/parallel.h"

namespace attnplan::hip_test {
namespace {

cpu::AttentionShape shape_of(const Description& d) {
  cpu::AttentionShape shape;
  shape.num_q_heads = d.num_q_heads();
  shape.num_kv_heads = d.num_kv_heads;
  shape.head_size = d.head_size;
  shape.v_head_size = d.v_head_size;
  shape.mask = d.mask;
  shape.sliding_window = d.sliding_window;
  shape.soft_cap = d.soft_cap;
  return shape;
}

std::vector<bool> rows_to_judge(const Description& d, const Step& step) {
  cpu::Lengths lengths;
  lengths.query_lens = step.query_lens;
  lengths.row_begin = step.row_begin;
  lengths.seq_lens = step.seq_lens;
  return cpu::sample_rows(lengths, d.max_rows);
}

// Rows of one request and KV head.
class Unit {
 public:
  Unit(const Description& d, const Step& step, const Contents& contents, int32_t request,
       int32_t kv_head)
      : d_(d), step_(step), contents_(contents), request_(request), kv_head_(kv_head) {}

  void compute(const std::vector<bool>& wanted, Reference* reference) {
    const cpu::AttentionShape shape = shape_of(d_);
    gather();
    for (int64_t r = 0; r < step_.query_lens[static_cast<size_t>(request_)]; ++r) {
      const int64_t row = step_.row_begin[static_cast<size_t>(request_)] + r;
      if (!wanted[static_cast<size_t>(row)]) continue;
      std::vector<int64_t> keys;
      const int64_t position = step_.position(request_, r);
      // A draft row behind its block table is a pad.
      if (step_.phase != ATTNPLAN_PHASE_DRAFT || position < step_.keys(request_)) {
        keys = cpu::oracle_visible(shape, position, step_.keys(request_));
      }
      for (int32_t h = kv_head_ * d_.group; h < (kv_head_ + 1) * d_.group; ++h) {
        attend(shape, row, h, keys, reference);
      }
    }
  }

 private:
  void gather() {
    const int64_t keys = step_.keys(request_);
    k_.resize(static_cast<size_t>(keys * d_.head_size));
    v_.resize(static_cast<size_t>(keys * d_.v_head_size));
    for (int64_t t = 0; t < keys; ++t) {
      const int32_t block = step_.block(request_, t);
      const auto token = static_cast<int32_t>(t % d_.block_size);
      contents_.numbers(Tensor::kKey, block, token, kv_head_, part(&k_, t, d_.head_size));
      contents_.numbers(Tensor::kValue, block, token, kv_head_, part(&v_, t, d_.v_head_size));
    }
  }
  static std::span<double> part(std::vector<double>* values, int64_t index, int32_t size) {
    return std::span(*values).subspan(static_cast<size_t>(index * size), static_cast<size_t>(size));
  }
  void attend(const cpu::AttentionShape& shape, int64_t row, int32_t head,
              const std::vector<int64_t>& keys, Reference* reference) const {
    const int64_t at = row * d_.num_q_heads() + head;
    std::vector<double> query(static_cast<size_t>(d_.head_size));
    // The oracle scales by head_size^-0.5; another scale goes into the query.
    const double factor = contents_.softmax_scale() / shape.scale();
    for (size_t e = 0; e < query.size(); ++e) {
      query[e] =
          factor * decode(d_.q, contents_.queries()[static_cast<size_t>(at) * query.size() + e]);
    }
    reference->lse[static_cast<size_t>(at)] = cpu::oracle_attend(
        shape, query.data(), {k_.data(), d_.head_size}, {v_.data(), d_.v_head_size}, keys,
        part(&reference->out, at, d_.v_head_size));
    reference->known[static_cast<size_t>(at)] = 1;
  }

  const Description& d_;
  const Step& step_;
  const Contents& contents_;
  int32_t request_;
  int32_t kv_head_;
  std::vector<double> k_;
  std::vector<double> v_;
};

}  // namespace

Reference compute_reference(const Description& d, const Step& step, const Contents& contents) {
  const auto rows = static_cast<size_t>(step.rows() * d.num_q_heads());
  Reference reference{std::vector<char>(rows), std::vector<double>(rows * d.v_head_size),
                      std::vector<double>(rows)};
  const std::vector<bool> wanted = rows_to_judge(d, step);
  parallel_for(int64_t{step.requests()} * d.num_kv_heads, [&](int64_t i) {
    Unit(d, step, contents, static_cast<int32_t>(i / d.num_kv_heads),
         static_cast<int32_t>(i % d.num_kv_heads))
        .compute(wanted, &reference);
  });
  return reference;
}

}  // namespace attnplan::hip_test
