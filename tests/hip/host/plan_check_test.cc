// Plans that are damaged: every call refuses them or stays inside them. A copy of the plan ends
// where readable memory ends, so that whoever reads behind it is found without a sanitizer.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <random>

#include "hip/launch_check.h"
#include "hip/plan_layer.h"
#include "hip/refresh_check.h"
#include "hip/select_check.h"
#include "layer_case.h"

namespace attnplan::hip_test {
namespace {

class Guarded {
 public:
  explicit Guarded(size_t bytes) : bytes_(bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    room_ = (bytes + page - 1) / page * page;
    void* memory =
        mmap(nullptr, room_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    base_ = static_cast<std::byte*>(memory);
    mprotect(base_ + room_, page, PROT_NONE);
    mapped_ = room_ + page;
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(base_, mapped_); }
  std::byte* data() const { return base_ + room_ - bytes_; }

 private:
  size_t bytes_, room_ = 0, mapped_ = 0;
  std::byte* base_ = nullptr;
};

// A layer, its plan, and a copy to be damaged.
struct Damage {
  explicit Damage(const LayerCase& given)
      : layer(given), made(layer, nullptr), bytes((made.bytes() + 63) / 64 * 64), blob(bytes) {
    EXPECT_EQ(made.status(), ATTNPLAN_OK) << made.error().message;
    restore();
  }
  void restore() {
    std::memset(blob.data(), 0, bytes);
    std::memcpy(blob.data(), made.data(), made.bytes());
  }
  attnplan_plan_header* header() const {
    return reinterpret_cast<attnplan_plan_header*>(blob.data());
  }
  attnplan_section* section(int32_t id) const {
    auto* table = reinterpret_cast<attnplan_section*>(blob.data() + made.header().header_bytes);
    for (int32_t i = 0; i < made.header().num_sections; ++i) {
      if (table[i].id == id) return table + i;
    }
    ADD_FAILURE() << "no section " << id;
    return table;
  }
  template <class T>
  T* at(int32_t id) const {
    return reinterpret_cast<T*>(blob.data() + section(id)->offset);
  }

  LayerCase layer;
  LayerPlan made;
  size_t bytes;
  Guarded blob;
};

Status judge_launch(LaunchCase* launch, Error* error) {
  hip::CheckedLaunch checked = {};
  const Status status = hip::read_launch(&launch->args, &checked, error);
  if (status != Status::kOk) return status;
  hip::SparseLaunch sparse = {};
  hip::DenseLaunch dense = {};
  return checked.layer.sparse() ? hip::check_sparse(checked, &sparse, error)
                                : hip::check_dense(checked, &dense, error);
}

Status judge_select(LaunchCase* launch, Error* error) {
  attnplan_hip_index index = ATTNPLAN_HIP_INDEX_INIT;
  index.k = launch->kv.k;
  attnplan_hip_select_args args = ATTNPLAN_HIP_SELECT_ARGS_INIT;
  args.attention = &launch->layer.attention;
  args.index = &index;
  args.plan = &launch->plan;
  args.q = launch->args.q;
  args.selected = reinterpret_cast<int32_t*>(launch->args.lse);
  args.workspace = launch->args.workspace;
  args.workspace_bytes = launch->args.workspace_bytes;
  hip::SelectLaunch out;
  return hip::check_select(&args, &out, error);
}

Status judge_refresh(LaunchCase* launch, Error* error) {
  attnplan_hip_refresh_args args = ATTNPLAN_HIP_REFRESH_ARGS_INIT;
  args.attention = &launch->layer.attention;
  args.plan = &launch->plan;
  args.query_start_loc = args.seq_lens = reinterpret_cast<const int32_t*>(launch->args.lse);
  hip::RefreshLaunch out;
  return hip::check_refresh(&args, &out, error);
}

Status judge_sizes(const LaunchCase& launch, Error* error) {
  hip::Layer layer;
  hip::HostPlan plan;
  hip::Workspace workspace;
  int64_t bytes = 0;
  Status status = hip::read_layer(&launch.layer.attention, &layer, error);
  if (status == Status::kOk) {
    status = hip::HostPlan::read(launch.plan.host, launch.plan.bytes, &plan, error);
  }
  if (status != Status::kOk) return status;
  for (const int32_t longest : {0, 1, INT32_MAX}) {
    status = hip::select_workspace_bytes(layer, plan, longest, &bytes, error);
    EXPECT_TRUE(bytes >= 0 && (status == Status::kOk) == (bytes > 0));
  }
  status = hip::workspace_of(layer, plan, &workspace, error);
  EXPECT_GE(workspace.bytes, 0);
  return status;
}

// Through every call. What launch says is returned.
Status judge(const Damage& damage, Error* error) {
  LaunchCase launch(damage.layer, damage.made);
  launch.plan.host = damage.blob.data();
  launch.plan.bytes = damage.made.bytes();
  Error ignored;
  judge_select(&launch, &ignored);
  judge_refresh(&launch, &ignored);
  judge_sizes(launch, &ignored);
  return judge_launch(&launch, error);
}

struct Spoiled {
  const char* message;
  std::function<void(Damage*)> spoil;
};

template <auto kField>
std::function<void(Damage*)> segment_figure(int32_t value) {
  return
      [value](Damage* d) { d->at<attnplan_segment>(ATTNPLAN_SECTION_SEGMENTS)->*kField = value; };
}
template <auto kField>
std::function<void(Damage*)> work_figure(int32_t value) {
  return [value](Damage* d) { d->at<attnplan_work>(ATTNPLAN_SECTION_WORK)->*kField = value; };
}
template <auto kField>
std::function<void(Damage*)> header_figure(int32_t value) {
  return [value](Damage* d) {
    using Value = std::remove_reference_t<decltype(d->header()->*kField)>;
    d->header()->*kField = static_cast<Value>(value);
  };
}

const Spoiled kSpoiled[] = {
    {"number of segments in the header is 1000000000, it has to be 2",
     header_figure<&attnplan_plan_header::num_segments>(1000000000)},
    {"section segments is missing, which every plan has",
     header_figure<&attnplan_plan_header::num_sections>(0)},
    {"header_bytes is 209, it has to be a multiple of 8",
     header_figure<&attnplan_plan_header::header_bytes>(209)},
    {"cut short", header_figure<&attnplan_plan_header::num_byte_ranges>(INT32_MAX)},
    {"num_rows in the header is -1", header_figure<&attnplan_plan_header::num_rows>(-1)},
    {"section segments is missing",
     [](Damage* d) { d->section(ATTNPLAN_SECTION_SEGMENTS)->id = 7; }},
    {"section segments lies outside it",
     [](Damage* d) { d->section(ATTNPLAN_SECTION_SEGMENTS)->offset = 64; }},
    {"section seq_lens is of another type",
     [](Damage* d) { d->section(ATTNPLAN_SECTION_SEQ_LENS)->type = ATTNPLAN_TYPE_SEGMENT; }},
    {"section context_lens is there twice",
     [](Damage* d) { d->section(ATTNPLAN_SECTION_SEQ_LENS)->id = ATTNPLAN_SECTION_CONTEXT_LENS; }},
    {"section seq_lens has 2 elements, it has to have 3",
     [](Damage* d) { d->section(ATTNPLAN_SECTION_SEQ_LENS)->count = 2; }},
    {"query_start_loc_begin of segment 0 is 0, it has to be in",
     [](Damage* d) {
       attnplan_section* s = d->section(ATTNPLAN_SECTION_QUERY_START_LOC);
       s->count = s->capacity = 0;
     }},
    {"section work has 0 elements, it has to have 1",
     [](Damage* d) { d->section(ATTNPLAN_SECTION_WORK)->count = 0; }},
    {"its work list has 1000000000 workers", work_figure<&attnplan_work::workers>(1000000000)},
    {"7 workers with a section worker_indptr of 9", work_figure<&attnplan_work::workers>(7)},
    {"num_slots -5", work_figure<&attnplan_work::num_slots>(-5)},
    {"query_tile of 0, the kernels", work_figure<&attnplan_work::query_tile>(0)},
    {"row_begin of segment 0 is 100",
     [](Damage* d) {
       auto* segment = d->at<attnplan_segment>(ATTNPLAN_SECTION_SEGMENTS);
       segment->row_begin = 100;
       segment->row_end = 0;
     }},
    {"row_end of segment 0 is 33, it has to be in [0, 32]",
     segment_figure<&attnplan_segment::row_end>(33)},
    {"req_end of segment 0 is 1000000000, it has to be in [0, 3]",
     segment_figure<&attnplan_segment::req_end>(1000000000)},
    {"req_begin of segment 0 is -1", segment_figure<&attnplan_segment::req_begin>(-1)},
    {"max_seq_len of segment 0 is -1", segment_figure<&attnplan_segment::max_seq_len>(-1)},
    {"page_size of segment 0 is -16", segment_figure<&attnplan_segment::page_size>(-16)},
    {"page_size of segment 0 is -2147483648",
     segment_figure<&attnplan_segment::page_size>(INT32_MIN)},
    {"its pages have 48 tokens, the kernels take",
     segment_figure<&attnplan_segment::page_size>(48)},
    {"its pages have 16 tokens, but kv_cache has a page_size of 64",
     segment_figure<&attnplan_segment::page_size>(16)},
};

LayerCase wide_blocks() {
  LayerCase layer;
  layer.cache.block_size = layer.cache.page_size = 64;
  return layer;
}
LayerCase sparse() {
  LayerCase layer;
  layer.cache.block_size = layer.cache.page_size = 128;
  layer.attention.top_k = 4;
  return layer;
}

TEST(HipPlan, DamageIsNamed) {
  Damage damage(wide_blocks());
  for (const Spoiled& spoiled : kSpoiled) {
    damage.restore();
    Error error;
    ASSERT_EQ(judge(damage, &error), Status::kOk) << error.message;
    spoiled.spoil(&damage);
    EXPECT_NE(judge(damage, &error), Status::kOk) << spoiled.message;
    EXPECT_NE(std::strstr(error.message, spoiled.message), nullptr)
        << error.message << "\nwants: " << spoiled.message;
  }
}

// What is looked at on the host: the front, the segments and the work list's summary.
std::vector<size_t> places(const Damage& d) {
  std::vector<size_t> out;
  const auto add = [&out](size_t begin, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) out.push_back(begin + i);
  };
  const attnplan_plan_header& h = d.made.header();
  add(0, h.header_bytes + static_cast<size_t>(h.num_sections) * sizeof(attnplan_section));
  for (const int32_t id : {ATTNPLAN_SECTION_SEGMENTS, ATTNPLAN_SECTION_WORK}) {
    if (id == ATTNPLAN_SECTION_WORK && d.layer.attention.top_k > 0) continue;
    const attnplan_section& s = *d.section(id);
    add(static_cast<size_t>(s.offset), static_cast<size_t>(s.count) * (id == 1 ? 96 : 40));
  }
  return out;
}

TEST(HipPlan, NoDamageIsReadPastTheEnd) {
  std::mt19937_64 engine(1);
  for (const LayerCase& layer : {wide_blocks(), sparse()}) {
    Damage damage(layer);
    const std::vector<size_t> where = places(damage);
    int64_t refused = 0, passed = 0;
    const auto count = [&](Status status) { ++(status == Status::kOk ? passed : refused); };
    for (const size_t place : where) {  // one byte at a time
      for (const int change : {0x01, 0x40, 0x80, 0xff}) {
        damage.blob.data()[place] ^= static_cast<std::byte>(change);
        Error error;
        count(judge(damage, &error));
        damage.blob.data()[place] ^= static_cast<std::byte>(change);
      }
    }
    for (int round = 0; round < 20000; ++round) {  // several
      damage.restore();
      for (uint64_t n = 1 + engine() % 4; n > 0; --n) {
        damage.blob.data()[where[engine() % where.size()]] = static_cast<std::byte>(engine());
      }
      Error error;
      count(judge(damage, &error));
    }
    EXPECT_GT(refused, 5000);
    EXPECT_GT(passed, 1000);
  }
}

TEST(HipPlan, SizesNeverPassWhatTheyAreCountedIn) {
  Damage damage(sparse());
  damage.header()->num_rows = INT32_MAX;
  for (const int32_t id : {ATTNPLAN_SECTION_ROW_REQUEST, ATTNPLAN_SECTION_ROW_POSITION}) {
    damage.section(id)->id = 1000;
  }
  LaunchCase launch(damage.layer, damage.made);
  launch.layer.attention.num_kv_heads = launch.layer.attention.num_q_heads = 65536;
  hip::Layer layer;
  hip::HostPlan plan;
  Error error;
  ASSERT_EQ(hip::read_layer(&launch.layer.attention, &layer, &error), Status::kOk);
  ASSERT_EQ(hip::HostPlan::read(damage.blob.data(), damage.bytes, &plan, &error), Status::kOk)
      << error.message;
  int64_t bytes = 0;
  EXPECT_EQ(hip::select_workspace_bytes(layer, plan, 1000, &bytes, &error), Status::kOk);
  EXPECT_EQ(bytes, int64_t{65536} * INT32_MAX * 8 * 4);
  EXPECT_EQ(hip::select_workspace_bytes(layer, plan, INT32_MAX, &bytes, &error),
            Status::kInvalidArgument);
  damage.restore();
  ASSERT_EQ(hip::HostPlan::read(damage.blob.data(), damage.bytes, &plan, &error), Status::kOk);
  layer.attention.num_kv_heads = 2;
  EXPECT_EQ(hip::select_workspace_bytes(layer, plan, INT32_MAX, &bytes, &error), Status::kOk);
  EXPECT_EQ(bytes, int64_t{2} * 32 * 16777216 * 4);
}

}  // namespace
}  // namespace attnplan::hip_test
