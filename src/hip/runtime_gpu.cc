// runtime.h over HIP, or over CUDA, which has the same calls under other names.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "hip/kernel_table.h"

#if defined(ATTNPLAN_HIP_PLATFORM_NVIDIA)
#include <cuda_runtime_api.h>
#define ATTNPLAN_VENDOR(name) cuda##name
#else
#include <hip/hip_runtime_api.h>
#define ATTNPLAN_VENDOR(name) hip##name
#endif

namespace attnplan::hip {
namespace {

#if defined(ATTNPLAN_HIP_PLATFORM_NVIDIA)
using VendorProperties = cudaDeviceProp;

constexpr int kWaveSize = 32;
int allocate_host(void** address, size_t bytes) { return cudaMallocHost(address, bytes); }
int release_host(void* address) { return cudaFreeHost(address); }
void write_arch(const VendorProperties& from, DeviceProperties* to) {
  std::snprintf(to->arch, sizeof to->arch, "sm_%d%d", from.major, from.minor);
}
#else
using VendorProperties = hipDeviceProp_t;

constexpr int kWaveSize = 64;  // of gfx9
int allocate_host(void** address, size_t bytes) { return hipHostMalloc(address, bytes, 0); }
int release_host(void* address) { return hipHostFree(address); }
// The runtime says "gfx90a:sramecc+:xnack-": what follows the name is a mode of the device.
void write_arch(const VendorProperties& from, DeviceProperties* to) {
  std::snprintf(to->arch, sizeof to->arch, "%.*s",
                static_cast<int>(std::strcspn(from.gcnArchName, ":")), from.gcnArchName);
}
#endif

using VendorStream = ATTNPLAN_VENDOR(Stream_t);
using VendorEvent = ATTNPLAN_VENDOR(Event_t);
using VendorGraph = ATTNPLAN_VENDOR(GraphExec_t);

VendorStream vendor(Stream stream) { return static_cast<VendorStream>(stream); }

int copy(void* to, const void* from, size_t bytes, ATTNPLAN_VENDOR(MemcpyKind) kind,
         Stream stream) {
  return ATTNPLAN_VENDOR(MemcpyAsync)(to, from, bytes, kind, vendor(stream));
}

}  // namespace

const char* describe(int error) {
  return ATTNPLAN_VENDOR(GetErrorString)(static_cast<ATTNPLAN_VENDOR(Error_t)>(error));
}

int device_count(int* count) { return ATTNPLAN_VENDOR(GetDeviceCount)(count); }
int current_device(int* ordinal) { return ATTNPLAN_VENDOR(GetDevice)(ordinal); }
int use_device(int ordinal) { return ATTNPLAN_VENDOR(SetDevice)(ordinal); }

int device_properties(int ordinal, DeviceProperties* properties) {
  VendorProperties from;
  const int error = ATTNPLAN_VENDOR(GetDeviceProperties)(&from, ordinal);
  if (error != 0) return error;
  std::snprintf(properties->name, sizeof properties->name, "%.*s",
                static_cast<int>(sizeof properties->name - 1), from.name);
  write_arch(from, properties);
  properties->memory_bytes = static_cast<int64_t>(from.totalGlobalMem);
  properties->l2_bytes = from.l2CacheSize;
  properties->compute_units = from.multiProcessorCount;
  properties->wave_size = from.warpSize;
  return 0;
}

int allocate(void** address, size_t bytes) { return ATTNPLAN_VENDOR(Malloc)(address, bytes); }
int release(void* address) { return ATTNPLAN_VENDOR(Free)(address); }
int allocate_pinned(void** address, size_t bytes) { return allocate_host(address, bytes); }
int release_pinned(void* address) { return release_host(address); }

int copy_to_device(void* to, const void* from, size_t bytes, Stream stream) {
  return copy(to, from, bytes, ATTNPLAN_VENDOR(MemcpyHostToDevice), stream);
}
int copy_to_host(void* to, const void* from, size_t bytes, Stream stream) {
  return copy(to, from, bytes, ATTNPLAN_VENDOR(MemcpyDeviceToHost), stream);
}
int copy_on_device(void* to, const void* from, size_t bytes, Stream stream) {
  return copy(to, from, bytes, ATTNPLAN_VENDOR(MemcpyDeviceToDevice), stream);
}
int fill(void* to, uint8_t byte, size_t bytes, Stream stream) {
  return ATTNPLAN_VENDOR(MemsetAsync)(to, byte, bytes, vendor(stream));
}

int create_stream(Stream* stream) {
  VendorStream created = nullptr;
  const int error =
      ATTNPLAN_VENDOR(StreamCreateWithFlags)(&created, ATTNPLAN_VENDOR(StreamNonBlocking));
  *stream = created;
  return error;
}
int destroy_stream(Stream stream) { return ATTNPLAN_VENDOR(StreamDestroy)(vendor(stream)); }
int synchronize(Stream stream) { return ATTNPLAN_VENDOR(StreamSynchronize)(vendor(stream)); }

int create_event(Event* event) {
  VendorEvent created = nullptr;
  const int error = ATTNPLAN_VENDOR(EventCreate)(&created);
  *event = created;
  return error;
}
int destroy_event(Event event) {
  return ATTNPLAN_VENDOR(EventDestroy)(static_cast<VendorEvent>(event));
}
int record(Event event, Stream stream) {
  return ATTNPLAN_VENDOR(EventRecord)(static_cast<VendorEvent>(event), vendor(stream));
}
int elapsed_milliseconds(Event begin, Event end, float* milliseconds) {
  const int error = ATTNPLAN_VENDOR(EventSynchronize)(static_cast<VendorEvent>(end));
  if (error != 0) return error;
  return ATTNPLAN_VENDOR(EventElapsedTime)(milliseconds, static_cast<VendorEvent>(begin),
                                           static_cast<VendorEvent>(end));
}

int begin_capture(Stream stream) {
  return ATTNPLAN_VENDOR(StreamBeginCapture)(vendor(stream),
                                             ATTNPLAN_VENDOR(StreamCaptureModeThreadLocal));
}
int end_capture(Stream stream, Graph* graph) {
  ATTNPLAN_VENDOR(Graph_t) captured = nullptr;
  int error = ATTNPLAN_VENDOR(StreamEndCapture)(vendor(stream), &captured);
  if (error != 0) return error;
  VendorGraph executable = nullptr;
  error = ATTNPLAN_VENDOR(GraphInstantiateWithFlags)(&executable, captured, 0);
  const int destroyed = ATTNPLAN_VENDOR(GraphDestroy)(captured);
  *graph = executable;
  return error != 0 ? error : destroyed;
}
int replay(Graph graph, Stream stream) {
  return ATTNPLAN_VENDOR(GraphLaunch)(static_cast<VendorGraph>(graph), vendor(stream));
}
int destroy_graph(Graph graph) {
  return ATTNPLAN_VENDOR(GraphExecDestroy)(static_cast<VendorGraph>(graph));
}

TableArch table_arch() { return TableArch::kOwn; }
int wave_size() { return kWaveSize; }

int enqueue(Kernel kernel, int blocks, int threads, const void* args, Stream stream) {
  void* arguments[] = {const_cast<void*>(args)};
  return ATTNPLAN_VENDOR(LaunchKernel)(kernel, dim3(static_cast<unsigned>(blocks)),
                                       dim3(static_cast<unsigned>(threads)), arguments, 0,
                                       vendor(stream));
}
int resident_blocks(Kernel kernel, int threads, int* blocks) {
  return ATTNPLAN_VENDOR(OccupancyMaxActiveBlocksPerMultiprocessor)(blocks, kernel, threads, 0);
}

}  // namespace attnplan::hip
