// Somebody else's program on the C++ headers: a batch that the planner has to refuse.
#include <attnplan/planner.h>

#include <cstdint>
#include <cstdio>
#include <memory_resource>

int main() {
  attnplan::Config config;
  config.profile = "aiter_mha";
  attnplan::Error error;
  attnplan::Planner* planner = nullptr;
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();
  if (attnplan::Planner::create(config, memory, &planner, &error) != attnplan::Status::kOk)
    return 1;

  const int32_t query_lens[] = {1, 4}, seq_lens[] = {5, 3};
  attnplan::Step step;
  step.num_reqs = 2;
  step.query_lens = query_lens;
  step.seq_lens = seq_lens;
  attnplan::Scratch scratch(memory);
  size_t bytes = 0;
  const attnplan::Status status =
      planner->build(step, attnplan::Group{}, &scratch, nullptr, 0, &bytes, &error);
  std::puts(error.message);
  attnplan::Planner::destroy(planner);
  return status == attnplan::Status::kPlanError &&
                 error.code == attnplan::Code::kSeqShorterThanQuery && error.request == 1
             ? 0
             : 1;
}
