#include "emu/support.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

namespace berth::emu::test {
namespace {

std::string make_folder() {
  auto name = (std::filesystem::temp_directory_path() / "berth-emu-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  return name;
}

void apply(const Variables& variables) {
  for (const char* inherited : {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "BERTH_EMU_STATE"}) {
    ::unsetenv(inherited);
  }
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
}

/// In the child: nothing may outlive the test, whatever happens to it.
void tie_to_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
}

}  // namespace

Machine::Machine(Spec spec) : folder_(make_folder()) {
  const auto made = create(state(), spec);
  if (!made) ADD_FAILURE() << made.error();
}

Machine::~Machine() { std::filesystem::remove_all(folder_); }

GpuReport Machine::gpu(std::size_t index) const {
  const auto reports = report(state());
  if (!reports) ADD_FAILURE() << reports.error();
  return reports ? reports->at(index) : GpuReport{};
}

Variables joining(const Machine& machine, Variables more) {
  for (auto& [name, value] : environment(machine.state(), EMU_LIBRARY_DIRECTORY)) {
    more.try_emplace(name, value);
  }
  return more;
}

Process::Process(const std::vector<std::string>& command, const Variables& variables) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    tie_to_parent(parent);
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    apply(variables);
    std::vector<char*> words;
    for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execv(words[0], words.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  output_ = ends[0];
}

Process::Process(const std::function<void()>& body, const Variables& variables) {
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ != 0) return;
  tie_to_parent(parent);
  apply(variables);
  body();
  std::fflush(nullptr);
  ::_exit(::testing::Test::HasFailure() ? 1 : 0);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      output_(std::exchange(other.output_, -1)),
      buffer_(std::move(other.buffer_)) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(output_, other.output_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

Process::~Process() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (output_ >= 0) ::close(output_);
}

void Process::signal(int number) const { ::kill(pid_, number); }

std::string Process::read_line() {
  for (;;) {
    if (const auto end = buffer_.find('\n'); end != std::string::npos) {
      auto line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    char text[4096];
    const auto length = ::read(output_, text, sizeof text);
    if (length <= 0) return std::exchange(buffer_, {});
    buffer_.append(text, static_cast<std::size_t>(length));
  }
}

Ended Process::wait() {
  Ended ended;
  if (output_ >= 0) {
    char text[4096];
    for (ssize_t length = 0; (length = ::read(output_, text, sizeof text)) > 0;) {
      buffer_.append(text, static_cast<std::size_t>(length));
    }
  }
  ended.output = std::move(buffer_);
  int status = 0;
  ::waitpid(std::exchange(pid_, 0), &status, 0);
  ended.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return ended;
}

Ended run(const std::vector<std::string>& command, const Variables& variables) {
  return Process(command, variables).wait();
}

void in_child(const Variables& variables, const std::function<void()>& body) {
  EXPECT_EQ(Process(body, variables).wait().code, 0);
}

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

Library::Library(const std::string& name)
    : handle_(::dlopen((std::string(EMU_LIBRARY_DIRECTORY "/") + name).c_str(), RTLD_NOW)) {
  if (handle_ == nullptr) ADD_FAILURE() << ::dlerror();
}

void* Library::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
}

}  // namespace berth::emu::test
