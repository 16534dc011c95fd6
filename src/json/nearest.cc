#include "json/nearest.h"

#include <algorithm>
#include <vector>

namespace attnplan::json {
namespace {

// Insertions, deletions, replacements, and swaps of neighbours, that make `b` of `a`.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> older, old(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    older = old;
    old = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = old[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, old[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], older[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  std::string_view best;
  size_t best_distance = std::max<size_t>(1, std::min<size_t>(word.size(), 40) / 3) + 1;
  if (word.size() > 40) return best;
  for (const std::string_view candidate : known) {
    const size_t d = distance(word, candidate);
    if (d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

}  // namespace attnplan::json
