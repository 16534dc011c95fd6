#include "hip/recorded.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace attnplan::hip_test {
namespace {

#if defined(ATTNPLAN_HIP_EMULATED)
constexpr bool kHasGraphs = false;
#else
constexpr bool kHasGraphs = true;
#endif

void check(int error, const char* what) {
  if (error != 0) throw std::runtime_error(std::string(what) + ": " + hip::describe(error));
}

}  // namespace

Recorded::Recorded(std::function<void(hip::Stream)> calls) : calls_(std::move(calls)) {
  if (!kHasGraphs) return;
  check(hip::create_stream(&stream_), "a stream");
  try {
    check(hip::begin_capture(stream_), "capturing");
    calls_(stream_);
    check(hip::end_capture(stream_, &graph_), "capturing");
  } catch (...) {
    (void)hip::destroy_stream(stream_);
    throw;
  }
}

Recorded::~Recorded() {
  if (!kHasGraphs) return;
  (void)hip::destroy_graph(graph_);
  (void)hip::destroy_stream(stream_);
}

void Recorded::run() const {
  if (kHasGraphs) {
    check(hip::replay(graph_, stream_), "replaying");
  } else {
    calls_(nullptr);
  }
  check(hip::synchronize(stream_), "running");
}

}  // namespace attnplan::hip_test
