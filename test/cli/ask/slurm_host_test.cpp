// Goal: a host of Slurm's is known by its commands and configuration, and a berth there asks Slurm
// without being told to.
#include "cli/ask/slurm_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/program.hpp"
#include "support/paths.hpp"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// PREFIX/bin with a program scontrol, as one that was built has it.
class SlurmHost : public testing::Test {
 protected:
  SlurmHost() {
    fs::create_directories(folder_.path() / "bin");
    fs::create_symlink("/bin/true", scontrol_);
  }
  std::string write(const fs::path& path) const {
    fs::create_directories((folder_.path() / path).parent_path());
    std::ofstream(folder_.path() / path) << "ClusterName=c\n";
    return folder_.path() / path;
  }

  test::ScratchFolder folder_;
  std::string bin_ = folder_.path() / "bin";
  fs::path scontrol_ = folder_.path() / "bin/scontrol";
};

TEST_F(SlurmHost, HasItsCommandsAndAConfiguration) {
  const std::string conf = write("slurm.conf");
  EXPECT_TRUE(is_slurm_host("/nowhere:" + bin_, conf));
  EXPECT_FALSE(is_slurm_host("/nowhere", conf)) << "no scontrol";
  EXPECT_FALSE(is_slurm_host("", ""));
  EXPECT_FALSE(is_slurm_host(bin_, conf + ".none"));
}

TEST_F(SlurmHost, MayHaveItsConfigurationBelowThePrefixOfItsCommands) {
  fs::remove(scontrol_);
  std::ofstream(scontrol_) << "\177ELF";
  fs::permissions(scontrol_, fs::perms::owner_all);
  if (is_slurm_host(bin_, "")) GTEST_SKIP() << "this machine has a slurm.conf in a usual place";
  write("etc/slurm.conf");
  EXPECT_TRUE(is_slurm_host(bin_, ""));
}

TEST_F(SlurmHost, IsNotMadeByBerthsOwnSlurmCommands) {
  const std::string conf = write("slurm.conf");
  fs::remove(scontrol_);
  std::ofstream(scontrol_) << "#!/usr/bin/python3 -IS\n";
  fs::permissions(scontrol_, fs::perms::owner_all);
  EXPECT_FALSE(is_slurm_host(bin_, conf));
}

TEST_F(SlurmHost, AsksSlurmWhereNoBerthdRuns) {
  if (fs::exists("/run/berth.sock")) GTEST_SKIP() << "a berthd is here";
  if (fs::exists("/run/berth-slurm.sock")) GTEST_SKIP() << "a berth-slurm is here";
  const std::string home = folder_.path();
  const auto berth = [&](std::vector<std::string> words, const std::string& conf) {
    return test::berth(std::move(words),
                       {.environment = {"PATH=" + bin_, "SLURM_CONF=" + conf, "BERTH_SOCKET=",
                                        "BERTH_BACKEND=", "HOME=" + home, "XDG_RUNTIME_DIR="}});
  };
  const std::string conf = write("slurm.conf");
  EXPECT_EQ(berth({"cancel", "7"}, conf).err,
            "berth: no berthd and no berth-slurm answers at /run/berth.sock and "
            "/run/berth-slurm.sock; without them Slurm schedules, and sbatch, scancel and scontrol "
            "do this\n");
  EXPECT_THAT(berth({"cancel", "7"}, conf + ".none").err, HasSubstr("no berthd answers at "));
}

}  // namespace
}  // namespace berth::cli
