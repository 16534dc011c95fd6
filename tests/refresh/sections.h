// Sections of a plan, in use and with all their room.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "library.h"

namespace attnplan::refresh {

using property::Buffer;

inline const attnplan_section* find(const Buffer& plan, int32_t id) {
  const auto& header = header_of(plan);
  const auto* table = reinterpret_cast<const attnplan_section*>(plan.data() + header.header_bytes);
  for (int32_t i = 0; i < header.num_sections; ++i) {
    if (table[i].id == id) return &table[i];
  }
  return nullptr;
}

template <typename T>
std::span<const T> values(const Buffer& plan, int32_t id) {
  const attnplan_section* s = find(plan, id);
  if (s == nullptr) return {};
  return {reinterpret_cast<const T*>(plan.data() + s->offset), static_cast<size_t>(s->count)};
}

inline std::string differs(const std::string& what, int64_t index, int64_t found,
                           int64_t expected) {
  return what + "[" + std::to_string(index) + "] is " + std::to_string(found) + ", expected " +
         std::to_string(expected);
}

}  // namespace attnplan::refresh
