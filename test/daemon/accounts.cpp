#include "daemon/accounts.hpp"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "support/paths.hpp"

namespace berth::test {

namespace {

namespace fs = std::filesystem;

/// Reads both to their ends.
void read_both(std::array<pollfd, 2> ends, Ran& ran) {
  const std::array texts = {&ran.out, &ran.err};
  std::array<char, 4096> bytes;
  for (int open = 2; open > 0;) {
    ::poll(ends.data(), ends.size(), -1);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      const ssize_t got = ::read(ends[i].fd, bytes.data(), bytes.size());
      if (got > 0) {
        texts[i]->append(bytes.data(), static_cast<std::size_t>(got));
      } else {
        ::close(ends[i].fd);
        ends[i].fd = -1;
        --open;
      }
    }
  }
}

}  // namespace

std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

AccountGroup::AccountGroup(const std::string& name)
    : name_("berth-" + name + "-" + std::to_string(::getpid())) {
  if (::geteuid() != 0 || std::system(("groupadd " + name_ + " >/dev/null 2>&1").c_str()) != 0)
    return;
  if (const group* const entry = ::getgrnam(name_.c_str())) number_ = entry->gr_gid;
}

AccountGroup::~AccountGroup() {
  if (number_ == 0) return;
  if (std::system(("groupdel " + name_ + " >/dev/null 2>&1").c_str()) != 0) {
    ADD_FAILURE() << name_ << " cannot be removed";
  }
}

Account::Account(const std::string& name, const AccountGroup* group)
    : name_("berth-" + name + "-" + std::to_string(::getpid())) {
  const std::string also =
      group == nullptr || group->number() == 0 ? "" : "--groups " + group->name() + " ";
  const std::string command =
      "useradd --no-create-home --user-group --shell /bin/sh " + also + name_;
  if (::geteuid() != 0 || std::system((command + " >/dev/null 2>&1").c_str()) != 0) return;
  if (const passwd* const entry = ::getpwnam(name_.c_str())) {
    user_ = entry->pw_uid;
    group_ = entry->pw_gid;
    int count = 64;
    groups_.resize(static_cast<std::size_t>(count));
    EXPECT_GE(::getgrouplist(name_.c_str(), group_, groups_.data(), &count), 0);
    groups_.resize(static_cast<std::size_t>(count));
    std::ranges::sort(groups_);
  }
}

Account::~Account() {
  if (!is_there()) return;
  if (std::system(("userdel --force " + name_ + " >/dev/null 2>&1").c_str()) != 0) {
    ADD_FAILURE() << name_ << " cannot be removed";
  }
}

Users::Users(const Rig& rig) : rig_(rig) {
  fs::permissions(rig.folder().path(), fs::perms(0711));
  give(program("berth").string());
}

std::string Users::give(const std::string& path) const {
  const std::string to = rig_.folder() / fs::path(path).filename().string();
  fs::copy_file(path, to, fs::copy_options::overwrite_existing);
  fs::permissions(to, fs::perms(0755));
  return to;
}

Ran Users::run(const Account& account, const std::string& script) const {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  EXPECT_TRUE(::pipe2(out.data(), O_CLOEXEC) == 0 && ::pipe2(err.data(), O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string path = "PATH=" + rig_.folder().path().string() + ":/usr/bin:/bin";
    const std::string socket = "BERTH_SOCKET=" + rig_.socket();
    std::array<const char*, 4> words = {"sh", "-c", script.c_str(), nullptr};
    std::array<const char*, 4> environment = {path.c_str(), socket.c_str(), "LC_ALL=C", nullptr};
    const int null = ::open("/dev/null", O_RDWR);
    const bool ready = ::setsid() > 0 && ::dup2(null, 0) == 0 && ::dup2(out[1], 1) == 1 &&
                       ::dup2(err[1], 2) == 2 &&
                       ::setgroups(account.groups_.size(), account.groups_.data()) == 0 &&
                       ::setresgid(account.group_, account.group_, account.group_) == 0 &&
                       ::setresuid(account.user_, account.user_, account.user_) == 0 &&
                       ::chdir("/") == 0;
    if (ready) {
      ::execve("/bin/sh", const_cast<char* const*>(words.data()),
               const_cast<char* const*>(environment.data()));
    }
    ::_exit(255);
  }
  ::close(out[1]);
  ::close(err[1]);
  Ran ran;
  read_both({pollfd{.fd = out[0], .events = POLLIN, .revents = 0},
             pollfd{.fd = err[0], .events = POLLIN, .revents = 0}},
            ran);
  int status = 0;
  ::waitpid(child, &status, 0);
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

Ran Users::run_on_terminal(const Account& account, const std::string& script) const {
  return run(account, "script -qec " + quoted(script) + " /dev/null");
}

int Users::submit(const Account& account, const std::string& script,
                  const std::string& flags) const {
  const Ran ran = run(account, "berth submit " + flags + " -- sh -c " + quoted(script));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return ran.exit_code == 0 ? std::stoi(ran.out) : -1;
}

}  // namespace berth::test
