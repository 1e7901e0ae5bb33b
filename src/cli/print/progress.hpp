// The progress of a long replay, on one line of a terminal; no output elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace berth::cli {

class Progress {
 public:
  Progress(std::string name, std::size_t all);

  /// Says it, ten times a second at most.
  void operator()(std::size_t done);
  /// Takes the line away.
  void end();

 private:
  using Clock = std::chrono::steady_clock;

  std::string name_;
  std::size_t all_;
  bool is_watched_;
  bool has_line_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace berth::cli
