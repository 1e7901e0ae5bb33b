// Goal: what a hostile user of the machine may try against others' jobs, against berthd and its
// files comes to nothing: doc/security.md. Method: a real berthd of root's on emulated GPUs; jobs
// and processes of two other users, one of whom attacks.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "daemon/rig.hpp"
#include "shim/proc.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

namespace fs = std::filesystem;

using test::as_user;
using test::eventually;
using test::Json;
using test::path;
using test::pid_of;
using test::request_as;
using test::Rig;
using testing::HasSubstr;
using testing::Not;

constexpr uid_t kOwner = 65534;
constexpr uid_t kStranger = 65533;

std::string proc(pid_t pid, const std::string& file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

std::ptrdiff_t descriptors_of(pid_t pid) {
  return std::distance(fs::directory_iterator(proc(pid, "fd")), {});
}

/// The states of a process's children: `S`, or `Z` for one that was not reaped.
std::string children_of(pid_t parent) {
  std::string states;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto stat = shim::stat_of(std::atoi(entry.path().filename().c_str()));
    if (stat && stat->parent == parent) states += stat->state;
  }
  return states;
}

/// Until it could not be started once.
void expect_tried_again(Rig& rig, int id) {
  eventually("it is tried again", [&] { return rig.job(id)["attempts"].size() > 1; });
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

/// A message that brings control data along. Returns: false if it could not be sent.
bool send_with(int socket, const std::string& text, int type, const void* data, std::size_t size) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) std::array<char, 256> control{};
  msghdr message{.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.data()};
  message.msg_controllen = CMSG_SPACE(size);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = type;
  header->cmsg_len = CMSG_LEN(size);
  std::memcpy(CMSG_DATA(header), data, size);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) >= 0;
}

int connected(int type, const std::string& path) {
  const int socket = ::socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(path);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return socket;
  }
  ::close(socket);
  return -1;
}

class Attacks : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be several users";
    fs::permissions(rig_.folder().path(), fs::perms(0711));
    rig_.start();
  }
  int submit_as(uid_t user, const std::string& script, const Json& more = Json::object()) {
    Json body = {{"command", {"sh", "-c", script}},
                 {"directory", "/"},
                 {"environment", {"PATH=/usr/bin:/bin"}},
                 {"gpus", 0}};
    body.update(more);
    const auto answer = request_as(rig_, user, "POST", "/v1/jobs", body);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return answer.status == 201 ? answer.body["id"].get<int>() : -1;
  }
  /// What a job of the stranger's writes.
  std::string said_by_stranger(const std::string& script) {
    const int id = submit_as(kStranger, script);
    rig_.wait_end(id);
    return rig_.log(id);
  }

  Rig rig_;
};

TEST_F(Attacks, OnlyTheEmulatedGpusAreForEverybodyToWrite) {
  rig_.submit("echo secret");
  const std::string state = rig_.state();
  EXPECT_EQ(said_by_stranger("cd " + state +
                             " && for f in . ..  *; do test -w $f && echo $f; done; true"),
            "emulated-gpus\n");
}

TEST_F(Attacks, JournalAttemptsAndLogsAreNobodysToRead) {
  rig_.wait_end(rig_.submit("echo secret"));
  EXPECT_EQ(said_by_stranger("cd " + rig_.state() +
                             " && for f in journal.db* attempts logs lock; do "
                             "test -r $f && echo $f; done; ls attempts logs 2>/dev/null; true"),
            "");
}

TEST_F(Attacks, TheSocketsCannotBeReplaced) {
  const auto try_all = [&] {
    for (const std::string& socket : {rig_.socket(), rig_.socket() + ".report"}) {
      if (::unlink(socket.c_str()) == 0) return 1;
      if (::rename(socket.c_str(), (socket + "2").c_str()) == 0) return 2;
      const sockaddr_un address = address_of(socket);
      const int own = ::socket(AF_UNIX, SOCK_STREAM, 0);
      if (::bind(own, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return 3;
    }
    return 0;
  };
  EXPECT_EQ(as_user(kStranger, try_all), 0);
  EXPECT_EQ(request_as(rig_, kStranger, "GET", "/v1/version").body["user"], 0);
}

TEST_F(Attacks, AnEnvironmentIsShownToNobody) {
  const int id = submit_as(kOwner, "sleep 1000", {{"environment", {"PATH=/bin", "KEY=xyzzy"}}});
  rig_.wait_for(id, "running");
  for (const uid_t user : {uid_t{0}, kOwner, kStranger}) {
    for (const std::string& target : {path(id), path(id, "/why"), std::string("/v1/jobs?all=1")}) {
      const auto answer = request_as(rig_, user, "GET", target);
      EXPECT_EQ(answer.status, 200);
      EXPECT_THAT(answer.body.dump(), Not(HasSubstr("xyzzy"))) << target;
    }
  }
  rig_.request("POST", path(id, "/cancel"));
}

TEST_F(Attacks, AJobsEnvironmentIsNotItsShims) {
  const std::string library = rig_.folder() / "evil.so";
  const int id = submit_as(
      kStranger, "sleep 1000",
      {{"environment", {"PATH=/bin", "LD_PRELOAD=" + library, "LD_LIBRARY_PATH=/tmp", "IFS=x"}}});
  rig_.wait_for(id, "running");
  const pid_t shim = rig_.shim_of(id);
  EXPECT_EQ(test::read_file(proc(shim, "environ")), "");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which are libraries
  EXPECT_THAT(test::read_file(proc(shim, "maps")), Not(HasSubstr(".so")));
#endif
  rig_.request("POST", path(id, "/cancel"));
}

TEST_F(Attacks, AJobMayNotTouchItsShim) {
  EXPECT_EQ(
      said_by_stranger("exec 2>/dev/null; kill -0 $PPID && echo signalled; "
                       "cat /proc/$PPID/environ && echo read; ls /proc/$PPID/fd && echo seen; "
                       "(echo x >/proc/$PPID/mem) && echo written; :"),
      "");
}

TEST_F(Attacks, AJobHoldsNothingOfBerthds) {
  EXPECT_THAT(said_by_stranger("ls /proc/self/fd; readlink /proc/self/fd/0 /proc/self/fd/1"),
              testing::MatchesRegex("0\n1\n2\n3\n/dev/null\npipe:.[0-9]*.\n"));
}

TEST_F(Attacks, NobodyReportsForAnothersJob) {
  const int id = submit_as(kOwner, "sleep 1000");
  rig_.wait_for(id, "running");
  const auto report = [&](const std::string& words) {
    const int socket = connected(SOCK_DGRAM, rig_.socket() + ".report");
    const std::string text = std::to_string(id) + words;
    const ucred forged{.pid = ::getppid(), .uid = 0, .gid = 0};
    if (send_with(socket, text, SCM_CREDENTIALS, &forged, sizeof forged)) return 1;
    return ::send(socket, text.data(), text.size(), 0) == std::ssize(text) ? 0 : 2;
  };
  EXPECT_EQ(as_user(kStranger, [&] { return report(" loss 1"); }), 0);
  EXPECT_EQ(as_user(kOwner, [&] { return report(" step 2"); }), 0);
  eventually("the owner's arrives", [&] { return rig_.job(id)["reports"].contains("step"); });
  EXPECT_EQ(rig_.job(id)["reports"].size(), 1U);
  rig_.request("POST", path(id, "/cancel"));
}

TEST_F(Attacks, DescriptorsThatAreSentAlongStayOutside) {
  const pid_t daemon = pid_of(rig_);
  const auto before = descriptors_of(daemon);
  const std::array sent = {0, 1, 2};
  const int reports = connected(SOCK_DGRAM, rig_.socket() + ".report");
  const int api = connected(SOCK_STREAM, rig_.socket());
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(send_with(reports, "1 step 1", SCM_RIGHTS, sent.data(), sizeof sent));
    EXPECT_TRUE(send_with(api, "GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n", SCM_RIGHTS,
                          sent.data(), sizeof sent));
    std::array<char, 4096> answer;
    EXPECT_GT(::recv(api, answer.data(), answer.size(), 0), 0);
  }
  EXPECT_LE(descriptors_of(daemon), before + 1);  // the connection
  ::close(reports);
  ::close(api);
}

TEST_F(Attacks, ALinkInPlaceOfALogIsNotFollowed) {
  const std::string target = rig_.folder().write("target", "as it was\n");
  fs::create_symlink(target, rig_.state() + "/logs/1.log");
  const int id = rig_.submit("echo over it");
  expect_tried_again(rig_, id);
  EXPECT_EQ(test::read_file(target), "as it was\n");
  rig_.request("POST", path(id, "/cancel"));
}

/// The journal of a machine that lost its power may know less than its logs do.
TEST_F(Attacks, ALogOfAJobThatACrashTookIsNotTheNextOnes) {
  const int known = submit_as(kOwner, "echo kept");
  rig_.wait_end(known);
  rig_.kill();
  const std::string lost = rig_.state() + "/logs/" + std::to_string(known + 1) + ".log";
  rig_.folder().write("state/logs/" + std::to_string(known + 1) + ".log", "secret\n");
  rig_.start();
  EXPECT_FALSE(fs::exists(lost));
  EXPECT_EQ(said_by_stranger("echo own"), "own\n");
  EXPECT_EQ(rig_.log(known), "kept\n");
}

TEST_F(Attacks, ShimsThatHeldNothingAreCollected) {
  const pid_t daemon = pid_of(rig_);
  eventually("a spare waits", [&] { return children_of(daemon) == "S"; });
  fs::rename(rig_.state() + "/logs", rig_.state() + "/elsewhere");
  const int id = rig_.submit("true");
  expect_tried_again(rig_, id);
  fs::rename(rig_.state() + "/elsewhere", rig_.state() + "/logs");
  EXPECT_EQ(rig_.wait_end(id)["state"], "done");
  eventually("only the spare is left", [&] { return children_of(daemon) == "S"; });
}

TEST(AttacksCgroup, ThatNoShimCameToRemoveIsRemoved) {
  const test::ScratchFolder groups;  // makes and removes folders as a cgroup would
  Rig rig({.config = "probe = \"100ms\"\ncgroup = \"" + groups.path().string() + "\"\n"});
  rig.start();
  fs::rename(rig.state() + "/logs", rig.state() + "/elsewhere");
  const int id = rig.submit("true");
  expect_tried_again(rig, id);
  EXPECT_FALSE(fs::is_empty(groups.path()));
  fs::rename(rig.state() + "/elsewhere", rig.state() + "/logs");
  rig.wait_end(id);
  eventually("nothing is left", [&] { return fs::is_empty(groups.path()); });
}

}  // namespace
}  // namespace berth
