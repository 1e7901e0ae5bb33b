// Goal: the folder of a `berth run` that was killed does not stay for ever, and that of one that
// lives does, or is made again. Method: folders as runs make them, of ages that the test sets.
#include "cli/attend/rendezvous.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "support/process.hpp"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

class RendezvousTest : public testing::Test {
 protected:
  RendezvousTest() {
    if (const char* const before = std::getenv("XDG_RUNTIME_DIR")) before_ = before;
    setenv("XDG_RUNTIME_DIR", scratch_.path().c_str(), 1);
  }
  ~RendezvousTest() override {
    if (before_)
      setenv("XDG_RUNTIME_DIR", before_->c_str(), 1);
    else
      unsetenv("XDG_RUNTIME_DIR");
  }
  static void age(const fs::path& folder) {
    fs::last_write_time(folder, fs::file_time_type::clock::now() - std::chrono::minutes(2));
  }
  /// As of a run that was killed: its socket's file, bound by nobody.
  fs::path leave(const std::string& name) {
    const fs::path folder = fs::path(scratch_.path()) / name;
    fs::create_directory(folder);
    EXPECT_EQ(mknod((folder / "s").c_str(), S_IFSOCK | 0600, 0), 0);
    return folder;
  }

  test::ScratchFolder scratch_;
  std::optional<std::string> before_;
};

TEST_F(RendezvousTest, RemovesWhatAKilledRunLeft) {
  const fs::path old = leave("berth-run-aaaaaa");
  const fs::path fresh = leave("berth-run-bbbbbb");
  const fs::path others = leave("another-aaaaaa");
  age(old);
  age(others);
  const auto lives = Rendezvous::open();
  ASSERT_TRUE(lives) << lives.error().message;
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh)) << "it may be about to be bound";
  EXPECT_TRUE(fs::exists(others));
}

TEST_F(RendezvousTest, LeavesARunThatLives) {
  const auto lives = Rendezvous::open();
  ASSERT_TRUE(lives) << lives.error().message;
  age(fs::path(lives->path()).parent_path());
  ASSERT_TRUE(Rendezvous::open());
  EXPECT_TRUE(fs::exists(lives->path()));
}

TEST_F(RendezvousTest, IsMadeAgainWhereItWasDeleted) {
  auto place = Rendezvous::open();
  ASSERT_TRUE(place) << place.error().message;
  const fs::path socket = place->path();
  const int first = place->descriptor();
  place->keep();
  EXPECT_EQ(place->descriptor(), first) << "nothing was deleted";
  fs::remove(socket);
  place->keep();
  EXPECT_TRUE(fs::is_socket(socket));
  fs::remove_all(fs::canonical(socket.parent_path()));
  place->keep();
  EXPECT_TRUE(fs::is_socket(socket));
  fs::remove_all(fs::canonical(socket.parent_path()));
  std::ofstream(fs::path(scratch_.path()) / socket.parent_path().filename()) << "another's";
  place->keep();
  EXPECT_FALSE(fs::exists(socket));
}

}  // namespace
}  // namespace berth::cli
