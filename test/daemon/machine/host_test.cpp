// Goal: what is left of an attempt that ended while no berthd ran is judged as one that ends under
// it: by the configured words, and never for GPU memory where the job has no GPUs.
#include "daemon/machine/host.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "shim/record.hpp"
#include "support/process.hpp"

namespace berth::daemon {
namespace {

/// How a job ended that said this.
Outcome outcome_left(const std::string& said, GpuCount gpus) {
  const test::ScratchFolder folder;
  for (const char* const name : {"attempts", "logs"}) {
    std::filesystem::create_directory(folder / name);
  }
  folder.write("attempts/7.1",
               shim::header_lines(JobId(7), Attempt(1), 1000) +
                   shim::shim_line({.pid = 4711, .start = 99}) +
                   shim::go_line({.pid = 4712, .start = 101}) +
                   shim::exit_line({.kind = shim::Exit::Kind::Code, .number = 1, .at = {}}));
  folder.write("logs/7.log", said);
  Job job;
  job.id = JobId(7);
  job.attempt = Attempt(1);
  job.spec.request.gpu.count = gpus;
  const std::vector<std::string> words = {"mylib: full"};
  return Host(folder / "journal.db", words).remains_of(job).ending.outcome;
}

TEST(HostTest, JudgesWhatIsLeftAsWhatEnds) {
  EXPECT_EQ(outcome_left("mylib: FULL\n", GpuCount(1)), Outcome::Oom);
  EXPECT_EQ(outcome_left("CUDA out of memory\n", GpuCount(1)), Outcome::Oom);
  EXPECT_EQ(outcome_left("CUDA out of memory\n", GpuCount(0)), Outcome::Failed);
  EXPECT_EQ(outcome_left("KeyError: labels\n", GpuCount(1)), Outcome::Failed);
}

}  // namespace
}  // namespace berth::daemon
