// "kv_cache" and "block_table".
#include <fmt/format.h>

#include "json/batch_storage.h"
#include "json/vocabulary.h"

namespace attnplan::json {
namespace {

using Cache = attnplan_kv_cache;
constexpr Field<Cache> kCacheFields[] = {
    {"layout", read_word<&Cache::layout, kLayouts, Cache>},
    {"packed", read_flag<ATTNPLAN_KV_PACKED, true, Cache>},
    {"shuffle", read_flag<ATTNPLAN_KV_SHUFFLE, true, Cache>},
    {"num_blocks", read_cache_int32<&Cache::num_blocks, Cache>},
    {"block_size", read_cache_int32<&Cache::block_size, Cache>},
    {"page_size", read_cache_int32<&Cache::page_size, Cache>},
    {"cache_dtype", read_word<&Cache::cache_dtype, kCacheDtypes, Cache>},
    {"storage_dtype", read_word<&Cache::storage_dtype, kDtypes, Cache>},
    {"view_dtype", read_word<&Cache::view_dtype, kDtypes, Cache>},
    {"consumer",
     [](Reader& reader, const Place& place, Cache& cache) {
       if (reader.word(place, kConsumers) == 1) cache.flags |= ATTNPLAN_KV_TYPED;
     }},
    {"scale", read_word<&Cache::scale, kScales, Cache>},
    {"k_pages", read_int64<&Cache::k_pages, Cache>},
    {"v_pages", read_int64<&Cache::v_pages, Cache>},
    {"k_scale_pages", read_int64<&Cache::k_scale_pages, Cache>},
    {"v_scale_pages", read_int64<&Cache::v_scale_pages, Cache>},
    {"block_stride", read_int64<&Cache::block_stride, Cache>},
    {"offset_limit",
     [](Reader& reader, const Place& place, Cache& cache) {
       const OffsetLimit limit = read_offset_limit(reader, place);
       cache.offset_unit = limit.unit;
       cache.offset_max = limit.max;
     }},
};

constexpr Field<BlockTable> kTableFields[] = {
    {"columns",
     [](Reader& reader, const Place& place, BlockTable& table) {
       table.has_columns = true;
       table.columns = reader.count(place);
     }},
    {"rows",
     [](Reader& reader, const Place& place, BlockTable& table) {
       table.has_rows = true;
       reader.for_each_element(place, [&](const Place& row) {
         const size_t before = table.ids.size();
         reader.saturating_ints(row, table.ids, table.wide_ids);
         table.row_sizes.push_back(static_cast<int32_t>(table.ids.size() - before));
       });
     }},
    {"indptr",
     [](Reader& reader, const Place& place, BlockTable& table) {
       table.has_indptr = true;
       reader.saturating_ints(place, table.indptr, table.wide_starts);
     }},
    {"ids",
     [](Reader& reader, const Place& place, BlockTable& table) {
       table.has_ids = true;
       reader.saturating_ints(place, table.ids, table.wide_ids);
     }},
    {"check_ids", [](Reader& reader, const Place& place,
                     BlockTable& table) { table.check_ids = reader.boolean(place); }},
};

void check_rows(Reader& reader, const Place& place, const BlockTable& table, int32_t num_reqs) {
  const Place rows = reader.member(place, "rows");
  const auto count = static_cast<int64_t>(table.row_sizes.size());
  if (count != num_reqs) {
    return reader.fail(rows, fmt::format("has {} rows, the batch has {} requests", count, num_reqs),
                       count, num_reqs);
  }
  reader.for_each_element(rows, [&](const Place& row) {
    const int32_t size = table.row_sizes[static_cast<size_t>(row.index)];
    if (size == table.columns) return;
    reader.fail(row, fmt::format("has {} ids, \"columns\" is {}", size, table.columns), size,
                table.columns);
  });
}

void check_indptr(Reader& reader, const Place& place, const BlockTable& table, int32_t num_reqs) {
  const Place where = reader.member(place, "indptr");
  const std::vector<int32_t>& indptr = table.indptr;
  const auto size = static_cast<int64_t>(indptr.size());
  if (size != int64_t{num_reqs} + 1) {
    return reader.fail(where,
                       fmt::format("has {} values, expected {} for {} requests", size,
                                   int64_t{num_reqs} + 1, num_reqs),
                       size, int64_t{num_reqs} + 1);
  }
  if (!table.wide_starts.empty()) return reader.fail(table.wide_starts.front());
  if (indptr.front() != 0) return reader.fail(where, "does not start at 0", indptr.front(), 0);
  for (size_t i = 1; i < indptr.size(); ++i) {
    if (indptr[i] < indptr[i - 1]) {
      return reader.fail(
          where, fmt::format("decreases from {} to {} at entry {}", indptr[i - 1], indptr[i], i),
          indptr[i], indptr[i - 1]);
    }
  }
  const auto ids = static_cast<int64_t>(table.ids.size());
  if (indptr.back() != ids) {
    reader.fail(where, fmt::format("ends at {}, \"ids\" has {} values", indptr.back(), ids),
                indptr.back(), ids);
  }
}

}  // namespace

OffsetLimit read_offset_limit(Reader& reader, const Place& place) {
  static constexpr Field<OffsetLimit> kFields[] = {
      {"unit", read_word<&OffsetLimit::unit, kOffsetUnits, OffsetLimit>},
      {"max", read_int64<&OffsetLimit::max, OffsetLimit>},
  };
  OffsetLimit limit;
  reader.object(place, kFields, limit);
  reader.require(place, "unit");
  reader.require(place, "max");
  return limit;
}

void read_kv_cache(Reader& reader, const Place& place, BatchStorage& batch) {
  reader.object(place, kCacheFields, batch.kv_cache);
  reader.require(place, "num_blocks");
  reader.require(place, "block_size");
  batch.config.kv_cache = &batch.kv_cache;
}

void read_block_table(Reader& reader, const Place& place, BatchStorage& batch) {
  BlockTable& table = batch.table;
  reader.object(place, kTableFields, table);
  const bool csr = table.has_indptr || table.has_ids;
  if (csr && (table.has_columns || table.has_rows)) {
    return reader.fail(place,
                       "has both forms, expected \"columns\" and \"rows\", or \"indptr\" and"
                       " \"ids\"");
  }
  reader.require(place, csr ? "indptr" : "columns");
  if (csr) reader.require(place, "ids");
}

void finish_block_table(Reader& reader, const Place& place, BatchStorage& batch) {
  BlockTable& table = batch.table;
  attnplan_group& group = batch.group;
  const int32_t num_reqs = batch.step.num_reqs;
  if (!table.check_ids) group.flags |= ATTNPLAN_GROUP_SKIP_ID_CHECK;
  if (table.has_rows) check_rows(reader, place, table, num_reqs);
  if (table.has_indptr) check_indptr(reader, place, table, num_reqs);
  // Nobody would notice that it is not the one that was meant.
  if (!table.check_ids && !table.wide_ids.empty()) reader.fail(table.wide_ids.front());
  if (reader.error()) return;
  // The C structs read zero columns as "no table": a table without room is said as an empty CSR.
  if (table.has_columns && table.columns == 0) {
    table.indptr.assign(static_cast<size_t>(num_reqs) + 1, 0);
  }
  table.ids.reserve(1);  // never a null pointer
  if (!table.indptr.empty()) {
    group.block_indptr = table.indptr.data();
    group.block_ids = table.ids.data();
    return;
  }
  group.columns = table.columns;
  if (table.has_rows) group.block_ids = table.ids.data();
}

}  // namespace attnplan::json
