// What the emulator's tests share: a state file in a folder of its own, processes that end with the
// test, and the two libraries opened as a program opens them.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "emu/emulator.hpp"

namespace berth::emu::test {

/// Emulated GPUs in a temporary folder, which is removed with its contents.
class Machine {
 public:
  explicit Machine(Spec spec = {.gpu_bytes = {kGibibyte, kGibibyte},
                                .context_bytes = 64 * kMebibyte,
                                .reserved_bytes = 24 * kMebibyte});
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine();

  const std::string& folder() const { return folder_; }
  std::string state() const { return folder_ + "/state"; }
  /// The report of GPU `index` now.
  GpuReport gpu(std::size_t index) const;

 private:
  std::string folder_;
};

using Variables = std::map<std::string, std::string>;

/// The variables with which a program joins the machine.
Variables joining(const Machine& machine, Variables more = {});

struct Ended {
  int code = 0;  // exit code, or 128 + signal
  std::string output;
};

/// A process that is killed, if need be, and collected at the end of its scope.
class Process {
 public:
  /// Runs a program with output captured.
  Process(const std::vector<std::string>& command, const Variables& variables);
  /// Runs `body` in a child; its output is not captured. Expectations that fail make it exit 1.
  explicit Process(const std::function<void()>& body, const Variables& variables = {});
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// Blocks until the program has written a whole line; "" at its end.
  std::string read_line();
  /// Blocks until the end.
  Ended wait();

 private:
  pid_t pid_ = 0;
  int output_ = -1;
  std::string buffer_;
};

Ended run(const std::vector<std::string>& command, const Variables& variables = {});

/// Runs `body` in a child process and expects that it ends with 0.
void in_child(const Variables& variables, const std::function<void()>& body);

/// Waits until `condition` holds; false after half a minute.
bool eventually(const std::function<bool()>& condition);

/// An opened library of the emulator.
class Library {
 public:
  explicit Library(const std::string& name);

  /// Calls a function by name. The types of the arguments must be exact.
  template <class Result = int, class... Arguments>
  Result call(const char* name, Arguments... arguments) const {
    using Function = Result (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(symbol(name));
    if (function == nullptr) ADD_FAILURE() << "no symbol " << name;
    return function == nullptr ? Result{} : function(arguments...);
  }
  void* symbol(const char* name) const;

 private:
  void* handle_;
};

}  // namespace berth::emu::test
