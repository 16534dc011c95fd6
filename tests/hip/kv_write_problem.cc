#include "hip/kv_write_problem.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "attnplan_hip.h"
#include "hip/launch.h"
#include "hip/memory.h"
#include "hip/runtime.h"

namespace attnplan::hip_test {
namespace {

void check(attnplan_status status, const attnplan_error& error, const char* what) {
  if (status != ATTNPLAN_OK) throw std::runtime_error(std::string(what) + ": " + error.message);
}

class Writing {
 public:
  explicit Writing(const KvWriteCase& c)
      : data_(c),
        verify_(c.contents % 3 == 0),
        cache_(data_.cache.size(), kUntouched),
        k_scales_(data_.scales[0].size(), kUntouched),
        v_scales_(data_.scales[1].size(), kUntouched),
        index_(data_.index.size(), kUntouched),
        report_(sizeof(attnplan_hip_report), 0) {
    slots_ = data_.slots;
    // One row more, on the first page behind the cache.
    if (verify_)
      slots_.push_back(int64_t{c.num_blocks} * data_.layout.block_page_stride * c.page_size);
    slot_rows_ = std::make_unique<Buffer>(slots_.size() * 8, 0xff);
    slot_rows_->write(0, slots_.data(), slots_.size() * 8);
    for (int i = 0; i < 3; ++i) {
      std::vector<uint16_t> codes = data_.rows[i].codes;
      codes.resize(slots_.size() * static_cast<size_t>(data_.rows[i].row_stride), 0x3f80);
      rows_[i] = std::make_unique<Buffer>(codes.size() * 2, 0xff);
      rows_[i]->write(0, codes.data(), codes.size() * 2);
    }
  }

  Verdict go() {
    run();
    compare("the cache", cache_, data_.cache);
    compare("K's scales", k_scales_, data_.scales[0]);
    compare("V's scales", v_scales_, data_.scales[1]);
    compare("the index", index_, data_.index);
    for (const Buffer* input :
         {rows_[0].get(), rows_[1].get(), rows_[2].get(), slot_rows_.get(), &report_}) {
      if (!input->guards_intact()) fail("written beside an input or the report");
    }
    int32_t bad_pages;
    const std::vector<uint8_t> bytes = report_.read(offsetof(attnplan_hip_report, bad_pages), 4);
    std::memcpy(&bad_pages, bytes.data(), 4);
    if (bad_pages != (verify_ ? 1 : 0)) fail("bad_pages is " + std::to_string(bad_pages));
    verdict_.judged = static_cast<int64_t>(slots_.size());
    return verdict_;
  }

 private:
  void run() {
    const KvWriteCase& c = data_.c;
    const std::string arch = device_arch();
    const attnplan_kv_cache kv_cache = cache_of(c);
    attnplan_hip_attention attention = ATTNPLAN_HIP_ATTENTION_INIT;
    attention.kv_cache = &kv_cache;
    attention.arch = arch.c_str();
    attention.q_dtype = dtype_of(c.source);
    attention.num_q_heads = attention.num_kv_heads = c.num_kv_heads;
    attention.head_size = c.head_size;
    attention.v_head_size = c.v_head_size;
    attention.k_scale = data_.rows[0].scale;
    attention.v_scale = data_.rows[1].scale;

    attnplan_hip_kv kv = ATTNPLAN_HIP_KV_INIT;
    auto* const cache = static_cast<uint8_t*>(cache_.device());
    kv.k = cache;
    // Every second time the library finds V behind K by itself.
    if (c.contents % 2 == 0) kv.v = cache + data_.layout.v.base * bytes_of(c.cache);
    const KvScaleStrides& strides = data_.scale_strides;
    const auto scales = [&](const Buffer& buffer) -> attnplan_hip_token_scales {
      auto* const to = static_cast<float*>(buffer.device());
      if (c.dense) return {to, 0, 0, 0};
      return {to, strides.page, strides.head, strides.token};
    };
    if (c.token_scales()) {
      kv.k_scales = scales(k_scales_);
      kv.v_scales = scales(v_scales_);
    }
    attnplan_hip_index index = ATTNPLAN_HIP_INDEX_INIT;
    index.k = index_.device();
    index.k_scale = data_.rows[2].scale;

    attnplan_hip_kv_write_args args = ATTNPLAN_HIP_KV_WRITE_ARGS_INIT;
    args.attention = &attention;
    args.kv = &kv;
    args.index = &index;
    args.k = rows_[0]->device();
    args.v = rows_[1]->device();
    args.index_k = rows_[2]->device();
    args.slots = static_cast<const int64_t*>(slot_rows_->device());
    args.report = static_cast<attnplan_hip_report*>(report_.device());
    args.num_rows = static_cast<int32_t>(slots_.size());
    args.flags = verify_ ? ATTNPLAN_HIP_VERIFY : 0;
    if (!c.dense) {
      args.k_row_stride = data_.rows[0].row_stride;
      args.k_head_stride = data_.rows[0].head_stride;
      args.v_row_stride = data_.rows[1].row_stride;
      args.v_head_stride = data_.rows[1].head_stride;
      args.index_k_row_stride = data_.rows[2].row_stride;
    }
    attnplan_error error = ATTNPLAN_ERROR_INIT;
    check(attnplan_hip_kv_write(&args, nullptr, &error), error, "kv_write");
    const int failed = hip::synchronize(nullptr);
    if (failed != 0) throw std::runtime_error(std::string("kv_write: ") + hip::describe(failed));
  }

  void compare(const char* what, const Buffer& found, const std::vector<uint8_t>& expected) {
    fail(first_difference(what, found.read(0, found.bytes()), expected));
    if (!found.guards_intact()) fail(std::string("written beside ") + what);
  }
  void fail(const std::string& what) {
    if (!what.empty()) verdict_.failures.push_back(what);
  }

  const KvWriteData data_;
  const bool verify_;
  std::vector<int64_t> slots_;
  std::unique_ptr<Buffer> rows_[3], slot_rows_;
  Buffer cache_, k_scales_, v_scales_, index_, report_;
  Verdict verdict_;
};

}  // namespace

Verdict solve_kv_write(const KvWriteCase& c) {
  try {
    return Writing(c).go();
  } catch (const std::exception& error) {
    Verdict verdict;
    verdict.failures.push_back(error.what());
    return verdict;
  }
}

}  // namespace attnplan::hip_test
