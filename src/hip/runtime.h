// The calls of a vendor's runtime that are in use, under neutral names. runtime_gpu.cc holds them
// for HIP and CUDA, runtime_emulated.cc for the emulation, where device memory is host memory and a
// launch returns when it is done. Nothing else knows which runtime is underneath.
//
// Every call returns 0 or the runtime's own error number, which describe() words.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attnplan::hip {

// What attnplan_hip.h hands over as void*; NULL is the default stream.
using Stream = void*;

struct DeviceProperties {
  char name[128];
  char arch[32];  // "gfx942", "sm_90": the words of attnplan_config.arch
  int64_t memory_bytes;
  int64_t l2_bytes;
  int32_t compute_units;
  int32_t wave_size;
};

const char* describe(int error);
int device_count(int* count);
int current_device(int* ordinal);
int use_device(int ordinal);
int device_properties(int ordinal, DeviceProperties* properties);

int allocate(void** address, size_t bytes);
int release(void* address);
// Host memory that copies need not stage.
int allocate_pinned(void** address, size_t bytes);
int release_pinned(void* address);

int copy_to_device(void* to, const void* from, size_t bytes, Stream stream);
int copy_to_host(void* to, const void* from, size_t bytes, Stream stream);
int copy_on_device(void* to, const void* from, size_t bytes, Stream stream);
int fill(void* to, uint8_t byte, size_t bytes, Stream stream);

int create_stream(Stream* stream);
int destroy_stream(Stream stream);
int synchronize(Stream stream);

using Event = void*;
int create_event(Event* event);
int destroy_event(Event event);
int record(Event event, Stream stream);
int elapsed_milliseconds(Event begin, Event end, float* milliseconds);

// What is enqueued between the two calls is not run but kept. The emulation has no graphs.
using Graph = void*;
int begin_capture(Stream stream);
int end_capture(Stream stream, Graph* graph);
int replay(Graph graph, Stream stream);
int destroy_graph(Graph graph);

// Entry of a kernel that takes one struct by value: an address that the runtime knows, or under
// emulation an EmulatedKernel.
using Kernel = const void*;
using EmulatedKernel = void (*)(const void* args);

// Lanes of a wave of the devices that the build has code for.
int wave_size();
int enqueue(Kernel kernel, int blocks, int threads, const void* args, Stream stream);
// How many blocks of `threads` threads a compute unit holds at a time.
int resident_blocks(Kernel kernel, int threads, int* blocks);

}  // namespace attnplan::hip
