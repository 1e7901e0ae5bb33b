// Goal: a spare is made ahead, one at a time, and one that could not be made says why. Method: the
// real berth-shim, in a folder that comes and goes.
#include "daemon/attempts/spares.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "support/paths.hpp"

namespace berth::daemon {
namespace {

namespace fs = std::filesystem;

class SparesTest : public testing::Test {
 protected:
  SparesTest() {
    std::string name = (fs::temp_directory_path() / "berth-spares-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) folder_ = name;
    fs::create_directory(logs());
    fs::create_directory(attempts());
  }
  ~SparesTest() override {
    while (waitpid(-1, nullptr, 0) > 0) {  // without their sockets they end
    }
    fs::remove_all(folder_);
  }

  fs::path attempts() const { return folder_ / "attempts"; }
  fs::path logs() const { return folder_ / "logs"; }
  SpareOptions options() const {
    return {.shim = test::program("berth-shim").string(),
            .attempts = attempts().string(),
            .logs = logs().string()};
  }
  /// As a launch does it, so that the next spare gets files of its own.
  void rename_files() const {
    for (const fs::path& path : {attempts(), logs()}) {
      fs::rename(spare_path(path.string()), path / "1.1");
    }
  }
  bool is_made_soon() const {
    for (int i = 0; i < 1000 && !fs::exists(spare_path(logs().string())); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return fs::exists(spare_path(logs().string()));
  }

 private:
  fs::path folder_;
};

TEST_F(SparesTest, OneWaitsFromTheBeginning) {
  const auto spares = Spares::open(options());
  ASSERT_TRUE(spares) << spares.error().message;
  const auto first = (*spares)->take();
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(kill(first->pid, 0), 0);
  EXPECT_TRUE(fs::exists(spare_path(attempts().string())));
}

TEST_F(SparesTest, TheNextIsMadeBeforeItIsTaken) {
  const auto spares = Spares::open(options());
  ASSERT_TRUE(spares) << spares.error().message;
  const auto first = (*spares)->take();
  ASSERT_TRUE(first) << first.error().message;
  rename_files();
  (*spares)->refill();
  EXPECT_TRUE(is_made_soon());
  const auto second = (*spares)->take();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_NE(first->pid, second->pid);
}

TEST_F(SparesTest, TakingWaitsForOneThatNobodyAskedFor) {
  const auto spares = Spares::open(options());
  ASSERT_TRUE(spares) << spares.error().message;
  pid_t before = 0;
  for (int i = 0; i < 3; ++i) {
    const auto spare = (*spares)->take();
    ASSERT_TRUE(spare) << spare.error().message;
    EXPECT_NE(spare->pid, before);
    before = spare->pid;
  }
}

TEST_F(SparesTest, OneThatCannotBeMadeSaysWhyAndTheNextIsTriedAnew) {
  const auto spares = Spares::open(options());
  ASSERT_TRUE(spares) << spares.error().message;
  ASSERT_TRUE((*spares)->take());
  fs::remove_all(attempts());
  (*spares)->refill();
  const auto failed = (*spares)->take();
  ASSERT_FALSE(failed);
  EXPECT_TRUE(failed.error().message.starts_with(spare_path(attempts().string())));
  fs::create_directory(attempts());
  const auto made = (*spares)->take();
  EXPECT_TRUE(made) << made.error().message;
}

TEST_F(SparesTest, WithoutTheProgramNothingOpens) {
  SpareOptions none = options();
  none.shim = (logs() / "absent").string();
  const auto spares = Spares::open(none);
  ASSERT_FALSE(spares);
  EXPECT_TRUE(spares.error().message.starts_with(none.shim));
}

}  // namespace
}  // namespace berth::daemon
