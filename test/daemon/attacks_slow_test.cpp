// Goal: a job whose file system lets it wait for ever, before it runs, can be cancelled like any
// other. Method: the kernel asks this test before it runs the job's program, and gets no answer; a
// file system of the user's own (FUSE) would do the same.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/fanotify.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "daemon/rig.hpp"
#include "support/unanswered.hpp"

namespace berth {
namespace {

using test::Json;
using test::Rig;

/// No open of this file for running it comes to its end while this lives.
class Hanging {
 public:
  explicit Hanging(const std::string& program)
      : asked_(fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY)) {
    is_set_ = asked_ >= 0 && fanotify_mark(asked_, FAN_MARK_ADD, FAN_OPEN_EXEC_PERM, AT_FDCWD,
                                           program.c_str()) == 0;
  }
  Hanging(const Hanging&) = delete;
  Hanging& operator=(const Hanging&) = delete;
  ~Hanging() { ::close(asked_); }
  bool is_set() const { return is_set_; }

 private:
  int asked_;
  bool is_set_ = false;
};

TEST(AttacksHang, AJobThatWaitsForItsFileSystemCanBeCancelled) {
  Rig rig;
  rig.start();
  const std::string program = rig.folder() / "program";
  std::filesystem::copy_file("/bin/true", program);
  const Hanging hanging(program);
  if (!hanging.is_set()) GTEST_SKIP() << "needs root, and a kernel that asks";
  test::Wish wish;
  wish.command.push_back(program);
  const int id = rig.submit(wish);
  rig.wait_for(id, "starting");
  const pid_t shim = rig.shim_of(id);
  rig.request("POST", "/v1/jobs/" + std::to_string(id) + "/cancel");
  const Json job = rig.wait_end(id);
  EXPECT_EQ(job["state"].get<std::string>(), "cancelled") << job;
  EXPECT_FALSE(test::is_alive(shim));
  const Json next = rig.wait_end(rig.submit("true"));
  EXPECT_EQ(next["state"].get<std::string>(), "done") << next;
}

/// Whether a process is in a system call on this file: `1 0x5 ..` in proc(5) is write(2) to 5.
bool waits_for(pid_t process, const std::string& path) {
  const std::filesystem::path there = "/proc/" + std::to_string(process);
  std::ifstream file(there / "syscall");
  std::string call;
  std::string first;
  file >> call >> first;
  if (!first.starts_with("0x")) return false;
  const std::uint64_t number = std::stoull(first, nullptr, 16);
  std::error_code is_none;
  return std::filesystem::read_symlink(there / "fd" / std::to_string(number), is_none) == path;
}

/// As one whose log is on a disk that hangs: its second attempt's is on a file system that takes
/// nothing, and not even SIGKILL ends a process that waits for that.
TEST(AttacksHang, AShimThatSigkillDoesNotEndIsGivenUp) {
  Rig rig({.gpus = "1x24GiB"});
  std::filesystem::create_directory(rig.folder() / "silent");
  const test::Unanswered silent(rig.folder() / "silent");
  if (::geteuid() != 0 || !silent.is_there()) GTEST_SKIP() << "needs root and FUSE";
  rig.start();
  const int id = rig.submit("while [ ! -e go ]; do sleep 0.01; done; echo x; exit 75",
                            {{"requeue_on", {75}}, {"vram_bytes", nullptr}});
  rig.wait_for(id, "running");
  const std::string log = rig.state() + "/logs/" + std::to_string(id) + ".log";
  ASSERT_EQ(::mount(silent.file().c_str(), log.c_str(), nullptr, MS_BIND, nullptr), 0);
  rig.folder().write("go", "");
  pid_t shim = 0;
  test::eventually("its second attempt is there", [&] {
    const auto attempt = rig.state() + "/attempts/" + std::to_string(id) + ".2";
    shim = std::filesystem::exists(attempt) ? rig.shim_of(id, 2) : 0;
    return shim > 0;
  });
  test::eventually("it waits for its log", [&] { return waits_for(shim, log); });
  rig.request("POST", test::path(id, "/cancel"));
  const int waits = rig.submit("true", {{"vram_bytes", nullptr}});  // the whole GPU
  Json job = rig.job(id);
  for (int waited = 0; waited < 600 && job["state"] != "cancelled"; ++waited) {
    ::usleep(100'000);
    job = rig.job(id);
  }
  EXPECT_EQ(job["state"].get<std::string>(), "cancelled") << job;
  EXPECT_NE(job["note"].get<std::string>().find("is given up"), std::string::npos) << job;
  EXPECT_TRUE(test::is_alive(shim)) << "it hangs";
  EXPECT_EQ(rig.wait_end(waits)["state"], "done");
  ::umount2(log.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace berth
