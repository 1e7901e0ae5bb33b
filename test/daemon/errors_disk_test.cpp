// Goal: a disk that is full, read-only or wrong refuses what is new and loses nothing of what runs.
// Method: a real berthd on a disk of its own in memory, which the test fills; skipped where we may
// not mount (trouble_test.cpp fills a disk by a limit on the size of files, which needs no rights).
// Damage is done to the journal's pages while no daemon is there.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "daemon/rig.hpp"
#include "daemon/small_disk.hpp"
#include "journal/support.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::kNoGpus;
using test::path;
using test::Rig;
using test::slurp;
using testing::AllOf;
using testing::AnyOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

Json smallest_at_root() {
  return {{"command", {"true"}}, {"directory", "/"}, {"environment", Json::array()}};
}

class ErrorsDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (!disk_.is_there()) GTEST_SKIP() << "may not mount a disk of our own";
  }
  /// Jobs that end with 3 once the test says so.
  std::vector<int> submit_waiting(int count) {
    std::vector<int> ids;
    for (int i = 0; i < count; ++i) {
      ids.push_back(rig_.submit("while [ ! -e go ]; do sleep 0.01; done; exit 3", kNoGpus));
    }
    for (const int id : ids) rig_.wait_for(id, "running");
    return ids;
  }
  void expect_full() {
    const auto refused = rig_.request("POST", "/v1/jobs", smallest_at_root());
    EXPECT_EQ(refused.status, 507) << refused.body;
    const auto said = refused.body["error"].get<std::string>();
    // Which of the two is met first depends on how much of the disk the log has taken already.
    const std::string what = "nothing was changed: " + rig_.journal() + ": ";
    const auto is_short = AllOf(StartsWith(what + "its disk has "),
                                EndsWith("B free, jobs are taken in from 32 MiB on"));
    const std::string is_none =
        what + "no room for its log can be set aside: No space left on device";
    EXPECT_THAT(said, AnyOf(is_short, is_none));
  }

  const test::ScratchFolder folder_;
  const test::SmallDisk disk_{folder_.path().string(), "96m"};
  Rig rig_{{.state = disk_.folder()}};
};

TEST_F(ErrorsDisk, AFullOneKeepsTheEndsOfWhatRuns) {
  rig_.start();
  const std::vector<int> ids = submit_waiting(20);
  const int cancelled = rig_.submit("sleep 1000", kNoGpus);
  const int noisy = rig_.submit("cat /dev/zero", kNoGpus);  // takes whatever gets free
  rig_.wait_for(cancelled, "running");
  rig_.wait_for(noisy, "running");
  disk_.fill();
  expect_full();
  EXPECT_EQ(rig_.request("POST", path(cancelled, "/cancel")).status, 200);
  EXPECT_EQ(rig_.wait_end(cancelled)["state"], "cancelled");
  rig_.folder().write("go", "");
  for (const int id : ids) EXPECT_EQ(rig_.wait_end(id)["exit_code"], 3);
  EXPECT_EQ(rig_.request("POST", path(noisy, "/cancel")).status, 200);
  EXPECT_EQ(rig_.wait_end(noisy)["state"], "cancelled");
  expect_full();
  disk_.make_room();
  std::filesystem::remove(rig_.state() + "/logs/" + std::to_string(noisy) + ".log");
  test::eventually("its shim lets go of the log", [&] {
    return std::filesystem::space(disk_.folder()).available > (std::size_t{40} << 20);
  });
  const int next = rig_.submit("true");
  EXPECT_EQ(next, noisy + 1);  // refused ones took no number
  EXPECT_EQ(rig_.wait_end(next)["state"], "done");
}

/// Who submits is told; an administrator reads berthd's own log.
TEST_F(ErrorsDisk, AFullOneIsLoggedOnceAndOnceItIsOver) {
  rig_.start();
  disk_.fill();
  expect_full();
  expect_full();
  disk_.make_room();
  EXPECT_EQ(rig_.wait_end(rig_.submit("true"))["state"], "done");
  EXPECT_EQ(rig_.stop(), 0);
  const std::string log = test::slurp(rig_.folder() / "daemon.log");
  const std::size_t first = log.find(": new jobs are refused\n");
  EXPECT_NE(first, std::string::npos) << log;
  EXPECT_EQ(first, log.rfind(": new jobs are refused\n")) << log;
  EXPECT_NE(log.find("berthd: there is room again: new jobs are taken in\n"), std::string::npos)
      << log;
}

TEST_F(ErrorsDisk, AFullOneIsStartedOn) {
  rig_.start();
  const std::vector<int> ids = submit_waiting(5);
  disk_.fill();
  rig_.kill();
  rig_.folder().write("go", "");
  rig_.start();
  for (const int id : ids) EXPECT_EQ(rig_.wait_end(id)["exit_code"], 3);
  expect_full();
  EXPECT_EQ(rig_.stop(), 0);
  disk_.make_room();
  rig_.start();
  for (const int id : ids) EXPECT_EQ(rig_.job(id)["exit_code"], 3);
  EXPECT_EQ(rig_.wait_end(rig_.submit("true"))["state"], "done");
}

/// What waits is not used up by starts that must fail: it begins once there is room.
TEST_F(ErrorsDisk, AFullOneLosesNobodyWhoWaits) {
  rig_.start();
  const int runs =
      rig_.submit("while [ ! -e go ]; do sleep 0.01; done", {{"gpus", 2}, {"exclusive", true}});
  const int waits = rig_.submit("exit 5", {{"gpus", 2}, {"exclusive", true}});
  rig_.wait_for(runs, "running");
  disk_.fill();
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(runs)["state"], "done");
  EXPECT_THAT(rig_.job(waits)["state"].get<std::string>(),
              testing::AnyOf("starting", "running", "failed"));
  disk_.make_room();
  EXPECT_EQ(rig_.wait_end(waits)["exit_code"], 5);
}

/// Of a disk with room, on which no file can be made: nothing that waits is used up either.
TEST(ErrorsSmallDisk, WithoutInodesLosesNobodyWhoWaits) {
  const test::ScratchFolder folder;
  const test::SmallDisk disk(folder.path().string(), "96m,nr_inodes=400");
  if (!disk.is_there()) GTEST_SKIP() << "may not mount a disk of our own";
  Rig rig({.state = disk.folder()});
  rig.start();
  std::vector<int> ids(4);  // more than there are spare shims, which have their files already
  for (int& id : ids) {
    Json held = kNoGpus;
    held["held"] = true;
    id = rig.submit(test::kUntilGo, held);
  }
  const std::string files = disk.folder() + "/files";
  std::filesystem::create_directory(files);
  for (int i = 0; std::ofstream(files + "/" + std::to_string(i)).is_open(); ++i) {
  }
  const auto refused = rig.request("POST", "/v1/jobs", smallest_at_root());
  EXPECT_EQ(refused.status, 507) << refused.body;
  EXPECT_EQ(refused.body["error"], "nothing was changed: " + rig.journal() +
                                       ": its disk has room for 0 files (df -i), jobs are taken in "
                                       "from 128 on");
  EXPECT_THAT(rig.text("/v1/doctor"), HasSubstr("its disk has room for 0 files"));
  for (const int id : ids) EXPECT_EQ(rig.request("POST", path(id, "/release")).status, 200);
  const int last = ids.back();
  eventually("a start failed",
             [&] { return std::string(rig.job(last)["reason"]).contains("could not be started"); });
  std::this_thread::sleep_for(std::chrono::seconds(4));  // in which more tries were once made
  EXPECT_THAT(std::string(rig.job(last)["reason"]), HasSubstr("(try 1 of 24"));
  std::filesystem::remove_all(files);
  rig.folder().write("go", "");
  for (const int id : ids) EXPECT_EQ(rig.wait_end(id)["exit_code"], 3);
  EXPECT_EQ(rig.job(last)["attempts"][0]["note"], "was not started");
}

/// From the start there is too little to set aside.
TEST(ErrorsSmallDisk, TakesNoJobs) {
  const test::ScratchFolder folder;
  const test::SmallDisk disk(folder.path().string(), "24m");
  if (!disk.is_there()) GTEST_SKIP() << "may not mount a disk of our own";
  Rig rig({.state = disk.folder()});
  rig.start();
  const auto refused = rig.request("POST", "/v1/jobs", smallest_at_root());
  EXPECT_EQ(refused.status, 507) << refused.body;
  EXPECT_EQ(refused.body["error"],
            "nothing was changed: " + rig.journal() +
                ": no room for its log can be set aside: No space left on device");
}

TEST_F(ErrorsDisk, AReadOnlyOneIsNamedAtTheStart) {
  rig_.start();
  const int id = rig_.submit("exit 3");
  rig_.wait_end(id);
  EXPECT_EQ(rig_.stop(), 0);
  eventually("nobody writes there", [&] { return disk_.make_read_only(); });
  const auto refused = rig_.start_refused();
  EXPECT_EQ(refused.exit_code, 125);
  EXPECT_EQ(refused.err, "berthd: " + rig_.state() + "/lock: Read-only file system\n");
  ASSERT_TRUE(disk_.make_writable());
  rig_.start();
  EXPECT_EQ(rig_.job(id)["exit_code"], 3);
}

// ---- Files -----------------------------------------------------------------------------------

/// No write to this file succeeds while it lives; not on every file system, nor without root.
class Sealed {
 public:
  explicit Sealed(const std::string& path) : file_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    works_ =
        ::ioctl(file_.number(), FS_IOC_GETFLAGS, &before_) == 0 && set(before_ | FS_IMMUTABLE_FL);
    // Some file systems know the flag and let those write that have the file open.
    char first = 0;
    if (works_ && ::pread(file_.number(), &first, 1, 0) == 1 &&
        ::pwrite(file_.number(), &first, 1, 0) == 1) {
      set(before_);
      works_ = false;
    }
  }
  ~Sealed() {
    if (works_) set(before_);
  }
  bool works() const { return works_; }

 private:
  bool set(int flags) { return ::ioctl(file_.number(), FS_IOC_SETFLAGS, &flags) == 0; }

  Descriptor file_;
  int before_ = 0;
  bool works_ = false;
};

/// As a disk that becomes read-only under a daemon does it: what is open cannot be written any
/// more.
TEST(ErrorsJournal, OneThatCannotBeWrittenAnyMoreIsNamedAndTriedAgain) {
  Rig rig;
  rig.start();
  const int id = rig.submit("while [ ! -e go ]; do sleep 0.01; done; exit 4", kNoGpus);
  rig.wait_for(id, "running");
  {
    const Sealed sealed(rig.journal() + "-wal");
    if (!sealed.works()) GTEST_SKIP() << "this file system seals nothing";
    const auto refused = rig.request("POST", "/v1/jobs", smallest_at_root());
    EXPECT_EQ(refused.status, 507) << refused.body;
    EXPECT_EQ(refused.body["error"], "nothing was changed: " + rig.journal() + ": disk I/O error");
    rig.folder().write("go", "");
    eventually("its shim ends", [&] { return !test::is_alive(rig.shim_of(id)); });
    EXPECT_EQ(rig.job(id)["state"], "running");
    EXPECT_THAT(rig.text("/v1/doctor"), HasSubstr("the journal cannot be written: until it can"));
    EXPECT_THAT(rig.text("/metrics"), HasSubstr("\nberth_journal_unwritten 1\n"));
  }
  EXPECT_EQ(rig.wait_end(id)["exit_code"], 4);
  EXPECT_THAT(rig.text("/v1/doctor"), testing::Not(HasSubstr("cannot be written")));
  EXPECT_THAT(rig.text("/metrics"), HasSubstr("\nberth_journal_unwritten 0\n"));
}

void overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

TEST(ErrorsJournal, ADamagedPageIsNamedAndTheJobGoesOn) {
  Rig rig;
  rig.start();
  const int id = rig.submit("while [ ! -e go ]; do sleep 0.01; done; exit 4");
  rig.wait_for(id, "running");
  EXPECT_EQ(rig.stop(), 0);
  const std::string whole = slurp(rig.journal());
  constexpr std::size_t kPage = 4096;
  ASSERT_GT(whole.size(), 4 * kPage);
  std::string damaged = whole;  // the snapshot and the entries, wherever they are
  damaged.replace(2 * kPage, whole.size() - 2 * kPage, whole.size() - 2 * kPage, '\xff');
  overwrite(rig.journal(), damaged);
  const auto refused = rig.start_refused();
  EXPECT_EQ(refused.exit_code, 125);
  EXPECT_EQ(refused.err, "berthd: " + rig.journal() + ": database disk image is malformed\n");
  EXPECT_EQ(slurp(rig.journal()), damaged);  // no new file replaces it
  overwrite(rig.journal(), whole);
  rig.start();
  EXPECT_EQ(rig.job(id)["state"], "running");
  rig.folder().write("go", "");
  EXPECT_EQ(rig.wait_end(id)["exit_code"], 4);
}

/// Two jobs that were answered, one of which runs, and a berthd that is gone. Returns: the one that
/// runs, until there is a file `go`.
int leave_a_running_job(Rig& rig) {
  rig.start();
  rig.wait_end(rig.submit("echo first"));
  const int id = rig.submit("while [ ! -e go ]; do sleep 0.01; done; exit 4");
  rig.wait_for(id, "running");
  rig.kill();
  return id;
}

TEST(ErrorsJournal, ATurnedByteInItsLogLosesNothingUnasked) {
  Rig rig;
  const int id = leave_a_running_job(rig);
  const std::string log = rig.journal() + "-wal";
  const std::string whole = slurp(log);
  std::string turned = whole;
  const std::size_t at = whole.find_last_not_of('\0') / 3;  // behind that it is written ahead
  turned[at] = static_cast<char>(turned[at] ^ 1);
  overwrite(log, turned);
  const auto refused = rig.start_refused();
  EXPECT_EQ(refused.exit_code, 125);
  EXPECT_THAT(refused.err, testing::StartsWith("berthd: " + log + ": frame "));
  EXPECT_THAT(refused.err, testing::HasSubstr(" is damaged; entry "));
  EXPECT_THAT(refused.err,
              testing::EndsWith("or go on without what is lost: berthd --accept-loss\n"));
  EXPECT_TRUE(slurp(log) == turned);
  EXPECT_TRUE(test::is_alive(rig.shim_of(id)));
  overwrite(log, whole);
  rig.start();
  rig.folder().write("go", "");
  EXPECT_EQ(rig.wait_end(id)["exit_code"], 4);
}

TEST(ErrorsJournal, WhatIsLostIsMovedAsideAndItsNumbersStayTaken) {
  Rig rig;
  const int id = leave_a_running_job(rig);
  for (const char* const end : {"", "-wal"}) std::filesystem::remove(rig.journal() + end);
  const auto refused = rig.start_refused();
  EXPECT_EQ(refused.exit_code, 125);
  EXPECT_THAT(refused.err, testing::HasSubstr(": is not there; entry "));
  EXPECT_EQ(slurp(rig.state() + "/logs/1.log"), "first\n");
  rig.start({"--accept-loss"});
  EXPECT_EQ(slurp(rig.state() + "/aside/1.log"), "first\n");
  EXPECT_TRUE(test::is_alive(rig.shim_of(id))) << "it goes on";
  EXPECT_EQ(rig.request("GET", "/v1/jobs/1").status, 404);
  EXPECT_EQ(rig.submit("true"), id + 1);
  rig.stop();
  rig.start();
  EXPECT_EQ(rig.submit("true"), id + 2);
  rig.folder().write("go", "");
}

/// Not even the mark is left; the names of logs and attempts are.
TEST(ErrorsJournal, ThatIsGoneWithAllThatBelongsToItUsesNoNumberAgain) {
  Rig rig;
  const int id = leave_a_running_job(rig);
  for (const char* const end : {"", "-wal", "-mark"}) std::filesystem::remove(rig.journal() + end);
  rig.start();
  EXPECT_EQ(slurp(rig.state() + "/aside/1.log"), "first\n");
  EXPECT_TRUE(test::is_alive(rig.shim_of(id)));
  EXPECT_EQ(rig.submit("true"), id + 1);
  rig.folder().write("go", "");
}

TEST(ErrorsJournal, ADamagedRowIsNamedAmongTheOthers) {
  Rig rig;
  rig.start();
  for (int i = 1; i <= 3; ++i) rig.wait_end(rig.submit("exit 3"));
  EXPECT_EQ(rig.stop(), 0);
  test::Sql(rig.journal()).run("UPDATE jobs SET code = 0, name = 'fine' WHERE id = 2");
  test::Sql(rig.journal()).run("UPDATE attempts SET code = 0 WHERE job = 3");
  rig.start();
  const Json list = rig.request("GET", "/v1/jobs?all=1").body["jobs"];
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[1]["state"], "lost");
  EXPECT_EQ(list[1]["exit_code"], 125);
  EXPECT_EQ(list[1]["name"], "");
  EXPECT_TRUE(list[1]["user"].is_null());
  EXPECT_EQ(list[1]["note"], "job 2: its row is damaged");
  for (const std::size_t other : {0U, 2U}) EXPECT_EQ(list[other]["exit_code"], 3);
  EXPECT_EQ(rig.job(2)["note"], "job 2: its row is damaged");
  EXPECT_EQ(rig.job(3)["damaged"], Json::array({"its attempt 1"}));
  EXPECT_TRUE(rig.job(3)["attempts"].empty());
}

TEST(ErrorsFiles, AnAttemptFileThatIsDamagedIsNotBelieved) {
  Rig rig;
  const int id = leave_a_running_job(rig);
  const std::string name = "/" + std::to_string(id) + ".1";
  const std::string path = rig.state() + "/attempts" + name;
  rig.folder().write("go", "");
  eventually("its shim ends", [&] { return !test::is_alive(rig.shim_of(id)); });
  std::string text = slurp(path);
  const std::size_t code = text.find("code 4");
  ASSERT_NE(code, std::string::npos);
  text[code + 5] = '0';
  overwrite(path, text);
  rig.start();
  const Json job = rig.wait_end(id);
  EXPECT_EQ(job["state"], "lost");
  EXPECT_EQ(slurp(rig.state() + "/aside" + name), text);
}

TEST(ErrorsJournal, AFileOfSomethingElseIsNamed) {
  Rig rig;
  std::filesystem::create_directories(rig.state());
  overwrite(rig.journal(), "my notes\n");
  const auto refused = rig.start_refused();
  EXPECT_EQ(refused.exit_code, 125);
  EXPECT_EQ(refused.err, "berthd: " + rig.journal() + ": file is not a database\n");
  EXPECT_EQ(slurp(rig.journal()), "my notes\n");
}

/// By the machine's fault, which may pass: tried again, once a second.
TEST(ErrorsFiles, AJobThatCannotBeStartedIsTriedAgain) {
  Rig rig;
  rig.start();
  const std::string attempts = rig.state() + "/attempts";
  std::filesystem::rename(attempts, attempts + ".away");
  const int id = rig.submit("exit 3");
  eventually("it was tried", [&] { return rig.job(id)["attempts"].size() > 1; });
  std::filesystem::rename(attempts + ".away", attempts);
  const Json job = rig.wait_end(id);
  EXPECT_EQ(job["exit_code"], 3);
  EXPECT_GE(job["attempts"].size(), 2U);
}

}  // namespace
}  // namespace berth
