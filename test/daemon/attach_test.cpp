// Goal: a terminal leaves its job and another returns to it, also under another berthd; nobody but
// the job's user does. Method: a real daemon, and the real program in terminals of python's pty.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "daemon/rig.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::Rig;
using testing::HasSubstr;

/// A terminal of 40 x 111 with `berth` in it: what is typed once each text has come, and its code.
constexpr const char* kTerminal = R"(
import fcntl, os, pty, struct, sys, termios
words, acts = sys.argv[1].split(), sys.argv[2:]
pid, screen = pty.fork()
if pid == 0:
    os.execvp(words[0], words)
fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 111, 0, 0))
seen = b""
def read():
    global seen
    try:
        got = os.read(screen, 4096)
    except OSError:
        got = b""
    seen += got
    return got
for act in acts:
    awaited, typed = act.split("|")
    while awaited.encode() not in seen:
        if not read():
            sys.exit("ended before " + awaited + " came: " + seen.decode())
    seen = seen.split(awaited.encode(), 1)[1]
    if typed == "CLOSE":
        os.close(screen)
        break
    os.write(screen, typed.replace("RETURN", "\r").encode())
while read():
    pass
print(seen.decode())
print("code", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
)";

/// Answers every line, with the size of its terminal; ends with 5 at `end`.
constexpr const char* kAnswers =
    "echo ready; while read line; do [ $line = end ] && exit 5; echo got-$line $(stty size); done; "
    "exit 6";

class AttachTest : public testing::Test {
 protected:
  AttachTest() {
    rig_.start();
    rig_.folder().write("terminal.py", kTerminal);
    rig_.folder().write("answers", kAnswers);
  }
  /// `acts` as AWAITED|TYPED.
  test::Ran terminal(const std::string& words, const std::string& acts) {
    const std::string script =
        rig_.folder().write("script", "export BERTH_SOCKET=" + rig_.socket() +
                                          " PATH=" + test::program("berth").parent_path().string() +
                                          ":$PATH\ncd " + rig_.folder().path().string() +
                                          "\npython3 terminal.py '" + words + "' " + acts + "\n");
    return test::run_program("/bin/bash", {script});
  }

  Rig rig_;
};

TEST_F(AttachTest, ATerminalLeavesAndAnotherReturnsAfterARestart) {
  const auto left =
      terminal("berth run --vram 1G sh answers", "'ready|oneRETURN' 'got-one 40 111|~d'");
  EXPECT_EQ(left.exit_code, 0) << left.err;
  EXPECT_THAT(left.out, HasSubstr("detached from job 1; berth attach 1 returns"));
  EXPECT_THAT(left.out, HasSubstr("code 0"));
  rig_.kill();
  rig_.start();
  EXPECT_EQ(rig_.job(1)["state"], "running");
  const auto returned = terminal("berth attach 1",
                                 "'is attached; ~d at the beginning|twoRETURN' "
                                 "'got-two 40 111|endRETURN'");
  EXPECT_EQ(returned.exit_code, 0) << returned.err;
  EXPECT_THAT(returned.out, HasSubstr("code 5"));
  EXPECT_EQ(rig_.wait_end(1)["exit_code"], 5);
}

/// As under systemd's PrivateTmp, pam_namespace or a snap.
TEST_F(AttachTest, AClientWithATmpOfItsOwnHasItsJob) {
  const std::string own_tmp = "unset XDG_RUNTIME_DIR; cd /; mount -t tmpfs none /tmp && exec " +
                              test::program("berth").string() +
                              " run --socket /proc/$OUTSIDE/root" + rig_.socket() +
                              " --gpus 0 --cwd / -- sh -c 'echo out; cat; exit 5'";
  const auto ran = test::run_program(
      "/bin/bash", {"-c",
                    "unshare -m true 2>/dev/null || exit 99; echo typed | OUTSIDE=$$ "
                    "unshare -m sh -c \"$0\"; exit ${PIPESTATUS[1]}",
                    own_tmp});
  if (ran.exit_code == 99) GTEST_SKIP() << "no mounts of one's own here";
  EXPECT_EQ(ran.exit_code, 5) << ran.err;
  EXPECT_EQ(ran.out, "out\ntyped\n");
}

/// Who empties /tmp takes it from jobs that wait there for days.
TEST_F(AttachTest, AClientWhosePlaceIsDeletedHasItsJob) {
  namespace fs = std::filesystem;
  const int awaited = rig_.submit(test::kUntilGo, test::kNoGpus);
  const fs::path places = rig_.folder() / "places";
  fs::create_directory(places);
  const std::string script = "export XDG_RUNTIME_DIR=" + places.string() + "; " +
                             test::program("berth").string() + " run --socket " + rig_.socket() +
                             " --after-any " + std::to_string(awaited) + " --gpus 0 -- echo ran >" +
                             (rig_.folder() / "out") + " </dev/null 2>/dev/null &";
  test::run_program("/bin/bash", {"-c", script});
  const std::string job = test::path(awaited + 1);
  eventually("it waits", [&] { return rig_.request("GET", job).body.contains("state"); });
  fs::path place;
  for (const auto& entry : fs::directory_iterator(places)) place = entry.path();
  ASSERT_TRUE(fs::is_socket(place / "s"));
  fs::remove_all(place);
  eventually("it is there again", [&] { return fs::is_socket(place / "s"); });
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(awaited + 1)["exit_code"], 0);
  eventually("its output is here", [&] { return test::slurp(rig_.folder() / "out") == "ran\n"; });
}

/// It once waited for ever, and took no signal.
TEST_F(AttachTest, AClientWithFewOpenFilesIsRefusedWithTheLimit) {
  const auto ran = test::run_program(
      "/bin/bash", {"-c", "ulimit -n 12; exec \"$@\"", "bash", test::program("berth").string(),
                    "run", "--socket", rig_.socket(), "--gpus", "0", "--", "true"});
  EXPECT_EQ(ran.exit_code, test::kFailed);
  EXPECT_EQ(ran.err, "berth: the limit of open files is 12 (ulimit -n), berth needs 32\n");
  EXPECT_EQ(rig_.request("GET", "/v1/jobs").body["jobs"].size(), 0U);
}

/// A daemon is there, and who says none is has people start another.
TEST_F(AttachTest, AClientThatMayNotAskIsToldSo) {
  if (!test::others_run_programs()) GTEST_SKIP() << "needs root";
  std::filesystem::permissions(rig_.folder().path(), std::filesystem::perms(0700));
  const auto ran = test::run_program(
      "/bin/bash", {"-c", "cd /; exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"",
                    "bash", test::program("berth").string(), "run", "--socket", rig_.socket(),
                    "--gpus", "0", "--", "true"});
  EXPECT_EQ(ran.exit_code, test::kFailed);
  EXPECT_EQ(ran.err, "berth: " + rig_.socket() + ": Permission denied\n");
}

/// Its folders and its processes' numbers are its own; the folder of the socket is at /mnt there.
TEST_F(AttachTest, AClientInAContainerHasItsJobAndTakesItAlong) {
  const std::string inside =
      "mount -t proc proc /proc; mount --bind " + rig_.folder().path().string() +
      " /mnt; mount -t tmpfs none /tmp; cd /; unset XDG_RUNTIME_DIR; berth_run() { exec " +
      test::program("berth").string() + " run --socket /mnt" +
      rig_.socket().substr(rig_.folder().path().string().size()) + " --gpus 0 --cwd / \"$@\"; }; ";
  const auto ran = test::run_program(
      "/bin/bash", {"-c",
                    "unshare -mpf true 2>/dev/null || exit 99; echo typed | "
                    "unshare -mpf bash -c \"$0\"; exit ${PIPESTATUS[1]}",
                    inside + "(berth_run -- sh -c 'echo out; cat; exit 5'); exit $?"});
  if (ran.exit_code == 99) GTEST_SKIP() << "no mounts and processes of one's own here";
  EXPECT_EQ(ran.exit_code, 5) << ran.err;
  EXPECT_EQ(ran.out, "out\ntyped\n");

  const int awaited = rig_.submit(test::kUntilGo, test::kNoGpus);
  test::run_program(
      "/bin/bash",
      {"-c", "unshare -mpf bash -c \"$0\"",
       inside + "berth_run --after-any " + std::to_string(awaited) +
           " -- true </dev/null 2>/mnt/said & until grep -q deferred /mnt/said; do sleep 0.01; "
           "done; kill -KILL $!"});
  EXPECT_EQ(rig_.wait_end(awaited + 1)["note"],
            "ended, because its `berth run` was killed while the job waited");
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(awaited)["exit_code"], 3);
}

TEST_F(AttachTest, AClosedTerminalLeavesTheJobIfAskedToAndTheOutputOfASubmittedJobIsShown) {
  rig_.folder().write("waits", std::string("echo ready; ") + test::kUntilGo);
  const auto closed = test::run_program(
      "/bin/bash",
      {"-c", "cd " + rig_.folder().path().string() + "; export BERTH_SOCKET=" + rig_.socket() +
                 "; " + test::program("berth").string() +
                 " run --detach-on-hangup --vram 1G sh waits >out & "
                 "until grep -q ready out; do sleep 0.01; done; kill -HUP $!; wait $!"});
  EXPECT_EQ(closed.exit_code, 128 + SIGHUP) << closed.err;
  const int submitted = rig_.submit(test::kUntilGo, {{"vram_bytes", test::kGiB}});
  rig_.wait_for(submitted, "running");
  EXPECT_EQ(rig_.job(1)["state"], "running");
  const auto answer =
      rig_.request("POST", test::path(submitted, "/attach"), {{"socket", "/no/such"}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body["input"], false);
  EXPECT_EQ(answer.body["terminal"], false);
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(1)["exit_code"], 3);
  EXPECT_EQ(rig_.wait_end(submitted)["exit_code"], 3);
  const auto late = rig_.request("POST", test::path(submitted, "/attach"), {{"socket", "/s"}});
  EXPECT_EQ(late.status, 409);
  EXPECT_THAT(late.body.dump(), HasSubstr("has ended already"));
}

TEST_F(AttachTest, ASignalToTheClientThatNoKeySentEndsTheClientAlone) {
  const int id = rig_.submit("echo ready; " + std::string(test::kUntilGo));
  rig_.wait_for(id, "running");
  for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP}) {
    const auto ended = test::run_program(
        "/bin/bash",
        {"-c", "cd " + rig_.folder().path().string() + "; export BERTH_SOCKET=" + rig_.socket() +
                   "; set -m; rm -f out; " + test::program("berth").string() + " attach " +
                   std::to_string(id) + " >out 2>&1 & until [ -e out ]; do sleep 0.01; done; " +
                   "for i in 1 2 3 4 5 6 7 8; do sleep 0.05; kill -" + std::to_string(signal) +
                   " $! 2>/dev/null; done; wait $!"});
    EXPECT_EQ(ended.exit_code, 128 + signal) << ended.err;
  }
  EXPECT_EQ(rig_.job(id)["state"], "running");
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(id)["exit_code"], 3);
}

/// The terminal gives the key to the job alone, and a shell leaves a loop by its own signal.
TEST_F(AttachTest, CtrlCThatEndsAJobEndsTheScriptThatRanItToo) {
  rig_.folder().write("waits", "echo ready; exec sleep 60");
  rig_.folder().write("sweep", "for i in 1 2; do berth run --gpus 0 sh waits; done; echo after\n");
  const auto script = terminal("bash sweep", "'ready|\x03'");
  EXPECT_THAT(script.out, HasSubstr("code -2"));
  EXPECT_THAT(script.out, testing::Not(HasSubstr("after")));
  EXPECT_EQ(rig_.wait_end(1)["exit_code"], 128 + SIGINT);
  EXPECT_EQ(rig_.request("GET", "/v1/jobs/2").status, 404);

  rig_.folder().write("sweep.py",
                      "import subprocess\nfor i in 1, 2:\n"
                      "    subprocess.run(['berth', 'run', '--gpus', '0', 'sh', 'waits'])\n");
  const auto python = terminal("python3 sweep.py", "'ready|\x03'");
  EXPECT_THAT(python.out, HasSubstr("KeyboardInterrupt"));
  EXPECT_EQ(rig_.wait_end(2)["exit_code"], 128 + SIGINT);
  EXPECT_EQ(rig_.request("GET", "/v1/jobs/3").status, 404);
}

TEST_F(AttachTest, AtATerminalErrorsGoWhereTheyAreSentAndTheRestIsATerminals) {
  rig_.folder().write("speaks",
                      "test -t 0 && test -t 1 && echo out; echo error >&2; kill -SEGV $$");
  rig_.folder().write("line", "berth run --gpus 0 sh speaks 2>err.log\n");
  const auto ran = terminal("sh line", "");
  EXPECT_THAT(ran.out, HasSubstr("out\r\n"));
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("error")));
  EXPECT_THAT(ran.out, HasSubstr("code 139"));
  EXPECT_EQ(test::run_program("/bin/cat", {rig_.folder().path().string() + "/err.log"}).out,
            "error\nberth: job 1: exit 139 (SIGSEGV): Segmentation fault\n");
}

/// Once the client's own setting of the terminal stopped it again, and nothing of the job was seen.
TEST_F(AttachTest, AClientThatIsStoppedWhileItWaitsGoesOnInTheBackground) {
  const int first = rig_.submit(test::kUntilGo, test::kNoGpus);
  const std::string run = "berth run --gpus 0 --after-any " + std::to_string(first) + " sh answers";
  const auto shell =
      terminal("env PS1=here> bash --norc -i",
               "'here>|" + run +
                   "RETURN' 'leaves it in the queue|\x1a' 'this is stopped, and may start|' "
                   "'Stopped|bgRETURN' "
                   "'answers|touch goRETURN' 'ready|fgRETURN' "
                   "'answers|endRETURN' 'here>|exit 7RETURN'");
  EXPECT_EQ(shell.exit_code, 0) << shell.err;
  EXPECT_THAT(shell.out, HasSubstr("code 7"));
  EXPECT_EQ(rig_.wait_end(first + 1)["exit_code"], 5);
}

/// Once the second took the terminal as the first had set it, and left it so.
TEST_F(AttachTest, OfTwoClientsThatAScriptBeginsOneHasTheKeys) {
  rig_.folder().write("two.py",
                      "import os, subprocess, time\n"
                      "one = subprocess.Popen(['berth', 'run', '--gpus', '0', 'sh', '-c', "
                      "'echo ready; touch go; read a; echo first $a'])\n"
                      "while not os.path.exists('go'): time.sleep(0.01)\n"
                      "other = subprocess.Popen(['berth', 'run', '--gpus', '0', 'sh', '-c', "
                      "'read a || echo none; sleep 1'])\n"
                      "print([one.wait(), other.wait()])\n");
  rig_.folder().write("line", "python3 two.py; stty -a | grep -o '.icanon'\n");
  const auto ran = terminal("sh line",
                            "'ready|' 'has no input: another berth run has the keys of this "
                            "terminal|' 'none|keyRETURN'");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("first key\r\n"));
  EXPECT_THAT(ran.out, HasSubstr("[0, 0]\r\n icanon\r\n"));
}

TEST_F(AttachTest, ATerminalLooksOnAtASubmittedJobAndLeavesIt) {
  const int id = rig_.submit("echo ready; " + std::string(test::kUntilGo));
  rig_.wait_for(id, "running");
  const std::string words = "berth attach " + std::to_string(id);
  const auto left = terminal(words, "'detaches; Ctrl-C reaches the job|~d'");
  EXPECT_THAT(left.out, HasSubstr("detached from job " + std::to_string(id)));
  EXPECT_THAT(left.out, HasSubstr("code 0"));
  const auto closed = terminal(words, "'reaches the job|CLOSE'");
  EXPECT_THAT(closed.out, HasSubstr("code 129")) << closed.err;
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(id)["exit_code"], 3) << "a terminal that closes is no key";
}

/// By SIGKILL, as for want of memory: nobody would be there at the start of its job.
TEST_F(AttachTest, AClientThatIsKilledTakesItsWaitingJobAlong) {
  const int awaited = rig_.submit(test::kUntilGo, test::kNoGpus);
  const auto attend = [&](int id, const std::string& options) {
    const std::string file = rig_.folder() / std::to_string(id);
    test::run_program(
        "/bin/bash",
        {"-c", "BERTH_SOCKET=" + rig_.socket() + " " + test::program("berth").string() +
                   " run --after-any " + std::to_string(awaited) + " " + options +
                   " --gpus 0 -- true </dev/null >/dev/null 2>" + file + " & echo $! >" + file +
                   ".pid"});
  };
  const auto says = [&](int id, const std::string& state) {
    const std::string line = "job " + std::to_string(id) + " " + state;
    eventually(line,
               [&] { return test::slurp(rig_.folder() / std::to_string(id)).contains(line); });
  };
  const auto kill_client = [&](int id) {
    const int pid = std::stoi(test::slurp(rig_.folder() / (std::to_string(id) + ".pid")));
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
  };
  const auto expect_gone = [&](int id) {
    const Json ended = rig_.wait_end(id);
    EXPECT_EQ(ended["state"], "cancelled");
    EXPECT_EQ(ended["note"], "ended, because its `berth run` was killed while the job waited");
  };
  attend(awaited + 1, "--detach-on-hangup");
  says(awaited + 1, "deferred");
  kill_client(awaited + 1);
  attend(awaited + 2, "");
  says(awaited + 2, "deferred");
  kill_client(awaited + 2);
  expect_gone(awaited + 2);
  EXPECT_EQ(rig_.job(awaited + 1)["state"], "deferred") << "it does not need its client";

  attend(awaited + 3, "");
  says(awaited + 3, "deferred");
  rig_.kill();
  rig_.start();
  EXPECT_EQ(rig_.request("POST", test::path(awaited + 3, "/hold")).status, 200);
  says(awaited + 3, "held");  // it has found the new daemon
  kill_client(awaited + 3);
  expect_gone(awaited + 3);
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(awaited + 1)["state"], "done");
}

TEST_F(AttachTest, IsForTheJobsUserAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  std::filesystem::permissions(rig_.folder().path(), std::filesystem::perms(0711));
  const int id = rig_.submit(test::kUntilGo, {{"vram_bytes", test::kGiB}});
  rig_.wait_for(id, "running");
  const auto theirs = test::request_as(rig_, test::kNobody, "POST", test::path(id, "/attach"),
                                       {{"socket", "/tmp/s"}});
  EXPECT_EQ(theirs.status, 403);
  const Json wish = {{"command", {"sleep", "100"}},
                     {"directory", "/"},
                     {"environment", {"PATH=/bin"}},
                     {"vram_bytes", test::kGiB}};
  const auto other = test::request_as(rig_, test::kNobody, "POST", "/v1/jobs", wish);
  ASSERT_EQ(other.status, 201) << other.body;
  const int theirs_id = other.body["id"];
  rig_.wait_for(theirs_id, "running");
  const auto roots = rig_.request("POST", test::path(theirs_id, "/attach"), {{"socket", "/tmp/s"}});
  EXPECT_EQ(roots.status, 403);
  EXPECT_THAT(roots.body.dump(), HasSubstr("only a job's own user may attach to it"));
}

}  // namespace
}  // namespace berth
