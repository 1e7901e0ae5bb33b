// Real process trees for the tests of who is whose.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "daemon/loop/processes.hpp"

namespace berth::test {

/// Processes that live until the tree goes, each of which writes its pid when it is what it is.
class Tree {
 public:
  Tree() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    reading_ = Descriptor(ends[0]);
    writing_ = Descriptor(ends[1]);
  }
  ~Tree() {
    for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
    for (const pid_t pid : children_) ::waitpid(pid, nullptr, 0);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  /// A child that does `work` and then waits for its end. Returns: its pid.
  pid_t grow(const std::function<void()>& work = [] {}) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      work();
      tell_and_wait();
    }
    children_.push_back(pid);
    return pid;
  }
  /// In a child: says that it is there, and waits.
  void tell_and_wait() const {
    const pid_t self = ::getpid();
    (void)!::write(writing_.number(), &self, sizeof self);
    for (;;) ::pause();
  }
  /// The pid of the next process that says it is there.
  pid_t next() {
    pid_t pid = 0;
    EXPECT_EQ(::read(reading_.number(), &pid, sizeof pid), ssize_t{sizeof pid});
    pids_.push_back(pid);
    return pid;
  }
  /// Runs `sleep` with an environment of its own. Returns: its pid, once it has that environment.
  pid_t run(std::vector<std::string> environment, const std::function<void()>& before = [] {}) {
    const pid_t pid = grow([&] {
      before();
      std::vector<char*> words;
      for (std::string& variable : environment) words.push_back(variable.data());
      words.push_back(nullptr);
      ::execle("/bin/sleep", "sleep", "1000", nullptr, words.data());
      ::_exit(127);
    });
    pids_.push_back(pid);
    while (daemon::process_name(pid) != "sleep") ::usleep(200);
    return pid;
  }

 private:
  Descriptor reading_;
  Descriptor writing_;
  std::vector<pid_t> pids_;
  std::vector<pid_t> children_;
};

}  // namespace berth::test
