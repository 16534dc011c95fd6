#include "cpu/executor.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cpu/kernel_traits.h"

namespace attnplan::cpu {
namespace {

struct Request {
  int32_t input;    // request of the step, -1 for one that a graph adds
  int64_t rows;     // query_len
  int64_t total;    // tokens before a clamp: the last row stands at total - 1
  int64_t seq_len;  // tokens whose keys may be read
};

constexpr Request kPad{-1, 0, 0, 0};

class Executor {
 public:
  Executor(const PlanView& plan, const ExecutorInput& input);
  Execution run();

 private:
  void read_requests();
  void clamp_lengths();
  void clear_graph_rows();
  bool divides_rows(const attnplan_segment& segment) const;
  void run_segment(const attnplan_segment& segment);
  void run_by_width(const attnplan_segment& segment, int64_t width);
  void run_by_offsets(const attnplan_segment& segment);
  void run_by_row_maps(const attnplan_segment& segment);
  void launch(const attnplan_segment& segment, const Request& request, int64_t first_row,
              int64_t rows, int64_t first_position);

  const PlanView& plan_;
  const ExecutorInput& in_;
  RequestAttention attention_;
  int64_t rows_;                    // of the batch
  std::vector<Request> requests_;   // plan order, behind them those that a graph adds
  std::vector<int64_t> row_begin_;  // [n + 1] in plan order
  std::vector<int32_t> row_owner_;  // [rows] plan position
  Execution done_;
};

// Rows of the launch: a full graph always runs all of its rows.
int64_t launched_rows(const PlanView& plan, int64_t rows) {
  const attnplan_plan_header& header = *plan.header;
  const bool full = (header.flags & ATTNPLAN_PLAN_HAS_GRAPH) != 0 && header.graph_kind == 2;
  return full ? std::max<int64_t>(header.graph_rows, rows) : rows;
}

Executor::Executor(const PlanView& plan, const ExecutorInput& input)
    : plan_(plan),
      in_(input),
      attention_(input),
      rows_(input.lengths.rows()),
      done_{Output(launched_rows(plan, rows_), input.shape), {}, 0, 0} {
  done_.writes.assign(static_cast<size_t>(launched_rows(plan, rows_)), 0);
  done_.pad_rows = static_cast<int64_t>(done_.writes.size()) - rows_;
  read_requests();
  clamp_lengths();
}

void Executor::read_requests() {
  row_begin_.assign(1, 0);
  for (int32_t p = 0; p < in_.lengths.size(); ++p) {
    const int32_t input = plan_.order.empty() ? p : plan_.order[p];
    const int64_t rows = in_.lengths.query_lens[input];
    const int64_t total = rows > 0 ? in_.lengths.seq_lens[input] : 0;  // a pad has no keys
    requests_.push_back({input, rows, total, total});
    row_begin_.push_back(row_begin_.back() + rows);
    row_owner_.insert(row_owner_.end(), static_cast<size_t>(rows), p);
  }
  // A graph's grid begins at the first live request; the batch's own pads behind are part of it.
  const int32_t first = plan_.segments.empty() ? 0 : plan_.segments.front().req_begin;
  const int64_t grid_begin = std::clamp(first, 0, in_.lengths.size());
  const int64_t grid_end = grid_begin + plan_.header->graph_requests;
  if (done_.pad_rows > 0 && grid_end > in_.lengths.size()) {
    requests_.resize(static_cast<size_t>(grid_end), kPad);
  }
}

// The plan says which requests end at their block table, and its lengths section shows it too.
void Executor::clamp_lengths() {
  const size_t known = in_.plan_lengths ? plan_.seq_lens.size() : 0;
  for (size_t p = 0; p < requests_.size(); ++p) {
    Request& request = requests_[p];
    if (p < known && request.rows > 0) {
      // Where the plan promises too much, one token too many already reads poison.
      request.seq_len = std::min<int64_t>(plan_.seq_lens[p], request.total + 1);
    }
    for (const attnplan_warning& warning : plan_.warnings) {
      if (warning.code == ATTNPLAN_CODE_SEQ_LEN_CLAMPED && warning.request == request.input) {
        request.seq_len = std::min(request.seq_len, warning.limit);
      }
    }
  }
}

Execution Executor::run() {
  for (const attnplan_segment& segment : plan_.segments) run_segment(segment);
  clear_graph_rows();
  return std::move(done_);
}

// Rows that a graph adds behind the batch. One that divides rows by a width has launched them as
// requests; every other kernel finds no offset that claims them.
void Executor::clear_graph_rows() {
  const bool by_width = !plan_.segments.empty() && divides_rows(plan_.segments.back());
  for (int64_t row = rows_; !by_width && row < rows_ + done_.pad_rows; ++row) {
    ++done_.writes[row];
    done_.out.clear(row);
  }
}

bool Executor::divides_rows(const attnplan_segment& segment) const {
  return segment.route == ATTNPLAN_ROUTE_DECODE && maps_rows_by_width(in_.config, segment.kernel);
}

void Executor::run_segment(const attnplan_segment& segment) {
  if (segment.route == ATTNPLAN_ROUTE_PAD) {
    launch(segment, kPad, segment.row_begin, int64_t{segment.row_end} - segment.row_begin, 0);
  } else if (divides_rows(segment)) {
    // A launcher passes the width, or for lack of one the longest query.
    run_by_width(segment, segment.width > 0 ? segment.width : segment.max_query_len);
  } else if (in_.plan_lengths && std::ssize(plan_.row_request) == rows_ &&
             std::ssize(plan_.row_position) == rows_) {
    run_by_row_maps(segment);
  } else {
    run_by_offsets(segment);
  }
}

// request = req_begin + (row - row_begin) / width: one grid of requests x width rows, which in a
// graph covers the requests that it adds.
void Executor::run_by_width(const attnplan_segment& segment, int64_t width) {
  const auto launched = static_cast<int64_t>(requests_.size());
  const bool last = done_.pad_rows > 0 && segment.row_end == rows_;
  const int64_t grid_end =
      last ? int64_t{segment.req_begin} + plan_.header->graph_requests : segment.req_end;
  const int64_t end = std::min(grid_end, launched);
  for (int64_t r = std::max(segment.req_begin, 0); r < end; ++r) {
    const int64_t first_row = segment.row_begin + (r - segment.req_begin) * width;
    launch(segment, requests_[r], first_row, width, requests_[r].total - width);
  }
}

// Cumulative query lengths say where the rows of a request begin: the plan's own where it has
// them, else those of the batch.
void Executor::run_by_offsets(const attnplan_segment& segment) {
  const auto known = static_cast<int64_t>(plan_.query_start_loc.size());
  const int64_t end = std::min<int64_t>(segment.req_end, in_.lengths.size());
  int64_t next = segment.row_begin;
  for (int64_t r = std::max(segment.req_begin, 0); r < end; ++r) {
    const int64_t at = static_cast<int64_t>(segment.query_start_loc_begin) + r - segment.req_begin;
    int64_t begin = next;
    int64_t rows = requests_[r].rows;
    if (at >= 0 && at + 1 < known) {
      begin = static_cast<int64_t>(segment.row_begin) + plan_.query_start_loc[at];
      rows = static_cast<int64_t>(plan_.query_start_loc[at + 1]) - plan_.query_start_loc[at];
    }
    launch(segment, requests_[r], begin, rows, requests_[r].total - rows);
    next = begin + rows;
  }
}

// The plan says of every row whose it is and where it stands: launched in runs of one request.
void Executor::run_by_row_maps(const attnplan_segment& segment) {
  const auto& request_of = plan_.row_request;
  const auto& position_of = plan_.row_position;
  const int64_t stop = std::min<int64_t>(segment.row_end, rows_);
  for (int64_t row = std::max(segment.row_begin, 0); row < stop;) {
    int64_t end = row + 1;
    while (end < stop && request_of[end] == request_of[row] &&
           int64_t{position_of[end]} - position_of[row] == end - row) {
      ++end;
    }
    const int32_t r = request_of[row];
    const bool live = r >= 0 && r < in_.lengths.size() && position_of[row] >= 0;
    launch(segment, live ? requests_[r] : kPad, row, end - row, position_of[row]);
    row = end;
  }
}

// Rows [first_row, first_row + rows) of `request`, the first of them at `first_position`.
void Executor::launch(const attnplan_segment& segment, const Request& request, int64_t first_row,
                      int64_t rows, int64_t first_position) {
  const bool last = done_.pad_rows > 0 && segment.row_end == rows_;
  const int64_t stop = last ? rows_ + done_.pad_rows : std::min<int64_t>(segment.row_end, rows_);
  const int64_t begin = std::max<int64_t>({first_row, segment.row_begin, 0});
  const int64_t end = std::min(first_row + rows, stop);
  done_.out_of_range += std::max<int64_t>(rows, 0) - std::max<int64_t>(end - begin, 0);
  std::vector<Task> tasks;
  for (int64_t row = begin; row < end; ++row) {
    ++done_.writes[row];
    if (row < rows_ && !in_.compute[row]) continue;
    const int64_t position = first_position + (row - first_row);
    if (row >= rows_ || request.seq_len <= 0 || position >= request.seq_len) {
      done_.out.clear(row);  // a pad, or a row behind the clamp
      continue;
    }
    const int32_t owner = row_owner_[row];
    tasks.push_back({row, position, requests_[owner].input, row - row_begin_[owner]});
  }
  if (!tasks.empty()) attention_.attend(request.input, request.seq_len, tasks, done_.out);
}

}  // namespace

Execution execute(const PlanView& plan, const ExecutorInput& input) {
  return Executor(plan, input).run();
}

}  // namespace attnplan::cpu
