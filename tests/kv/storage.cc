#include "storage.h"

#include <array>

namespace attnplan::kv_test {
namespace {

// Letters of one nest of loops, outermost first: S which of K and V, B block, J page of the block,
// L layer, H head, T token of the page, C element of the row. Lower case: the minor part of a split
// token or element, X elements long.
struct Nest {
  std::string pages;  // loops over pages, S left out where K and V lie apart
  std::string k;      // loops inside a page
  std::string v;
};

std::string inside_page(const SmallCache& cache, Tensor tensor) {
  std::string heads, rows = "TC";
  switch (cache.layout) {
    case ATTNPLAN_LAYOUT_LBHNC:
      heads = "H";
      break;
    case ATTNPLAN_LAYOUT_BLHNC:
    case ATTNPLAN_LAYOUT_BLNHC:
      heads = "LH";
      break;
    case ATTNPLAN_LAYOUT_BHLNC:
      heads = "HL";
      break;
    case ATTNPLAN_LAYOUT_LBNHC:
      heads = "H";
      break;
    default:  // planes of head slots, latent rows
      break;
  }
  if (cache.shuffle) return heads + (tensor == Tensor::kK ? "CTc" : "TCt");
  if (cache.layout == ATTNPLAN_LAYOUT_LBNHC) return "THC";
  if (cache.layout == ATTNPLAN_LAYOUT_BLNHC) return "LTHC";
  return heads + rows;
}

Nest nest_of(const SmallCache& cache) {
  Nest nest;
  nest.pages = cache.layout == ATTNPLAN_LAYOUT_LHBNC ? "HBJ" : cache.packed ? "BSJ" : "BJ";
  nest.k = inside_page(cache, Tensor::kK);
  nest.v = inside_page(cache, Tensor::kV);
  return nest;
}

using Indices = std::array<int64_t, 128>;  // by letter

// Runs the loops of `letters` from the one at `depth` on, the last one fastest.
template <typename Body>
void loop(const std::string& letters, size_t depth, const Indices& sizes, Indices* at,
          const Body& body) {
  if (depth == letters.size()) return body(*at);
  const size_t letter = static_cast<size_t>(letters[depth]);
  for (int64_t i = 0; i < sizes[letter]; ++i) {
    (*at)[letter] = i;
    loop(letters, depth + 1, sizes, at, body);
  }
}

class Writer {
 public:
  Writer(const SmallCache& cache, std::vector<Placed>* out) : cache_(cache), out_(out) {}

  // K's storage, V's storage, or with nullptr the one that holds both.
  void write_storage(const Tensor* only) {
    const Nest nest = nest_of(cache_);
    Indices sizes = {};
    sizes['S'] = 2;
    sizes['B'] = cache_.blocks;
    sizes['J'] = cache_.pages_per_block();
    sizes['H'] = cache_.heads;
    int64_t block = 0;
    Indices at = {};
    loop(nest.pages, 0, sizes, &at, [&](Indices& page) {
      if (page['B'] != block) next_ += cache_.block_padding;
      block = page['B'];
      const Tensor tensor = only != nullptr ? *only : (page['S'] == 0 ? Tensor::kK : Tensor::kV);
      write_page(tensor, tensor == Tensor::kK ? nest.k : nest.v, nest.pages, page);
    });
    next_ += cache_.block_padding;
  }

 private:
  Indices page_sizes(Tensor tensor) const {
    const int64_t row = tensor == Tensor::kK ? cache_.k_size : cache_.v_size;
    const int64_t run = 16 / cache_.element_bytes;
    Indices sizes = {};
    sizes['L'] = cache_.layers;
    sizes['H'] = cache_.heads;
    sizes['T'] = cache_.page_size;
    sizes['C'] = row;
    if (!cache_.shuffle) return sizes;
    sizes[tensor == Tensor::kK ? 'C' : 'T'] /= run;
    sizes[tensor == Tensor::kK ? 'c' : 't'] = run;
    return sizes;
  }

  void write_page(Tensor tensor, const std::string& letters, const std::string& outer,
                  Indices page) {
    const int64_t begin = next_;
    const int64_t run = 16 / cache_.element_bytes;
    const bool split_tokens = letters.find('t') != std::string::npos;
    const bool split_rows = letters.find('c') != std::string::npos;
    loop(letters, 0, page_sizes(tensor), &page, [&](Indices& at) {
      Placed placed;
      placed.what.tensor = tensor;
      placed.what.layer = at['L'];
      placed.what.block = at['B'];
      placed.what.head = at['H'];
      const int64_t token = split_tokens ? at['T'] * run + at['t'] : at['T'];
      placed.what.token = at['J'] * cache_.page_size + token;
      placed.what.element = split_rows ? at['C'] * run + at['c'] : at['C'];
      placed.address = next_++;
      out_->push_back(placed);
    });
    const int64_t heads = outer.find('H') != std::string::npos ? 1 : cache_.heads;
    next_ = begin + cache_.layers * heads * cache_.page_size * cache_.row();
  }

  const SmallCache& cache_;
  std::vector<Placed>* out_;
  int64_t next_ = 0;
};

// V of a latent row is its beginning.
void add_prefixes(const SmallCache& cache, std::vector<Placed>* out) {
  const std::vector<Placed> rows = *out;
  for (Placed placed : rows) {
    if (placed.what.element >= cache.v_size) continue;
    placed.what.tensor = Tensor::kV;
    out->push_back(placed);
  }
}

}  // namespace

int64_t SmallCache::block_elements() const {
  const int64_t tensors = packed ? 2 : 1;
  return tensors * layers * heads * block_size * row() + block_padding;
}

std::string SmallCache::describe() const {
  static const char* const kNames[] = {"lbnhc", "lbhnc", "lhbnc", "blhnc", "blnhc", "bhlnc", "mla"};
  return std::string(kNames[layout]) + (packed ? " packed" : "") + (shuffle ? " shuffle" : "") +
         " page " + std::to_string(page_size) + " bytes " + std::to_string(element_bytes) + " K " +
         std::to_string(k_size) + " V " + std::to_string(v_size) + " layers " +
         std::to_string(layers) + " padding " + std::to_string(block_padding);
}

std::vector<Placed> enumerate(const SmallCache& cache) {
  std::vector<Placed> out;
  Writer writer(cache, &out);
  if (cache.packed) {
    writer.write_storage(nullptr);
    return out;
  }
  const Tensor k = Tensor::kK, v = Tensor::kV;
  writer.write_storage(&k);
  if (cache.layout == ATTNPLAN_LAYOUT_MLA) {
    add_prefixes(cache, &out);
  } else {
    writer.write_storage(&v);
  }
  return out;
}

}  // namespace attnplan::kv_test
