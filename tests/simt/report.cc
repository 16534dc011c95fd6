// The words of an Error.
#include <cstring>

#include "simt/block.h"

namespace attnplan::simt {

std::string name_of(Site site) {
  const char* slash = std::strrchr(site.file, '/');
  return std::string(slash == nullptr ? site.file : slash + 1) + ":" + std::to_string(site.line);
}

namespace {

std::string state_of(const Lane& lane, bool several) {
  switch (lane.place) {
    case Place::kReturned:
      return several ? " have returned" : " has returned";
    case Place::kBarrier:
      return (several ? " wait" : " waits") + std::string(" at the block barrier (") +
             name_of(lane.site) + ")";
    case Place::kInstruction:
      return (several ? " wait" : " waits") + std::string(" at ") + lane.instruction->name + " (" +
             name_of(lane.site) + ")";
    case Place::kReady:
      break;
  }
  return several ? " run" : " runs";
}

// "3", "0-7", "0-2, 5".
std::string ranges(const std::vector<int>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
    if (end - i > 1) text += "-" + std::to_string(numbers[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace

bool same_place(const Lane& a, const Lane& b) {
  if (a.place != b.place) return false;
  if (a.place == Place::kReturned) return true;
  return a.instruction == b.instruction && a.site.line == b.site.line &&
         (a.site.file == b.site.file || std::strcmp(a.site.file, b.site.file) == 0);
}

std::string waits(const Lane* lanes, int count, const char* noun) {
  std::string text;
  std::vector<bool> told(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    if (told[static_cast<size_t>(i)]) continue;
    std::vector<int> numbers;
    for (int j = i; j < count; ++j) {
      if (!same_place(lanes[i], lanes[j])) continue;
      told[static_cast<size_t>(j)] = true;
      numbers.push_back(j);
    }
    const bool several = numbers.size() > 1;
    text += (text.empty() ? "" : "; ") + std::string(noun) + (several ? "s " : " ") +
            ranges(numbers) + state_of(lanes[i], several);
  }
  return text;
}

std::string place_of(const Block& block) {
  const int wave = block.options.wave;
  std::string text = "block " + std::to_string(block.index);
  if (current_lane != nullptr) {
    const int thread = current_lane->thread;
    text += ", thread " + std::to_string(thread) + " (wave " + std::to_string(thread / wave) +
            ", lane " + std::to_string(thread % wave) + ")";
  } else if (block.executing_wave >= 0) {
    text += ", wave " + std::to_string(block.executing_wave);
  }
  return text;
}

void fail(const std::string& what) {
  const Block* block = current_block_state;
  throw Error(block == nullptr ? what : place_of(*block) + ": " + what);
}

}  // namespace attnplan::simt
