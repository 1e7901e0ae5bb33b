#include "cli/print/progress.hpp"

#include <unistd.h>

#include <cstdio>

namespace berth::cli {

namespace {

constexpr auto kBetween = std::chrono::milliseconds(100);

}  // namespace

Progress::Progress(std::string name, std::size_t all)
    : name_(std::move(name)), all_(all), is_watched_(::isatty(2) == 1) {}

void Progress::operator()(std::size_t done) {
  const Clock::time_point now = Clock::now();
  if (!is_watched_ || done == 0 || now - last_ < kBetween) return;
  last_ = now;
  has_line_ = true;
  const double spent = std::chrono::duration<double>(now - start_).count();
  const double left = spent / static_cast<double>(done) * static_cast<double>(all_ - done);
  std::fprintf(stderr, "\r\033[K%s: %zu of %zu jobs, about %.0f s to go", name_.c_str(), done, all_,
               left);
}

void Progress::end() {
  if (has_line_) std::fputs("\r\033[K", stderr);
  has_line_ = false;
}

}  // namespace berth::cli
