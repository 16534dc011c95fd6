#include "hip/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace attnplan::hip_test {

void parallel_for(int64_t count, const std::function<void(int64_t)>& work) {
  const auto cores = std::max<int64_t>(std::thread::hardware_concurrency(), 1);
  const int64_t threads = std::min(count, cores);
  if (threads <= 1) {
    for (int64_t i = 0; i < count; ++i) work(i);
    return;
  }
  std::atomic<int64_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  std::vector<std::thread> running;
  for (int64_t t = 0; t < threads; ++t) {
    running.emplace_back([&] {
      try {
        for (int64_t i = next++; i < count; i = next++) work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace attnplan::hip_test
