#include "planner/witness.h"

#include <fmt/format.h>

#include "attnplan_plan_format.h"
#include "planner/measure.h"
#include "planner/state.h"

namespace attnplan {
namespace {

constexpr const char* kLayoutNames[] = {"lbnhc", "lbhnc", "lhbnc", "blhnc",
                                        "blnhc", "bhlnc", "mla"};
constexpr const char* kFeatureNames[] = {"sinks", "soft_cap", "alibi", "lse"};
constexpr const char* kMaskNames[] = {"causal", "full"};

std::string rows(int64_t count) { return fmt::format("{} row{}", count, count == 1 ? "" : "s"); }

std::string joined(const IntList& list) {
  if (!list || list->empty()) return "none";
  return fmt::format("{}", fmt::join(*list, ", "));
}

// The words of a bit set, or "none".
template <size_t kCount>
std::string joined(uint32_t set, const char* const (&names)[kCount]) {
  std::string text;
  for (size_t i = 0; i < kCount; ++i) {
    if ((set >> i & 1u) == 0) continue;
    text += text.empty() ? names[i] : fmt::format(", {}", names[i]);
  }
  return text.empty() ? "none" : text;
}

class Writer {
 public:
  explicit Writer(const Evidence& evidence)
      : evidence_(evidence),
        config_(evidence.planner.config()),
        contract_(evidence.planner.contract(evidence.kernel)),
        kernel_(evidence.planner.state().kernels[static_cast<size_t>(evidence.kernel)]),
        lanes_(evidence.lanes) {}

  std::string sentence(Reason reason) const {
    switch (reason) {
      case Reason::kRagged:
      case Reason::kInteriorPad:
      case Reason::kQueryLensNotExact:
      case Reason::kWidthUnsupported:
      case Reason::kGroupTooWide:
      case Reason::kContextUnsupported:
      case Reason::kSeqLensNotExact:
      case Reason::kTooFewRequests:
      case Reason::kTooManyRequests:
      case Reason::kSeqTooLong:
        return about_requests(reason);
      case Reason::kGroupUnsupported:
      case Reason::kHeadSizeUnsupported:
      case Reason::kArchUnsupported:
      case Reason::kMaskUnsupported:
      case Reason::kWindowUnsupported:
      case Reason::kFeatureUnsupported:
        return about_group(reason);
      default:
        return about_cache(reason);
    }
  }

 private:
  std::string about_requests(Reason reason) const {
    switch (reason) {
      case Reason::kRagged:
        return ragged();
      case Reason::kInteriorPad:
        return interior_pad();
      case Reason::kQueryLensNotExact: {
        const int32_t at = first([this](int32_t i) { return query_inexact(i); });
        return fmt::format("{} has 1 to {}, the device decides", request(at),
                           rows(lanes_.query_bound));
      }
      case Reason::kWidthUnsupported:
        return width_unsupported();
      case Reason::kGroupTooWide:
        return group_too_wide();
      case Reason::kContextUnsupported:
        return context_unsupported();
      case Reason::kSeqLensNotExact: {
        const int32_t at = first([this](int32_t i) { return inexact(i, kSeqInexact); });
        return fmt::format("the seq_len of {}, {}, is only a bound", request(at), seq_len(at));
      }
      case Reason::kTooFewRequests:
        return fmt::format("{} live requests, at least {} needed", num_live(),
                           contract_.min_requests);
      case Reason::kTooManyRequests:
        return fmt::format("{} live requests, limit {}", num_live(), contract_.max_requests);
      default: {  // kSeqTooLong
        const int32_t at = first([this](int32_t i) { return seq_len(i) > kernel_.max_seq_len; });
        return fmt::format("{} has seq_len {}, limit {}", request(at), seq_len(at),
                           contract_.max_seq_len);
      }
    }
  }

  std::string ragged() const {
    const int32_t head = first([](int32_t) { return true; });
    const int32_t other =
        first([&](int32_t i) { return lanes_.query_lens[i] != lanes_.query_lens[head]; });
    return fmt::format("{} has {}, {} has {}", request(other), rows(lanes_.query_lens[other]),
                       request(head), lanes_.query_lens[head]);
  }

  std::string interior_pad() const {
    int32_t pad = evidence_.range.begin;
    while (pad + 1 < evidence_.range.end && lanes_.query_lens[pad] != 0) ++pad;
    return fmt::format("{} is a pad between live requests", request(pad));
  }

  std::string width_unsupported() const {
    const int32_t wide = find([this](int32_t i) { return query_len(i) > kernel_.max_query_len; });
    if (wide >= 0) {
      return fmt::format("{} {} {}, limit {}", request(wide), has(wide), rows(query_len(wide)),
                         contract_.max_query_len);
    }
    const int32_t odd = find([this](int32_t i) {
      return !query_inexact(i) && !kernel_.admits_width(lanes_.query_lens[i]);
    });
    const std::string admitted = joined(contract_.query_lens);
    if (odd >= 0) {
      return fmt::format("{} has {}, admitted: {}", request(odd), rows(lanes_.query_lens[odd]),
                         admitted);
    }
    int32_t width = 1;  // of those an inexact request may have
    while (width < lanes_.query_bound && kernel_.admits_width(width)) ++width;
    return fmt::format("{} may have {}, admitted: {}",
                       request(first([this](int32_t i) { return query_inexact(i); })), rows(width),
                       admitted);
  }

  std::string group_too_wide() const {
    const int32_t group = config_.num_q_heads / config_.num_kv_heads;
    const int32_t at =
        first([this](int32_t i) { return query_len(i) > kernel_.max_query_len_by_group; });
    return fmt::format("{} {} {} x group of {} = {}, limit {}", request(at), has(at),
                       rows(query_len(at)), group, int64_t{query_len(at)} * group,
                       contract_.max_query_len_x_group);
  }

  std::string context_unsupported() const {
    if (contract_.context == Context::kSome) {
      const int32_t at = first([this](int32_t i) { return lanes_.context_lens[i] == 0; });
      return fmt::format("{} has no context, the kernel needs some", request(at));
    }
    const int32_t at = first([this](int32_t i) { return lanes_.context_lens[i] > 0; });
    return fmt::format("{} has {} tokens of context, the kernel takes none", request(at),
                       lanes_.context_lens[at]);
  }

  std::string about_group(Reason reason) const {
    switch (reason) {
      case Reason::kGroupUnsupported:
        return fmt::format("{} query heads per KV head, admitted: {}",
                           config_.num_q_heads / config_.num_kv_heads, joined(contract_.groups));
      case Reason::kHeadSizeUnsupported:
        return fmt::format("head size {} (V: {}), admitted: {}", config_.head_size,
                           config_.v_head_size, joined(contract_.head_sizes));
      case Reason::kArchUnsupported:
        return fmt::format("the device is {}, admitted: {}", std::string_view{config_.arch},
                           archs());
      case Reason::kMaskUnsupported:
        return fmt::format("the mask is {}, admitted: {}",
                           kMaskNames[static_cast<int32_t>(config_.mask)],
                           joined(contract_.masks.value_or(1u), kMaskNames));
      case Reason::kWindowUnsupported:
        return fmt::format("the group has a sliding window of {} tokens", config_.sliding_window);
      default:  // kFeatureUnsupported
        return fmt::format("the group needs {}, the kernel has {}",
                           joined(config_.features & ~contract_.features, kFeatureNames),
                           joined(contract_.features, kFeatureNames));
    }
  }

  std::string archs() const {
    std::string text;
    if (!contract_.archs) return "any";
    for (const auto& arch : *contract_.archs) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", std::string_view{arch});
    }
    return text.empty() ? "none" : text;
  }

  std::string about_cache(Reason reason) const {
    if (!config_.kv_cache) return "no cache is described";
    const KvCache& cache = *config_.kv_cache;
    const KvView& view = *evidence_.planner.kv_view();
    switch (reason) {
      case Reason::kBlockSizeUnsupported:
        return fmt::format("blocks of {} tokens, admitted: {}", cache.block_size,
                           joined(contract_.block_sizes));
      case Reason::kPageSizeUnsupported:
        if (cache.page_size == 0) {
          return fmt::format("no page size of {} divides the block of {} tokens",
                             joined(contract_.page_sizes), cache.block_size);
        }
        return fmt::format("pages of {} tokens, admitted: {}", cache.page_size,
                           joined(contract_.page_sizes));
      case Reason::kDtypeUnsupported:
        return fmt::format("the cache is viewed as {}, admitted: {}", name(view.view_dtype),
                           dtypes());
      case Reason::kLayoutUnsupported:
        return fmt::format("the layout is {}, admitted: {}",
                           kLayoutNames[static_cast<int32_t>(cache.layout)],
                           joined(contract_.layouts.value_or(0), kLayoutNames));
      case Reason::kTileMisaligned:
        return fmt::format("pages of {} tokens are no multiple of the tile of {}",
                           kernel_.page_size, contract_.tile_tokens);
      default:  // kOffsetOverflow
        return offset_overflow(view);
    }
  }

  std::string dtypes() const {
    std::string text;
    for (int32_t dtype = 1; dtype < 32; ++dtype) {
      if ((contract_.dtypes.value_or(0) >> dtype & 1u) == 0) continue;
      const char* const word = name(static_cast<Dtype>(dtype));
      if (word[0] != '?') text += fmt::format("{}{}", text.empty() ? "" : ", ", word);
    }
    return text.empty() ? "none" : text;
  }

  std::string offset_overflow(const KvView& view) const {
    if (contract_.offset_limit.unit == OffsetUnit::kElements) {
      return fmt::format("the last element of the cache is {}, limit {}", view.last_offset,
                         contract_.offset_limit.max);
    }
    const int64_t bytes = bytes_per_element(view.storage_dtype);
    return fmt::format("the last byte of the cache is {}, limit {}",
                       view.last_offset * bytes + bytes - 1, contract_.offset_limit.max);
  }

  // First live position of the range for which `holds`, or -1.
  template <typename Holds>
  int32_t find(Holds holds) const {
    for (int32_t i = evidence_.range.begin; i < evidence_.range.end; ++i) {
      if (lanes_.query_lens[i] > 0 && holds(i)) return i;
    }
    return -1;
  }

  // The same where there must be one. A forged plan gets a wrong sentence, never a wild read.
  template <typename Holds>
  int32_t first(Holds holds) const {
    const int32_t at = find(holds);
    return at >= 0 ? at : evidence_.range.begin;
  }

  int32_t num_live() const {
    int32_t live = 0;
    for (int32_t i = evidence_.range.begin; i < evidence_.range.end; ++i) {
      live += lanes_.query_lens[i] > 0;
    }
    return live;
  }

  std::string request(int32_t position) const {
    return fmt::format("request {}", lanes_.input_request(position));
  }

  bool inexact(int32_t i, uint8_t bit) const { return lanes_.inexact && (lanes_.inexact[i] & bit); }
  bool query_inexact(int32_t i) const { return inexact(i, kQueryInexact); }
  const char* has(int32_t i) const { return query_inexact(i) ? "may have" : "has"; }
  // The figures a contract is held to: bounds where the host has no more.
  int32_t query_len(int32_t i) const { return measured(i).max_query_len; }
  int32_t seq_len(int32_t i) const { return measured(i).max_seq_len; }
  Facts measured(int32_t i) const {
    return measure(lanes_, {i, i + 1}, *evidence_.planner.state().isa);
  }

  const Evidence& evidence_;
  const Config& config_;
  const Contract& contract_;
  const Kernel& kernel_;
  const Lanes& lanes_;
};

}  // namespace

std::string witness(const Evidence& evidence, Reason reason) {
  return Writer(evidence).sentence(reason);
}

}  // namespace attnplan
