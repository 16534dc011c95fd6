#include "tool/kv_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "json/vocabulary.h"
#include "tool/one_line.h"

namespace attnplan::tool {
namespace {

// The first word of a list that has this number: aliases come later.
template <size_t kCount>
std::string_view word_of(const json::Word (&words)[kCount], int64_t value) {
  const auto found = std::find_if(std::begin(words), std::end(words),
                                  [value](const json::Word& word) { return word.value == value; });
  return found == std::end(words) ? std::string_view{"?"} : found->text;
}

std::string pages(int64_t count) { return fmt::format("{} page{}", count, count == 1 ? "" : "s"); }

std::string blocks_sentence(const attnplan_kv_cache& cache, const attnplan_kv_view& view) {
  const std::string_view layout = word_of(json::kLayouts, cache.layout);
  if (cache.page_size == 0) {
    return fmt::format(
        "Layout {}, {} blocks of {} tokens. No page size is given: every kernel gets its own, and"
        " a page of these figures is a whole block.",
        layout, cache.num_blocks, cache.block_size);
  }
  return fmt::format("Layout {}, {} blocks of {} tokens, pages of {} tokens: {} / {} = {} a block.",
                     layout, cache.num_blocks, cache.block_size, view.page_size, cache.block_size,
                     view.page_size, pages(view.pages_per_block));
}

std::string stride_sentence(const attnplan_kv_cache& cache, const attnplan_kv_view& view) {
  if (view.packed != 0) {
    return fmt::format(
        "Packed: inside a block all K pages come first, then all V pages, so the next block begins"
        " 2 x {} = {} later.",
        view.pages_per_block, pages(view.block_page_stride));
  }
  if (cache.layout == ATTNPLAN_LAYOUT_MLA) {
    return fmt::format(
        "One latent row a token, of which V is a prefix: both views are the same pages, and the"
        " next block begins {} later.",
        pages(view.block_page_stride));
  }
  return fmt::format(
      "Not packed: K and V are views of their own, and in each the next block begins"
      " {} later.",
      pages(view.block_page_stride));
}

std::string ids_sentence(const attnplan_kv_cache& cache, const attnplan_kv_view& view) {
  return fmt::format(
      "Page j of block b has the id b x {0} + j, for K and for V alike. The largest id that a block"
      " table can expand to is {1} x {0} + {2} = {3}.",
      view.block_page_stride, cache.num_blocks - 1, view.pages_per_block - 1, view.max_page_id);
}

std::string counts_sentence(const attnplan_kv_cache& cache, const attnplan_kv_view& view) {
  const std::string k = cache.k_pages != 0
                            ? fmt::format("The K view has {} as given.", pages(view.k_pages))
                            : fmt::format("The K view has {} x {} = {}.", cache.num_blocks,
                                          view.block_page_stride, pages(view.k_pages));
  if (cache.v_pages != 0) return k + fmt::format(" The V view has {} as given.", view.v_pages);
  if (view.packed == 0) return k + " The V view has as many.";
  return k + fmt::format(
                 " The V view begins {} later and ends where the storage ends: {} - {} = {}.",
                 pages(view.pages_per_block), int64_t{cache.num_blocks} * view.block_page_stride,
                 view.pages_per_block, pages(view.v_pages));
}

std::string trim_sentence(const attnplan_kv_view& view) {
  const std::string legal =
      fmt::format("the largest id, {}, is below {}", view.max_page_id, view.pages);
  if (view.k_pages == view.v_pages) {
    return fmt::format("Both views have the same length: nothing is trimmed, and {}.", legal);
  }
  const bool k = view.k_pages > view.v_pages;
  const int64_t dropped = std::max(view.k_pages, view.v_pages) - view.pages;
  std::string text = fmt::format(
      "A kernel that wants views of one length is handed min({}, {}) = {} of each, so the last {}"
      " of {} {} dropped. That is legal because {}: no block table leads to what is dropped.",
      view.k_pages, view.v_pages, pages(view.pages), pages(dropped), k ? "K" : "V",
      dropped == 1 ? "is" : "are", legal);
  if (view.packed != 0 && k && dropped == view.pages_per_block) {
    text += " What the K view loses is the V half of the last block.";
  }
  return text;
}

std::string dtype_sentence(const attnplan_kv_cache& cache, const attnplan_kv_view& view,
                           const char* arch) {
  std::string text = fmt::format(
      "Cache dtype {} on {}: the allocator calls the elements {}, and their bytes are {}.",
      word_of(json::kCacheDtypes, cache.cache_dtype), arch != nullptr ? one_line(arch) : "gfx950",
      attnplan_dtype_name(view.storage_dtype), attnplan_dtype_name(view.view_dtype));
  const bool typed = (cache.flags & ATTNPLAN_KV_TYPED) != 0;
  text += fmt::format(" A {} consumer is bound with the label {}.", typed ? "typed" : "raw",
                      attnplan_dtype_name(view.label));
  return text;
}

std::string offset_sentence(const attnplan_kv_cache& cache, const attnplan_kv_view& view) {
  return fmt::format("A block takes {} elements{}, so the last element is {} x {} - 1 = {}: {}.",
                     view.block_stride, cache.block_stride != 0 ? " as given" : "",
                     cache.num_blocks, view.block_stride, view.last_offset,
                     view.needs_64bit != 0 ? "beyond 2^31 - 1, offsets need 64 bits"
                                           : "within 2^31 - 1, 32 bits hold every offset");
}

}  // namespace

std::vector<std::string> kv_sentences(const attnplan_kv_cache& cache, const attnplan_kv_view& view,
                                      const char* arch) {
  std::vector<std::string> sentences = {blocks_sentence(cache, view), stride_sentence(cache, view),
                                        ids_sentence(cache, view), counts_sentence(cache, view),
                                        trim_sentence(view)};
  if (view.k_scale_pages != 0 || view.v_scale_pages != 0) {
    sentences.push_back(fmt::format("Scales per token are trimmed by the same rule: K {}, V {}.",
                                    pages(view.k_scale_pages), pages(view.v_scale_pages)));
  }
  sentences.push_back(dtype_sentence(cache, view, arch));
  sentences.push_back(offset_sentence(cache, view));
  return sentences;
}

}  // namespace attnplan::tool
