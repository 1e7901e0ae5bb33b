// Goal: a job that waits for a job which waits for it is told so, as neither would end; and what
// jobs that were written for Slurm read is there.
//
// Method: a real berthd, and jobs that call berth or print their environment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "daemon/loop/processes.hpp"
#include "daemon/rig.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::Rig;
using testing::HasSubstr;

TEST(OwnWait, ForAJobThatRunsAfterThisOneIsTold) {
  Rig rig;
  rig.start();
  const std::string berth = test::program("berth").string();
  const int waits =
      rig.submit("until [ -e number ]; do sleep 0.01; done; BERTH_SOCKET=" + rig.socket() +
                     " exec " + berth + " wait $(cat number)",
                 test::kNoGpus);
  Json wish = test::kNoGpus;
  wish["after"] = {{{"job", waits}}};
  const int between = rig.submit("true", wish);
  wish["after"] = {{{"job", between}}};
  const int last = rig.submit("true", wish);
  rig.folder().write("number.new", std::to_string(last));
  std::filesystem::rename(rig.folder() / "number.new", rig.folder() / "number");
  eventually("it is told", [&] {
    return rig.log(waits).find("runs after job " + std::to_string(waits) +
                               ", in which this waits: neither may end") != std::string::npos;
  });
  rig.request("POST", test::path(waits, "/cancel"));
  rig.wait_end(waits);
}

TEST(OwnWait, ForAJobThatNeedsThePlaceOfThisOneIsTold) {
  Rig rig({.gpus = "1x24GiB"});
  rig.start();
  const int waits =
      rig.submit("until [ -e number ]; do sleep 0.01; done; BERTH_SOCKET=" + rig.socket() +
                     " exec " + test::program("berth").string() + " wait $(cat number)",
                 {{"vram_bytes", 20 * test::kGiB}});
  rig.wait_for(waits, "running");
  const int needs = rig.submit("true", {{"vram_bytes", 20 * test::kGiB}});
  rig.folder().write("number.new", std::to_string(needs));
  std::filesystem::rename(rig.folder() / "number.new", rig.folder() / "number");
  test::eventually("it is told", [&] {
    return rig.log(waits).find("needs memory of job " + std::to_string(waits) +
                               ", in which this waits: neither may end") != std::string::npos;
  });
  rig.request("POST", test::path(waits, "/cancel"));
  rig.wait_end(needs);
}

TEST(OwnWait, ForTheJobItselfIsTold) {
  Rig rig;
  rig.start();
  const int id = rig.submit("BERTH_SOCKET=" + rig.socket() + " exec " +
                                test::program("berth").string() + " wait $BERTH_JOB_ID",
                            test::kNoGpus);
  eventually("it is told", [&] {
    return rig.log(id).find("is the job in which this waits") != std::string::npos;
  });
  rig.request("POST", test::path(id, "/cancel"));
  rig.wait_end(id);
}

TEST(SlurmVariables, AreToldToAJobThatSaysItWasWrittenForSlurm) {
  Rig rig;
  rig.start();
  const int id = rig.submit(
      "env | sort", {{"vram_bytes", test::kGiB},
                     {"cpus", 2},
                     {"environment",
                      {"PATH=/usr/bin:/bin", "USER=ann", "BERTH_SLURM=1", "SLURM_JOB_NAME=train",
                       "SLURM_JOB_ID=77", "SLURM_JOB_PARTITION=gpu", "MASTER_PORT=1234"}}});
  EXPECT_EQ(rig.wait_end(id)["state"], "done");
  const std::string log = "\n" + rig.log(id);
  for (const std::string& line :
       {"SLURM_JOB_ID=" + std::to_string(id), "SLURM_JOBID=" + std::to_string(id),
        std::string("SLURM_JOB_NAME=train"), std::string("SLURM_JOB_PARTITION=gpu"),
        std::string("SLURM_JOB_GPUS=0"), std::string("SLURM_GPUS_ON_NODE=1"),
        std::string("SLURM_CPUS_ON_NODE=2"), std::string("SLURM_NNODES=1"),
        std::string("SLURM_PROCID=0"), "SLURM_JOB_USER=" + daemon::UserNames().of(::geteuid()),
        std::string("MASTER_PORT=1234")}) {
    EXPECT_THAT(log, HasSubstr("\n" + line + "\n"));
  }
  EXPECT_THAT(log, HasSubstr("PET_MASTER_PORT=2")) << "torchrun has a port of its own";
  const int plain = rig.submit("env", {{"vram_bytes", test::kGiB}});
  EXPECT_EQ(rig.wait_end(plain)["state"], "done");
  EXPECT_THAT(rig.log(plain), testing::Not(HasSubstr("SLURM_")));
  EXPECT_THAT(rig.log(plain), HasSubstr("MASTER_PORT=2"));
}

TEST(QueueVariables, AreToldToAJobThatWasWrittenForPbsLsfOrGridEngine) {
  Rig rig;
  rig.start();
  const Json from = {"PATH=/usr/bin:/bin", "PBS_O_WORKDIR=/a", "LS_SUBCWD=/a", "SGE_O_WORKDIR=/a"};
  const auto told = [&](const Json& wishes) {
    Json wish = test::without_gpus({{"environment", from}, {"cpus", 1.5}});
    wish.update(wishes);
    const int id = rig.submit("env", wish);
    EXPECT_EQ(rig.wait_end(id)["state"], "done");
    return std::pair(std::to_string(id), "\n" + rig.log(id));
  };
  const auto [single, log] = told(Json::object());
  for (const std::string& line :
       {"PBS_JOBID=" + single, "LSB_JOBID=" + single, "JOB_ID=" + single,
        std::string("LSB_JOBINDEX=0"), std::string("SGE_TASK_ID=undefined"), std::string("NCPUS=2"),
        std::string("LSB_DJOB_NUMPROC=2"), std::string("NSLOTS=2")}) {
    EXPECT_THAT(log, HasSubstr("\n" + line + "\n"));
  }
  EXPECT_THAT(log, testing::Not(HasSubstr("PBS_ARRAY_INDEX")));
  const auto [array, of_task] = told({{"array", "7"}});
  for (const std::string& line : {"PBS_JOBID=" + array + "[7]", "LSB_JOBID=" + array,
                                  "JOB_ID=" + array, std::string("PBS_ARRAY_INDEX=7"),
                                  std::string("LSB_JOBINDEX=7"), std::string("SGE_TASK_ID=7")}) {
    EXPECT_THAT(of_task, HasSubstr("\n" + line + "\n"));
  }
  const int plain = rig.submit("env", test::kNoGpus);
  EXPECT_EQ(rig.wait_end(plain)["state"], "done");
  for (const char* const name : {"PBS_", "LSB_", "\nJOB_ID", "SGE_", "NSLOTS"}) {
    EXPECT_THAT("\n" + rig.log(plain), testing::Not(HasSubstr(name)));
  }
}

}  // namespace
}  // namespace berth
