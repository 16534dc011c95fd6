// The bytes of a tensor that may be far larger than what is stored in it: pieces that somebody
// wrote to, poison between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "hip/memory.h"

namespace attnplan::hip_test {

class Image {
 public:
  explicit Image(size_t bytes, uint8_t poison) : bytes_(bytes), poison_(poison) {}

  void put(size_t offset, uint32_t code, size_t width) {
    uint8_t* to = piece(offset) + offset % kPiece;
    for (size_t i = 0; i < width; ++i) to[i] = static_cast<uint8_t>(code >> (8 * i));
  }
  void upload(Buffer* buffer) const {
    for (const auto& [index, bytes] : pieces_) {
      const size_t begin = index * kPiece;
      buffer->write(begin, bytes.data(), std::min(kPiece, bytes_ - begin));
    }
  }

 private:
  static constexpr size_t kPiece = size_t{1} << 18;  // a multiple of every width

  uint8_t* piece(size_t offset) {
    if (last_ == nullptr || offset / kPiece != last_index_) {
      last_index_ = offset / kPiece;
      std::vector<uint8_t>& bytes = pieces_[last_index_];
      if (bytes.empty()) bytes.assign(kPiece, poison_);
      last_ = bytes.data();
    }
    return last_;
  }

  size_t bytes_;
  uint8_t poison_;
  std::map<size_t, std::vector<uint8_t>> pieces_;
  size_t last_index_ = 0;
  uint8_t* last_ = nullptr;
};

}  // namespace attnplan::hip_test
