// Goal: a job that is submitted from inside another has what berth sets for it, and nothing of what
// berth set for the other, by whatever door it comes. Method: a real berthd on emulated GPUs; jobs
// write their environment to their log, and others are submitted with that, or by commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "daemon/attempts/hints.hpp"
#include "daemon/rig.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::Json;
using test::Rig;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Nested : public testing::Test {
 protected:
  Nested() { rig_.start(); }

  /// Of a job that writes it, each variable in a line of its own, with one before the first.
  std::string environment_of(const test::Wish& wish) {
    const int id = rig_.submit(wish);
    EXPECT_EQ(rig_.wait_end(id)["state"], "done") << rig_.log(id);
    return "\n" + rig_.log(id);
  }
  std::string environment_of(const std::string& script, const Json& more) {
    return environment_of(test::Wish{{"sh", "-c", script}, more});
  }
  /// The same of one that is submitted from inside another.
  std::string environment_inside(const std::string& parents, Json more) {
    std::istringstream lines(parents.substr(1));
    more["environment"] = Json::array();
    for (std::string line; std::getline(lines, line);) more["environment"].push_back(line);
    return environment_of(test::Wish{{"env"}, more});
  }
  static std::string value_in(const std::string& environment, const std::string& name) {
    const std::size_t at = environment.find("\n" + name + "=");
    if (at == std::string::npos) return "";
    const std::size_t from = at + name.size() + 2;
    return environment.substr(from, environment.find('\n', from) - from);
  }
  static std::string port_of(const std::string& environment) {
    return daemon::own_port(JobId(std::stoull(value_in(environment, "BERTH_JOB_ID"))));
  }

  Rig rig_{{.gpus = "1x24GiB", .flags = {"--policy", "fifo-skip"}}};
};

TEST_F(Nested, HasNothingOfTheRequestOfTheJobAroundIt) {
  const std::string parent =
      environment_of("env", {{"vram_bytes", 4 * test::kGiB}, {"array", "3"}});
  ASSERT_THAT(parent, AllOf(HasSubstr("\nBERTH_VRAM_BYTES=4294967296\n"),
                            HasSubstr("\nSLURM_ARRAY_TASK_ID=3\n"),
                            HasSubstr("\nXLA_PYTHON_CLIENT_MEM_FRACTION=0.1")));
  const std::string child =
      environment_inside(parent, {{"exclusive", true}, {"vram_bytes", nullptr}});
  EXPECT_THAT(child, AllOf(Not(HasSubstr("BERTH_VRAM_BYTES=")), Not(HasSubstr("BERTH_ARRAY_")),
                           Not(HasSubstr("SLURM_")), Not(HasSubstr("XLA_PYTHON")),
                           Not(HasSubstr("TF_FORCE_GPU"))));
  EXPECT_EQ(value_in(child, "MASTER_PORT"), port_of(child));
  EXPECT_EQ(value_in(child, "PET_MASTER_PORT"), port_of(child));
  EXPECT_EQ(value_in(child, "LD_LIBRARY_PATH"), value_in(parent, "LD_LIBRARY_PATH"));
  EXPECT_EQ(value_in(child, "CUDA_VISIBLE_DEVICES"), "0");
}

TEST_F(Nested, HasWhatTheUserSetThere) {
  const std::string parent = environment_of(
      "export MASTER_PORT=1234 XLA_PYTHON_CLIENT_MEM_FRACTION=.5 MINE=1; env", Json::object());
  const std::string child = environment_inside(parent, {{"vram_bytes", 10 * test::kGiB}});
  EXPECT_THAT(child, AllOf(HasSubstr("\nMASTER_PORT=1234\n"), HasSubstr("\nMINE=1\n"),
                           HasSubstr("\nXLA_PYTHON_CLIENT_MEM_FRACTION=.5\n")));
  EXPECT_EQ(value_in(child, "PET_MASTER_PORT"), port_of(child));
}

TEST_F(Nested, IsNoClientOfMpsAndNotHeldToTheOthersMemory) {
  const std::string parent =
      environment_of("env", {{"vram_bytes", 2 * test::kGiB}, {"share", "mps"}});
  ASSERT_THAT(parent, AllOf(HasSubstr("\nCUDA_MPS_PINNED_DEVICE_MEM_LIMIT="),
                            HasSubstr("\nCUDA_MPS_PIPE_DIRECTORY=")));
  EXPECT_THAT(environment_inside(parent, {{"vram_bytes", 10 * test::kGiB}}),
              Not(HasSubstr("CUDA_MPS_")));
}

TEST_F(Nested, IsNotToldWhatTheJobAroundItWasToldOfSlurm) {
  const std::string parent = environment_of(
      "export SLURM_STEP_ID=0 SLURM_PROCID=3; env",
      {{"environment", {"PATH=/usr/bin:/bin", "BERTH_SLURM=1", "SLURM_JOB_NAME=train"}}});
  ASSERT_THAT(parent, HasSubstr("\nSLURM_JOB_NAME=train\n"));
  EXPECT_THAT(environment_inside(parent, Json::object()), Not(HasSubstr("SLURM")));
}

TEST_F(Nested, HasNothingOfTheOthersCopyOfItsFolder) {
  const std::string copy = rig_.folder() / "berth/snapshots/1";
  const std::string parent = environment_of(
      test::Wish{{"env"},
                 {{"snapshot", copy},
                  {"environment",
                   {"PATH=/usr/bin:/bin", "BERTH_SNAPSHOT=" + copy, "BERTH_SUBMIT_DIR=/here"}}}});
  ASSERT_THAT(parent, HasSubstr("\nBERTH_SUBMIT_DIR=/here\n"));
  EXPECT_THAT(environment_inside(parent, Json::object()),
              AllOf(Not(HasSubstr("BERTH_SNAPSHOT")), Not(HasSubstr("BERTH_SUBMIT_DIR"))));
}

/// Two jobs are to meet at the port of the one that submits the other.
TEST_F(Nested, HasWhatItsSubmissionNames) {
  const std::string commands = (test::source_dir() / "clients/slurm/bin").string();
  const std::string berth = test::program("berth").string();
  const std::string begin = "export BERTH_SOCKET=" + rig_.socket() +
                            " XDG_STATE_HOME=" + rig_.folder().path().string() +
                            " PYTHONDONTWRITEBYTECODE=1 PATH=" + commands + ":$PATH; ";
  for (const std::string& door :
       {berth + " submit --vram 1G --env MASTER_PORT=$MASTER_PORT -- env",
        berth + " submit --vram 1G --env MASTER_PORT -- env",
        std::string("sbatch -G 1 --export=ALL,MASTER_PORT -o log --wrap=env")}) {
    const std::string parent = environment_of(begin + door + " >&2 && env", Json::object());
    const int id = std::stoi(value_in(parent, "BERTH_JOB_ID")) + 1;
    EXPECT_EQ(rig_.wait_end(id)["state"], "done") << door;
    const bool is_berth = door.starts_with(berth);
    const std::string child = "\n" + (is_berth ? rig_.log(id) : test::slurp(rig_.folder() / "log"));
    EXPECT_EQ(value_in(child, "MASTER_PORT"), port_of(parent)) << door;
    EXPECT_EQ(value_in(child, "PET_MASTER_PORT"), port_of(child)) << door;
  }
}

}  // namespace
}  // namespace berth
