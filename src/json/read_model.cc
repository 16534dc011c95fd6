// The members that describe the KV group and its device: "heads", "device", "limits".
#include "json/batch_storage.h"
#include "json/vocabulary.h"

namespace attnplan::json {
namespace {

using Config = attnplan_config;

constexpr Field<Config> kHeadFields[] = {
    {"num_q_heads", read_positive<&Config::num_q_heads, Config>},
    {"num_kv_heads", read_positive<&Config::num_kv_heads, Config>},
    {"head_size", read_int32<&Config::head_size, Config>},
    {"v_head_size", read_int32<&Config::v_head_size, Config>},
};

constexpr Field<Config> kLimitFields[] = {
    {"max_model_len", read_int32<&Config::max_model_len, Config>},
    {"max_num_seqs", read_int32<&Config::max_num_seqs, Config>},
    {"max_num_batched_tokens", read_int32<&Config::max_num_batched_tokens, Config>},
    {"max_sections_bytes", read_int64<&Config::max_sections_bytes, Config>},
};

constexpr Field<BatchStorage> kDeviceFields[] = {
    {"arch", [](Reader& reader, const Place& place,
                BatchStorage& batch) { batch.config.arch = batch.keep(reader.c_string(place)); }},
    {"num_workers", [](Reader& reader, const Place& place,
                       BatchStorage& batch) { batch.config.num_workers = reader.int32(place); }},
};

constexpr Field<Config> kContextParallelFields[] = {
    {"world", read_int32<&Config::context_parallel_world, Config>},
    {"rank", read_int32<&Config::context_parallel_rank, Config>},
    {"interleave", read_int32<&Config::context_parallel_interleave, Config>},
};

}  // namespace

void read_heads(Reader& reader, const Place& place, BatchStorage& batch) {
  reader.object(place, kHeadFields, batch.config);
}

void read_limits(Reader& reader, const Place& place, BatchStorage& batch) {
  reader.object(place, kLimitFields, batch.config);
}

void read_device(Reader& reader, const Place& place, BatchStorage& batch) {
  reader.object(place, kDeviceFields, batch);
}

void read_context_parallel(Reader& reader, const Place& place, BatchStorage& batch) {
  reader.object(place, kContextParallelFields, batch.config);
  reader.require(place, "world");
  reader.require(place, "rank");
}

void read_features(Reader& reader, const Place& place, BatchStorage& batch) {
  batch.config.features = reader.word_set(place, kFeatures);
}

}  // namespace attnplan::json
