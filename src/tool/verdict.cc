#include "tool/verdict.h"

#include <fmt/format.h>

namespace attnplan::tool {

std::string verdict(const cpu::RunReport& report) {
  if (!report.problem.empty()) return fmt::format("not executed: {}", report.problem);
  std::string text =
      fmt::format("executed {} of {} rows over up to {} tokens: ", report.rows_compared,
                  report.rows, report.max_seq_len);
  if (report.rows_written != report.rows || report.rows_out_of_range != 0) {
    return text + fmt::format("WRONG, {} rows written once, {} never, {} twice, {} writes astray",
                              report.rows_written, report.rows_unwritten, report.rows_rewritten,
                              report.rows_out_of_range);
  }
  text += fmt::format("largest error {:.1e}, of log-sum-exp {:.1e}", report.max_error,
                      report.max_lse_error);
  if (report.ok) return text + ", right";
  return text +
         fmt::format(", WRONG at row {} of request {}", report.worst_row, report.worst_request);
}

}  // namespace attnplan::tool
