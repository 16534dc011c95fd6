// runtime.h over the simulated devices of tests/simt. Whatever a kernel does wrong comes out of
// enqueue() as an exception of simt::Error.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "hip/arch.h"
#include "hip/emulation.h"
#include "hip/runtime.h"
#include "simt/launch.h"

namespace attnplan::hip {
namespace {

enum EmulatedError { kNoMemory = 1, kNoDevice, kNoGraphs };

template <class Function>
auto with_arch(Function function) {
  switch (emulation().arch) {
    case TableArch::kGfx90a:
      return function(Gfx90a());
    case TableArch::kGfx942:
      return function(Gfx942());
    case TableArch::kGfx950:
      return function(Gfx950());
    default:
      return function(Sm90());
  }
}

constexpr const char* kArchNames[] = {"gfx90a", "gfx942", "gfx950", "sm_90"};

}  // namespace

Emulation& emulation() {
  thread_local Emulation current;
  return current;
}

const char* describe(int error) {
  switch (error) {
    case 0:
      return "no error";
    case kNoMemory:
      return "out of memory";
    case kNoDevice:
      return "no such device";
    default:
      return "the emulation has no graphs";
  }
}

int device_count(int* count) {
  *count = 1;
  return 0;
}
int current_device(int* ordinal) {
  *ordinal = 0;
  return 0;
}
int use_device(int ordinal) { return ordinal == 0 ? 0 : kNoDevice; }

int device_properties(int ordinal, DeviceProperties* properties) {
  if (ordinal != 0) return kNoDevice;
  const char* arch = kArchNames[static_cast<int>(emulation().arch)];
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "emulated %s", arch);
  std::snprintf(properties->arch, sizeof properties->arch, "%s", arch);
  properties->memory_bytes = int64_t{1} << 30;
  properties->l2_bytes = int64_t{1} << 20;
  properties->compute_units = emulation().compute_units;
  properties->wave_size = wave_size();
  return 0;
}

int allocate(void** address, size_t bytes) {
  // As far aligned as a GPU's runtime does it.
  *address = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *address != nullptr || bytes == 0 ? 0 : kNoMemory;
}
int release(void* address) {
  std::free(address);
  return 0;
}
int allocate_pinned(void** address, size_t bytes) { return allocate(address, bytes); }
int release_pinned(void* address) { return release(address); }

int copy_to_device(void* to, const void* from, size_t bytes, Stream) {
  if (bytes > 0) std::memcpy(to, from, bytes);  // of nothing, the pointers may be NULL
  return 0;
}
int copy_to_host(void* to, const void* from, size_t bytes, Stream stream) {
  return copy_to_device(to, from, bytes, stream);
}
int copy_on_device(void* to, const void* from, size_t bytes, Stream stream) {
  return copy_to_device(to, from, bytes, stream);
}
int fill(void* to, uint8_t byte, size_t bytes, Stream) {
  if (bytes > 0) std::memset(to, byte, bytes);
  return 0;
}

int create_stream(Stream* stream) {
  *stream = nullptr;
  return 0;
}
int destroy_stream(Stream) { return 0; }
int synchronize(Stream) { return 0; }

namespace {
using Clock = std::chrono::steady_clock;
}
int create_event(Event* event) {
  *event = new Clock::time_point();
  return 0;
}
int destroy_event(Event event) {
  delete static_cast<Clock::time_point*>(event);
  return 0;
}
int record(Event event, Stream) {
  *static_cast<Clock::time_point*>(event) = Clock::now();
  return 0;
}
int elapsed_milliseconds(Event begin, Event end, float* milliseconds) {
  *milliseconds = std::chrono::duration<float, std::milli>(*static_cast<Clock::time_point*>(end) -
                                                           *static_cast<Clock::time_point*>(begin))
                      .count();
  return 0;
}

int begin_capture(Stream) { return kNoGraphs; }
int end_capture(Stream, Graph*) { return kNoGraphs; }
int replay(Graph, Stream) { return kNoGraphs; }
int destroy_graph(Graph) { return kNoGraphs; }

TableArch table_arch() { return emulation().arch; }
int wave_size() {
  return with_arch([](auto arch) { return decltype(arch)::kWave; });
}

int enqueue(Kernel kernel, int blocks, int threads, const void* args, Stream) {
  const auto run = reinterpret_cast<EmulatedKernel>(const_cast<void*>(kernel));
  const simt::Options options = with_arch(
      [](auto arch_type) { return simt::options_for<decltype(arch_type)>(emulation().seed); });
  simt::launch(options, blocks, threads, [run, args] { run(args); });
  return 0;
}
int resident_blocks(Kernel, int, int* blocks) {
  *blocks = 1;
  return 0;
}

}  // namespace attnplan::hip
