// What a call of the planner can answer besides a plan.
#pragma once

#include <cstdint>
#include <vector>

namespace attnplan {

// Numbers equal attnplan_status and attnplan_code of the C ABI (checked where they are converted).
enum class Status : int32_t {
  kOk = 0,
  kPlanError = 1,
  kInvalidArgument = 2,
  kUnimplemented = 3,
  kBufferTooSmall = 4,
  kOutOfMemory = 5,
  kInternal = 6,
};

// In the order in which the checks run.
enum class Code : int32_t {
  kNone = 0,
  kQueryStartLocInvalid,
  kValueOutOfRange,
  kSeqShorterThanQuery,
  kSeqMismatch,
  kRowCountMismatch,
  kQueryLenBoundTooSmall,
  kQueryDraftMismatch,
  kBlockTableTooNarrow,
  kPageOutOfRange,
  kNeedExactSeqLens,
  kNoRoute,
  kCapacityExceeded,
  kKvRowsUnaddressable,
  kDtypeMismatch,
  kOffsetOverflow,
  kLayoutUnsupported,
  kBlockSizeUnsupported,
  kPageSizeMismatch,
  kSeqLenClamped,
  kBadDocument,
};

const char* name(Status status);
const char* name(Code code);

// A failed call: what was found at which request, and what it was compared with. `message` is one
// sentence. Plain data, so that reporting an error allocates nothing.
struct Error {
  Error() { message[0] = 0; }

  Status status = Status::kOk;
  Code code = Code::kNone;
  int32_t request = -1;  // of the step; -1 where none is to blame
  int64_t value = 0;
  int64_t limit = 0;
  char message[512];  // empty until set

  // Formats the message (printf style) and returns `status`.
  Status set(Status status, Code code, int32_t request, int64_t value, int64_t limit,
             const char* format, ...) __attribute__((format(printf, 7, 8)));
};

}  // namespace attnplan
