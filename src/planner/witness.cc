#include "planner/witness.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "planner/measure.h"
#include "planner/state.h"

namespace attnplan {
namespace {

constexpr const char* kLayoutNames[] = {"lbnhc", "lbhnc", "lhbnc", "blhnc",
                                        "blnhc", "bhlnc", "mla"};
constexpr const char* kFeatureNames[] = {"sinks", "soft_cap", "alibi", "lse"};
constexpr const char* kScaleNames[] = {"none", "tensor", "head", "token_head", "token_inline"};
constexpr const char* kMaskNames[] = {"causal", "full"};

const char* rows(int64_t count) { return count == 1 ? "row" : "rows"; }

class Writer {
 public:
  Writer(const Evidence& evidence, Witness* out)
      : evidence_(evidence),
        config_(evidence.state.config),
        contract_(evidence.state.planner.contract(evidence.kernel)),
        kernel_(evidence.state.kernels[static_cast<size_t>(evidence.kernel)]),
        lanes_(evidence.lanes),
        out_(*out) {}

  void write(Reason reason) {
    switch (reason) {
      case Reason::kRagged:
        return ragged();
      case Reason::kInteriorPad:
        return interior_pad();
      case Reason::kQueryLensNotExact:
        return query_not_exact();
      case Reason::kWidthUnsupported:
        return width_unsupported();
      case Reason::kGroupTooWide:
        return group_too_wide();
      case Reason::kContextUnsupported:
        return context_unsupported();
      case Reason::kSeqLensNotExact:
      case Reason::kSeqTooLong:
        return about_seq_len(reason);
      case Reason::kTooFewRequests:
      case Reason::kTooManyRequests:
        return about_count(reason);
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
  template <typename... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    out_.text.add(format, std::forward<Args>(args)...);
  }
  // What the sentence is about, for whoever wants numbers.
  void blame(int32_t position, int64_t value, int64_t limit) {
    out_.request = position < 0 ? -1 : request(position);
    out_.value = value;
    out_.limit = limit;
  }

  void ragged() {
    const int32_t head = first([](int32_t) { return true; });
    const int32_t other =
        first([&](int32_t i) { return lanes_.query_lens[i] != lanes_.query_lens[head]; });
    const int32_t found = lanes_.query_lens[other], expected = lanes_.query_lens[head];
    blame(other, found, expected);
    say("request {} has {} {}, request {} has {}", request(other), found, rows(found),
        request(head), expected);
  }

  void interior_pad() {
    int32_t pad = evidence_.range.begin;
    while (pad + 1 < evidence_.range.end && lanes_.query_lens[pad] != 0) ++pad;
    blame(pad, 0, 0);
    say("request {} is a pad between live requests", request(pad));
  }

  void query_not_exact() {
    const int32_t at = first([this](int32_t i) { return query_inexact(i); });
    blame(at, lanes_.query_bound, 1);
    for (int32_t i = evidence_.range.end; !kernel_.uniform && i < lanes_.n; ++i) {
      if (!query_inexact(i)) continue;
      return say("rows may move between request {} and request {}", request(at), request(i));
    }
    say("request {} has 1 to {} {}, the device decides", request(at), lanes_.query_bound,
        rows(lanes_.query_bound));
  }

  void width_unsupported() {
    const int32_t wide = find([this](int32_t i) { return query_len(i) > kernel_.max_query_len; });
    if (wide >= 0) {
      const int32_t found = query_len(wide);
      blame(wide, found, contract_.max_query_len);
      return say("request {} {} {} {}, limit {}", request(wide), has(wide), found, rows(found),
                 contract_.max_query_len);
    }
    const int32_t odd = find([this](int32_t i) {
      return !query_inexact(i) && !kernel_.admits_width(lanes_.query_lens[i]);
    });
    if (odd >= 0) {
      const int32_t found = lanes_.query_lens[odd];
      blame(odd, found, 0);
      say("request {} has {} {}, admitted: ", request(odd), found, rows(found));
    } else {
      int32_t width = 1;  // of those an inexact request may have
      while (width < lanes_.query_bound && kernel_.admits_width(width)) ++width;
      const int32_t at = first([this](int32_t i) { return query_inexact(i); });
      blame(at, width, 0);
      say("request {} may have {} {}, admitted: ", request(at), width, rows(width));
    }
    list(contract_.query_lens);
  }

  void group_too_wide() {
    const int64_t group = config_.num_q_heads / config_.num_kv_heads;
    const int32_t at =
        first([this](int32_t i) { return query_len(i) > kernel_.max_query_len_by_group; });
    const int64_t found = query_len(at);
    blame(at, found * group, contract_.max_query_len_x_group);
    say("request {} {} {} {} x group of {} = {}, limit {}", request(at), has(at), found,
        rows(found), group, found * group, contract_.max_query_len_x_group);
  }

  void context_unsupported() {
    if (contract_.context == Context::kSome) {
      const int32_t at = first([this](int32_t i) { return lanes_.context_lens[i] == 0; });
      blame(at, 0, 1);
      return say("request {} has no context, the kernel needs some", request(at));
    }
    const int32_t at = first([this](int32_t i) { return lanes_.context_lens[i] > 0; });
    blame(at, lanes_.context_lens[at], 0);
    say("request {} has {} tokens of context, the kernel takes none", request(at),
        lanes_.context_lens[at]);
  }

  void about_seq_len(Reason reason) {
    if (reason == Reason::kSeqLensNotExact) {
      const int32_t at = first([this](int32_t i) { return inexact(i, kSeqInexact); });
      blame(at, seq_len(at), 0);
      return say("the seq_len of request {}, {}, is only a bound", request(at), seq_len(at));
    }
    const int32_t at = first([this](int32_t i) { return seq_len(i) > kernel_.max_seq_len; });
    blame(at, seq_len(at), contract_.max_seq_len);
    say("request {} has seq_len {}, limit {}", request(at), seq_len(at), contract_.max_seq_len);
  }

  void about_count(Reason reason) {
    const int32_t live = num_live();
    const char* const noun = live == 1 ? "request" : "requests";
    const bool few = reason == Reason::kTooFewRequests;
    blame(first([](int32_t) { return true; }), live,
          few ? contract_.min_requests : contract_.max_requests);
    if (few) return say("{} live {}, at least {} needed", live, noun, contract_.min_requests);
    say("{} live {}, limit {}", live, noun, contract_.max_requests);
  }

  void about_group(Reason reason) {
    switch (reason) {
      case Reason::kGroupUnsupported:
        out_.value = config_.num_q_heads / config_.num_kv_heads;
        say("{} query heads per KV head, admitted: ", out_.value);
        return list(contract_.groups);
      case Reason::kHeadSizeUnsupported:
        out_.value = config_.head_size;
        say("head size {} (V: {}), admitted: ", config_.head_size, config_.v_head_size);
        return head_sizes();
      case Reason::kArchUnsupported:
        say("the device is {}, admitted: ", std::string_view{config_.arch});
        return archs();
      case Reason::kMaskUnsupported:
        say("the mask is {}, admitted: ", kMaskNames[static_cast<int32_t>(config_.mask)]);
        return set(contract_.masks.value_or(1u), kMaskNames);
      case Reason::kWindowUnsupported:
        out_.value = config_.sliding_window;
        return say("the group has a sliding window of {} tokens", config_.sliding_window);
      default:  // kFeatureUnsupported
        say("the group needs ");
        set(config_.features & ~contract_.features, kFeatureNames);
        say(", the kernel has ");
        return set(contract_.features, kFeatureNames);
    }
  }

  void about_cache(Reason reason) {
    if (!config_.kv_cache || !evidence_.state.view) return say("no cache is described");
    const KvCache& cache = *config_.kv_cache;
    const KvView& view = *evidence_.state.view;
    switch (reason) {
      case Reason::kBlockSizeUnsupported:
        out_.value = cache.block_size;
        say("blocks of {} tokens, admitted: ", cache.block_size);
        return list(contract_.block_sizes);
      case Reason::kPageSizeUnsupported:
        return page_size_unsupported(cache);
      case Reason::kDtypeUnsupported:
        return dtype_unsupported(cache, view);
      case Reason::kLayoutUnsupported:
        out_.value = static_cast<int64_t>(cache.layout);
        say("the layout is {}, admitted: ", kLayoutNames[static_cast<int32_t>(cache.layout)]);
        return set(contract_.layouts.value_or(0), kLayoutNames);
      case Reason::kTileMisaligned:
        blame(-1, kernel_.page_size, contract_.tile_tokens);
        return say("pages of {} tokens are no multiple of the tile of {}", kernel_.page_size,
                   contract_.tile_tokens);
      default:  // kOffsetOverflow
        return offset_overflow(view);
    }
  }

  void page_size_unsupported(const KvCache& cache) {
    if (cache.page_size == 0) {
      blame(-1, 0, cache.block_size);
      say("no page size of ");
      list(contract_.page_sizes);
      return say(" divides the block of {} tokens", cache.block_size);
    }
    out_.value = cache.page_size;
    say("pages of {} tokens, admitted: ", cache.page_size);
    list(contract_.page_sizes);
  }

  void offset_overflow(const KvView& view) {
    const bool elements = contract_.offset_limit.unit == OffsetUnit::kElements;
    const int64_t bytes = bytes_per_element(view.storage_dtype);
    const int64_t last = elements ? view.last_offset : view.last_offset * bytes + bytes - 1;
    blame(-1, last, contract_.offset_limit.max);
    say("the last {} of the cache is {}, limit {}", elements ? "element" : "byte", last,
        contract_.offset_limit.max);
  }

  void dtype_unsupported(const KvCache& cache, const KvView& view) {
    const auto dtype = static_cast<int32_t>(view.view_dtype);
    if ((contract_.dtypes.value_or(~0u) >> dtype & 1u) == 0) {
      out_.value = dtype;
      say("the cache is viewed as {}, admitted: ", name(view.view_dtype));
      return dtypes();
    }
    out_.value = static_cast<int64_t>(cache.scale);
    say("the scale of the cache is {}, admitted: ", kScaleNames[static_cast<int32_t>(cache.scale)]);
    set(contract_.scales.value_or(0), kScaleNames);
  }

  void head_sizes() {
    if (!contract_.v_head_sizes || !contract_.head_sizes) return list(contract_.head_sizes);
    const size_t pairs = std::min(contract_.head_sizes->size(), contract_.v_head_sizes->size());
    for (size_t i = 0; i < pairs; ++i) {
      say("{}{}/{}", i == 0 ? "" : ", ", (*contract_.head_sizes)[i], (*contract_.v_head_sizes)[i]);
    }
    if (pairs == 0) say("none");
  }

  // Lists, or "none".
  void list(const IntList& values) {
    if (!values || values->empty()) return say("none");
    say("{}", fmt::join(*values, ", "));
  }
  template <size_t kCount>
  void set(uint32_t bits, const char* const (&names)[kCount]) {
    const char* separator = "";
    for (size_t i = 0; i < kCount; ++i) {
      if ((bits >> i & 1u) == 0) continue;
      say("{}{}", separator, names[i]);
      separator = ", ";
    }
    if (*separator == 0) say("none");
  }
  void archs() {
    if (!contract_.archs) return say("any");
    if (contract_.archs->empty()) return say("none");
    const char* separator = "";
    for (const auto& arch : *contract_.archs) {
      say("{}{}", separator, std::string_view{arch});
      separator = ", ";
    }
  }
  void dtypes() {
    const char* separator = "";
    for (int32_t dtype = 1; dtype < 32; ++dtype) {
      if ((contract_.dtypes.value_or(0) >> dtype & 1u) == 0) continue;
      const char* const word = name(static_cast<Dtype>(dtype));
      if (word[0] == '?') continue;
      say("{}{}", separator, word);
      separator = ", ";
    }
    if (*separator == 0) say("none");
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

  int32_t request(int32_t position) const { return lanes_.input_request(position); }

  bool inexact(int32_t i, uint8_t bit) const { return lanes_.inexact && (lanes_.inexact[i] & bit); }
  bool query_inexact(int32_t i) const { return inexact(i, kQueryInexact); }
  const char* has(int32_t i) const { return query_inexact(i) ? "may have" : "has"; }
  // The figures a contract is held to: bounds where the host has no more.
  int32_t query_len(int32_t i) const { return measured(i).max_query_len; }
  int32_t seq_len(int32_t i) const { return measured(i).max_seq_len; }
  Facts measured(int32_t i) const { return measure(lanes_, {i, i + 1}, *evidence_.state.isa); }

  const Evidence& evidence_;
  const Config& config_;
  const Contract& contract_;
  const Kernel& kernel_;
  const Lanes& lanes_;
  Witness& out_;
};

}  // namespace

Witness witness(const Evidence& evidence, Reason reason) {
  Witness out;
  Writer(evidence, &out).write(reason);
  return out;
}

void add_refusal(const Evidence& evidence, Reason reason, Sentence* sentence) {
  const Witness found = witness(evidence, reason);
  sentence->add("{} refused: {}, {}",
                std::string_view{evidence.state.planner.contract(evidence.kernel).name},
                name(reason), found.text.view());
}

}  // namespace attnplan
