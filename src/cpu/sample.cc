#include "cpu/sample.h"

namespace attnplan::cpu {

std::vector<bool> sample_rows(const Lengths& lengths, int64_t max_rows) {
  const int64_t rows = lengths.rows();
  if (max_rows <= 0 || rows <= max_rows) return std::vector<bool>(static_cast<size_t>(rows), true);
  std::vector<bool> sample(static_cast<size_t>(rows), false);
  int64_t ends = 0;
  for (int32_t r = 0; r < lengths.size(); ++r) {
    if (lengths.query_lens[r] == 0) continue;
    sample[lengths.row_begin[r]] = true;
    sample[lengths.row_begin[r + 1] - 1] = true;
    ends += lengths.query_lens[r] > 1 ? 2 : 1;
  }
  const int64_t inner = rows - ends;
  const int64_t wanted = max_rows > ends ? max_rows - ends : 0;
  int64_t seen = 0;
  for (int64_t row = 0; row < rows; ++row) {
    if (sample[row]) continue;
    // Row `seen` of the inner rows is taken where the running share passes a whole number.
    if ((seen + 1) * wanted / inner > seen * wanted / inner) sample[row] = true;
    ++seen;
  }
  return sample;
}

}  // namespace attnplan::cpu
