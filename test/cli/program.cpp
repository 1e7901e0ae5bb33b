#include "cli/program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "support/paths.hpp"

namespace berth::test {

namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int read = -1;
  int write = -1;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  return {ends[0], ends[1]};
}

void close_end(int& end) {
  if (end >= 0) close(std::exchange(end, -1));
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

std::string shortened(const std::string& text) { return text.substr(0, 2000); }

int open_terminal() {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  EXPECT_TRUE(grantpt(master) == 0 && unlockpt(master) == 0);
  return master;
}

std::string terminal_name(int master) {
  std::array<char, 128> name{};
  EXPECT_EQ(ptsname_r(master, name.data(), name.size()), 0);
  return name.data();
}

}  // namespace

Program::Program(std::vector<std::string> arguments, const StartOptions& options) {
  arguments.insert(arguments.begin(), program("berth").string());
  std::vector<std::string> environment = options.environment;
  const auto is_path = [](const std::string& variable) { return variable.starts_with("PATH="); };
  if (std::ranges::none_of(environment, is_path)) {
    environment.insert(environment.begin(), "PATH=/usr/bin:/bin");
  }

  Pipe err = make_pipe();
  Pipe in;
  Pipe out;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (options.screen == Screen::Terminal) {
    out_.descriptor = open_terminal();
    input_ = dup(out_.descriptor);
    // The leader of a new session gets the first terminal that it opens as its own.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_addopen(&actions, 0, terminal_name(input_).c_str(), O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, 0, 1);
  } else {
    in = make_pipe();
    out = make_pipe();
    input_ = in.write;
    out_.descriptor = out.read;
    posix_spawn_file_actions_adddup2(&actions, in.read, 0);
    posix_spawn_file_actions_adddup2(&actions, out.write, 1);
  }
  err_.descriptor = err.read;
  posix_spawn_file_actions_adddup2(&actions, err.write, 2);
  for (const int stream : options.closed) posix_spawn_file_actions_addclose(&actions, stream);
  if (!options.directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, options.directory.c_str());
  }
  const auto argv = pointers(arguments);
  const auto envp = pointers(environment);
  if (posix_spawn(&pid_, argv[0], &actions, &attributes, argv.data(), envp.data()) != 0) {
    ADD_FAILURE() << arguments[0] << " does not start";
    pid_ = -1;
  }
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close_end(in.read);
  close_end(out.write);
  close_end(err.write);
}

Program::~Program() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  for (int* const end : {&input_, &out_.descriptor, &err_.descriptor}) close_end(*end);
}

void Program::type(const std::string& text) const {
  EXPECT_EQ(write(input_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

void Program::end_input() { close_end(input_); }
void Program::close_output() { close_end(out_.descriptor); }
void Program::signal(int number) const { EXPECT_EQ(kill(pid_, number), 0); }

void Program::resize(unsigned short rows, unsigned short columns) const {
  const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  EXPECT_EQ(ioctl(input_, TIOCSWINSZ, &size), 0);
}

bool Program::terminal_is_cooked() const {
  termios state{};
  EXPECT_EQ(tcgetattr(input_, &state), 0);
  return (state.c_lflag & (ICANON | ECHO)) == (ICANON | ECHO);
}

void Program::read_some(int timeout_ms) {
  std::array polls = {pollfd{.fd = out_.descriptor, .events = POLLIN, .revents = 0},
                      pollfd{.fd = err_.descriptor, .events = POLLIN, .revents = 0}};
  poll(polls.data(), polls.size(), timeout_ms);
  for (std::size_t i = 0; i < polls.size(); ++i) {
    if (polls[i].revents == 0) continue;
    Channel& channel = i == 0 ? out_ : err_;
    std::array<char, 65536> bytes;
    const ssize_t got = read(channel.descriptor, bytes.data(), bytes.size());
    if (got > 0) {
      channel.text.append(bytes.data(), static_cast<std::size_t>(got));
    } else {
      close_end(channel.descriptor);
    }
  }
}

void Program::await(Channel& channel, const std::string& text) {
  const auto end = Clock::now() + kPatience;
  while (channel.text.find(text) == std::string::npos) {
    if (channel.descriptor < 0 || Clock::now() > end) {
      ADD_FAILURE() << "never wrote: " << text << "\nbut: " << shortened(out_.text)
                    << "\nand: " << shortened(err_.text);
      return;
    }
    read_some(100);
  }
}

void Program::await_restored_terminal() {
  const auto end = Clock::now() + kPatience;
  while (!terminal_is_cooked() && Clock::now() < end) read_some(5);
  EXPECT_TRUE(terminal_is_cooked());
}

Ran Program::wait() {
  const auto end = Clock::now() + kPatience;
  int status = 0;
  // A terminal's other end stays open in this process's hands only after the program is gone.
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (Clock::now() > end) {
      ADD_FAILURE() << "does not end; it wrote: " << shortened(out_.text)
                    << "\nand: " << shortened(err_.text);
      kill(pid_, SIGKILL);
      waitpid(pid_, &status, 0);
      break;
    }
    read_some(5);
  }
  pid_ = -1;
  while (out_.descriptor >= 0 || err_.descriptor >= 0) read_some(100);
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = out_.text,
          .err = err_.text};
}

Ran berth(std::vector<std::string> arguments, const StartOptions& options) {
  Program program(std::move(arguments), options);
  program.end_input();
  return program.wait();
}

}  // namespace berth::test
