#include "kv/dtype.h"

namespace attnplan {
namespace {

bool reads_fnuz(std::string_view arch) {
  return arch == "gfx940" || arch == "gfx941" || arch == "gfx942";
}

bool is_fp8(Dtype dtype) { return dtype >= Dtype::kE4m3fn; }

}  // namespace

int32_t bytes_per_element(Dtype dtype) {
  return dtype == Dtype::kBf16 || dtype == Dtype::kFp16 ? 2 : 1;
}

DtypePair derive_dtypes(CacheDtype cache_dtype, Dtype storage, std::string_view arch) {
  const Dtype e4m3 = reads_fnuz(arch) ? Dtype::kE4m3fnuz : Dtype::kE4m3fn;
  const Dtype e5m2 = reads_fnuz(arch) ? Dtype::kE5m2fnuz : Dtype::kE5m2;
  const auto stored_as = [storage](Dtype unless_given) {
    return storage == Dtype::kNone ? unless_given : storage;
  };
  switch (cache_dtype) {
    case CacheDtype::kFp16:
      return {stored_as(Dtype::kFp16), Dtype::kFp16};
    case CacheDtype::kFp8:
    case CacheDtype::kFp8E4m3:
      return {stored_as(Dtype::kUint8), e4m3};
    case CacheDtype::kFp8E5m2:
      return {stored_as(Dtype::kUint8), e5m2};
    case CacheDtype::kFp8Inc:
      return {stored_as(e4m3), is_fp8(storage) ? storage : e4m3};
    case CacheDtype::kAuto:
    case CacheDtype::kBf16:
      break;
  }
  return {stored_as(Dtype::kBf16), Dtype::kBf16};
}

}  // namespace attnplan
