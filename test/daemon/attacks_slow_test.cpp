// Goal: a job whose file system lets it wait for ever, before it runs, can be cancelled like any
// other. Method: the kernel asks this test before it runs the job's program, and gets no answer; a
// file system of the user's own (FUSE) would do the same.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include <filesystem>

#include "daemon/rig.hpp"

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

}  // namespace
}  // namespace berth
