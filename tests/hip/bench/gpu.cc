#include "bench/gpu.h"

#include <algorithm>

#include "bench/device.h"

namespace attnplan::hip::bench {
namespace {

constexpr size_t kFlushBytes = size_t{512} << 20;
constexpr size_t kCopyBytes = size_t{2} << 30;
constexpr int kBlocks = 2048;

}  // namespace

void check(int error, const char* what) {
  if (error != 0) throw std::runtime_error(std::string(what) + ": " + describe(error));
}

Gpu::Gpu() : flush_(kFlushBytes), sink_(4) {
  check(create_stream(&stream_), "stream");
  check(create_event(&begin_), "event");
  check(create_event(&end_), "event");
  fill(flush_, kFlushBytes, 3, Fill::kBf16);
}

Gpu::~Gpu() {
  destroy_event(begin_);
  destroy_event(end_);
  destroy_stream(stream_);
}

void Gpu::fill(const Buffer& buffer, size_t bytes, uint32_t seed, Fill fill) {
  const FillArgs args = {buffer.as<uint32_t>(), static_cast<int64_t>(bytes / 4), seed, fill};
  check(enqueue(fill_entry(), kBlocks, kThreads, &args, stream_), "fill");
}

void Gpu::copy_in(const Buffer& to, const void* from, size_t bytes) {
  check(copy_to_device(to.as(), from, bytes, stream_), "copy");
  wait();
}

void Gpu::copy_out(void* to, const void* from, size_t bytes) {
  check(copy_to_host(to, from, bytes, stream_), "copy");
  wait();
}

void Gpu::wait() { check(synchronize(stream_), "wait"); }

void Gpu::nothing() {
  const FillArgs args = {nullptr, 0, 0, Fill::kBf16};
  check(enqueue(fill_entry(), 1, kThreads, &args, stream_), "empty kernel");
}

double Gpu::time_once(const std::function<void()>& work) {
  check(record(begin_, stream_), "record");
  work();
  check(record(end_, stream_), "record");
  wait();
  float milliseconds = 0;
  check(elapsed_milliseconds(begin_, end_, &milliseconds), "elapsed");
  return milliseconds * 1000.0;
}

Timing Gpu::time(int repetitions, const std::function<void()>& work) {
  Graph graph = nullptr;
  check(begin_capture(stream_), "capture");
  work();
  check(end_capture(stream_, &graph), "capture");
  const FlushArgs flush = {flush_.as<uint32_t>(), static_cast<int64_t>(kFlushBytes / 4),
                           sink_.as<uint32_t>()};
  std::vector<double> samples;
  for (int i = 0; i < repetitions + 2; ++i) {
    check(enqueue(flush_entry(), kBlocks, kThreads, &flush, stream_), "flush");
    const double us = time_once([&] { check(replay(graph, stream_), "replay"); });
    if (i >= 2) samples.push_back(us);  // the first ones warm up
  }
  check(destroy_graph(graph), "graph");
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples.front()};
}

double Gpu::copy_bandwidth() {
  const Buffer from(kCopyBytes), to(kCopyBytes);
  fill(from, kCopyBytes, 4, Fill::kBf16);
  const auto copy = [&] { check(copy_on_device(to.as(), from.as(), kCopyBytes, stream_), "copy"); };
  copy();
  std::vector<double> samples;
  for (int i = 0; i < 9; ++i) samples.push_back(time_once(copy));
  std::sort(samples.begin(), samples.end());
  return 2.0 * kCopyBytes / samples[samples.size() / 2] * 1e6;
}

}  // namespace attnplan::hip::bench
