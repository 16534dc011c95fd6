#include "hip/judge.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

namespace attnplan::hip_test {
namespace {

constexpr size_t kMaxFailures = 4;
constexpr double kLseTolerance = 2e-3;
constexpr double kSmall = 1e-6;

class Judge {
 public:
  Judge(const Description& d, const Step& step, const Reference& reference, const Tensors& tensors)
      : d_(d), step_(step), reference_(reference), tensors_(tensors), strides_(strides_of(d)) {}

  Verdict judge() {
    read();
    for (int64_t row = 0; row < step_.rows(); ++row) {
      for (int32_t head = 0; head < d_.num_q_heads(); ++head) {
        judge_out(row, head);
        if (d_.lse) judge_lse(row, head);
      }
    }
    const int64_t rows = static_cast<int64_t>(out_.size()) / 2 / strides_.out_row;
    for (int64_t row = step_.rows(); row < rows; ++row) judge_pad(row);
    check_rest(out_, 2, strides_.out_row, strides_.out_head, d_.v_head_size, "out");
    if (d_.lse) check_rest(lse_, 4, strides_.lse_row, 1, 1, "lse");
    for (const Buffer* buffer : tensors_.all()) {
      if (!buffer->guards_intact()) fail("a guard region was written to");
    }
    return verdict_;
  }

 private:
  void read() {
    out_ = tensors_.out->read(0, tensors_.out->bytes());
    if (d_.lse) lse_ = tensors_.lse->read(0, tensors_.lse->bytes());
  }
  uint16_t code(int64_t row, int32_t head, int32_t element) const {
    uint16_t code;
    const int64_t at = row * strides_.out_row + head * strides_.out_head + element;
    std::memcpy(&code, out_.data() + 2 * at, 2);
    return code;
  }
  double out(int64_t row, int32_t head, int32_t element) const {
    return decode(d_.q, code(row, head, element));
  }
  float lse(int64_t row, int32_t head) const {
    float lse;
    std::memcpy(&lse, lse_.data() + 4 * (row * strides_.lse_row + head), 4);
    return lse;
  }

  void judge_out(int64_t row, int32_t head) {
    const auto at = static_cast<size_t>(row * d_.num_q_heads() + head);
    const bool known = reference_.known[at] != 0;
    const double* right = reference_.out.data() + at * static_cast<size_t>(d_.v_head_size);
    double largest = 0, error = 0;
    int32_t worst = 0;
    for (int32_t e = 0; e < d_.v_head_size; ++e) {
      const double found = out(row, head, e);
      if (std::isnan(found)) {
        fail("NaN or not written", row, head, e, found, known ? right[e] : 0);
        return;
      }
      if (!known) continue;
      largest = std::max(largest, std::fabs(right[e]));
      if (std::fabs(found - right[e]) > error) {
        error = std::fabs(found - right[e]);
        worst = e;
      }
    }
    if (!known) return;
    ++verdict_.judged;
    const double relative = error / (largest + kSmall);
    verdict_.worst = std::max(verdict_.worst, relative);
    if (relative > tolerance(d_) || (largest == 0 && error != 0)) {
      fail("wrong output", row, head, worst, out(row, head, worst), right[worst]);
    }
  }

  void judge_lse(int64_t row, int32_t head) {
    const auto at = static_cast<size_t>(row * d_.num_q_heads() + head);
    const float found = lse(row, head);
    if (std::isnan(found)) {
      fail("NaN or no log-sum-exp", row, head, 0, found, reference_.lse[at]);
      return;
    }
    if (reference_.known[at] == 0) return;
    const double right = reference_.lse[at];
    if (std::isinf(right) || std::isinf(found)) {
      if (right != found) fail("wrong log-sum-exp", row, head, 0, found, right);
      return;
    }
    const double error = std::fabs(found - right) / std::max(1.0, std::fabs(right));
    verdict_.worst_lse = std::max(verdict_.worst_lse, error);
    if (!(error <= kLseTolerance)) fail("wrong log-sum-exp", row, head, 0, found, right);
  }

  // A row of no request: zeros, the bits of them, and no log-sum-exp.
  void judge_pad(int64_t row) {
    ++verdict_.pads;
    for (int32_t head = 0; head < d_.num_q_heads(); ++head) {
      for (int32_t e = 0; e < d_.v_head_size; ++e) {
        if (code(row, head, e) == 0) continue;
        return fail("row " + std::to_string(row) + " behind the batch, head " +
                    std::to_string(head) + ", element " + std::to_string(e) + ": " +
                    std::to_string(out(row, head, e)) + " for 0");
      }
      if (!d_.lse || lse(row, head) == -std::numeric_limits<float>::infinity()) continue;
      return fail("row " + std::to_string(row) + " behind the batch, head " + std::to_string(head) +
                  ": log-sum-exp " + std::to_string(lse(row, head)));
    }
  }

  // Between rows and heads everything is still poison.
  void check_rest(const std::vector<uint8_t>& bytes, int64_t width, int64_t row_stride,
                  int64_t head_stride, int64_t size, const char* name) {
    for (int64_t at = 0; at < static_cast<int64_t>(bytes.size()); ++at) {
      const int64_t in_row = at / width % row_stride;
      const bool owned = in_row < d_.num_q_heads() * head_stride && in_row % head_stride < size;
      if (!owned && bytes[static_cast<size_t>(at)] != 0xff) {
        fail(std::string("written between the rows of ") + name);
        return;
      }
    }
  }

  void fail(const std::string& what) {
    if (verdict_.failures.size() < kMaxFailures) verdict_.failures.push_back(what);
  }
  void fail(const char* what, int64_t row, int32_t head, int32_t element, double found,
            double right) {
    if (verdict_.failures.size() >= kMaxFailures) return;
    const auto next = std::upper_bound(step_.row_begin.begin(), step_.row_begin.end(), row);
    const auto request = static_cast<int32_t>(next - step_.row_begin.begin() - 1);
    const int64_t own = row - step_.row_begin[static_cast<size_t>(request)];
    std::ostringstream text;
    text << what << ": row " << own << " of request " << request << " (" << step_.requests()
         << " requests, this one " << step_.query_lens[static_cast<size_t>(request)] << " rows, "
         << step_.keys(request) << " keys, row at position " << step_.position(request, own)
         << "), head " << head << ", element " << element << ": " << found << " for " << right;
    fail(text.str());
  }

  const Description& d_;
  const Step& step_;
  const Reference& reference_;
  const Tensors& tensors_;
  Strides strides_;
  std::vector<uint8_t> out_;
  std::vector<uint8_t> lse_;
  Verdict verdict_;
};

}  // namespace

double tolerance(const Description& d) {
  return d.q == Format::kFp16 && d.cache == Format::kFp16 ? 2e-3 : 2e-2;
}

Verdict judge(const Description& description, const Step& step, const Reference& reference,
              const Tensors& tensors) {
  return Judge(description, step, reference, tensors).judge();
}

std::vector<double> outputs(const Description& d, const Step& step, const Tensors& tensors) {
  const Strides strides = strides_of(d);
  const std::vector<uint8_t> bytes = tensors.out->read(0, tensors.out->bytes());
  std::vector<double> values;
  for (int64_t row = 0; row < step.rows(); ++row) {
    for (int32_t head = 0; head < d.num_q_heads(); ++head) {
      for (int32_t e = 0; e < d.v_head_size; ++e) {
        uint16_t code;
        const int64_t at = row * strides.out_row + head * strides.out_head + e;
        std::memcpy(&code, bytes.data() + 2 * at, 2);
        values.push_back(decode(d.q, code));
      }
    }
  }
  return values;
}

}  // namespace attnplan::hip_test
