// The simulated device as the code of a lane sees it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace attnplan::simt {

// Where a kernel calls an instruction. As a default argument `= Site::here()` it names the caller.
struct Site {
  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }

  const char* file;
  int line;
};

// How this launch's matrix instructions sum: hardware does not say, so no kernel may depend on it.
struct SumOrder {
  std::array<uint8_t, 32> k;  // a permutation; an instruction with a smaller K skips the rest
  bool in_double;
  bool addend_last;
  bool flush_subnormals;
};

// Lanes that have met: what each brought to the instruction.
class WaveOperands {
 public:
  WaveOperands(void* const* operands, int lanes, const void* detail, const SumOrder& order)
      : operands_(operands), lanes_(lanes), detail_(detail), order_(order) {}

  int lanes() const { return lanes_; }
  const void* detail() const { return detail_; }
  const SumOrder& order() const { return order_; }
  template <class T>
  T& of(int lane) const {
    return *static_cast<T*>(operands_[lane]);
  }

 private:
  void* const* operands_;
  int lanes_;
  const void* detail_;
  const SumOrder& order_;
};

// A wave instruction: all lanes of the wave have to wait at the same object and site.
struct Instruction {
  const char* name;
  void (*execute)(const WaveOperands& operands);
  const void* detail = nullptr;  // for `execute`
};

// Of the lane that runs.
int current_thread();
int current_block();
int block_size();
int grid_size();

// `lanes`: the size of wave that the caller was compiled for.
void wave_instruction(const Instruction& instruction, void* operands, int lanes, Site site);
void barrier(Site site);
// For what is no meeting, and yet has to be the same in every lane: between two meetings, all lanes
// of a wave have to make the same claims in the same order.
void claim(const char* name, uint64_t value, Site site);

// Ends the launch with an Error that names the block and the thread or wave.
[[noreturn]] void fail(const std::string& what);

}  // namespace attnplan::simt
