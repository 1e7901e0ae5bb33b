// `berth` as a user has it: started, typed at, signalled, read from.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace berth::test {

inline constexpr std::chrono::seconds kPatience{20};  ///< With what a test waits for.

/// Exit codes of `berth`.
inline constexpr int kFailed = 125;
inline constexpr int kBadUsage = 2;

enum class Screen { Pipes, Terminal };

struct StartOptions {
  std::vector<std::string> environment;  ///< `NAME=VALUE`, beside PATH (or with it).
  Screen screen = Screen::Pipes;         ///< Terminal: standard input and output are one.
  std::string directory;                 ///< "": this one.
  std::vector<int> closed = {};          ///< Of 0, 1 and 2, as `<&-` in a shell.
};

/// Every wait fails the test after 20 seconds; what still runs in the end is killed.
class Program {
 public:
  Program(std::vector<std::string> arguments, const StartOptions& options);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void type(const std::string& text) const;
  void end_input();
  void close_output();
  void signal(int number) const;
  void resize(unsigned short rows, unsigned short columns) const;
  /// True while the terminal echoes and waits for whole lines.
  bool terminal_is_cooked() const;

  /// Waits until it has written this.
  void await_out(const std::string& text) { await(out_, text); }
  void await_err(const std::string& text) { await(err_, text); }
  /// Reads what there is, so that a program that writes much goes on.
  void read_some_output() { read_some(10); }
  /// Waits until the terminal echoes again.
  void await_restored_terminal();
  /// Waits for its end.
  Ran wait();

 private:
  struct Channel {
    int descriptor = -1;
    std::string text;
  };
  void await(Channel& channel, const std::string& text);
  void read_some(int timeout_ms);

  pid_t pid_ = -1;
  int input_ = -1;
  Channel out_;
  Channel err_;
};

/// Starts `berth` and waits for its end.
Ran berth(std::vector<std::string> arguments, const StartOptions& options = {});

}  // namespace berth::test
