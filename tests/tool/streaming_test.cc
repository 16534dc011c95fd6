// Inputs of any length: memory does not grow with them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "tool_process.h"

namespace attnplan::test {
namespace {

constexpr long kSlackKib = 40 * 1024;  // of allocators; a sanitizer's quarantine is below, too

// A document of about `requests` * 14 bytes.
std::string document(int requests, const char* separator) {
  std::string query_lens, seq_lens;
  for (int i = 0; i < requests; ++i) {
    query_lens += (i == 0 ? "" : ",") + std::to_string(1 + i % 4);
    seq_lens += (i == 0 ? "" : ",") + std::to_string(100000 + i);
  }
  return std::string("{\"backend\":\"unified\",") + separator +
         "\"decode_threshold\":4,\"query_lens\":[" + query_lens + "]," + separator +
         "\"seq_lens\":[" + seq_lens + "]}\n";
}

struct Streamed {
  ToolResult result;
  std::atomic<size_t> out_bytes{0};
};

void stream(const std::string& text, int copies, Streamed* streamed) {
  // Freed memory that a sanitizer keeps back is none of the tool's.
  setenv("ASAN_OPTIONS", "quarantine_size_mb=4", 0);
  streamed->result = stream_tool(
      {"plan", "-"},
      [&](int fd) {
        for (int i = 0; i < copies; ++i) {
          for (size_t done = 0; done < text.size();) {
            const ssize_t written = write(fd, text.data() + done, text.size() - done);
            if (written <= 0) return;
            done += static_cast<size_t>(written);
          }
        }
      },
      &streamed->out_bytes);
}

TEST(Streaming, MemoryDoesNotGrowWithTheInput) {
  for (const char* const separator : {"", "\n   "}) {
    const std::string text = document(500, separator);  // about 6 KB
    Streamed few, many;
    stream(text, 10, &few);
    stream(text, 12000, &many);  // about 72 MB
    EXPECT_EQ(many.result.status, 0);
    EXPECT_EQ(few.result.status, 0);
    EXPECT_EQ(many.out_bytes, few.out_bytes * 1200);
    EXPECT_LT(many.result.peak_kib, few.result.peak_kib + kSlackKib);
  }
}

// The answer to a document comes before the next one is there.
TEST(Streaming, AnswersBeforeTheInputEnds) {
  const std::string text = document(3, "");
  std::atomic<size_t> out_bytes{0};
  const ToolResult result = stream_tool(
      {"plan", "-"},
      [&](int fd) {
        ASSERT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
        for (int tries = 0; out_bytes == 0 && tries < 1000; ++tries) usleep(10000);
        EXPECT_GT(out_bytes, 0u) << "no answer within ten seconds";
      },
      &out_bytes);
  EXPECT_EQ(result.status, 0);
}

}  // namespace
}  // namespace attnplan::test
