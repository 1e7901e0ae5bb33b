// What a run leaves for people: the end of its story, and the first thing that
// broke.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "core/text/text.hpp"
#include "dst/agenda.hpp"

namespace berth::dst {

class Report {
 public:
  explicit Report(const Agenda& agenda) : agenda_(agenda) {}

  /// A line of the story; the oldest are forgotten.
  void tell(std::string line) {
    lines_.push_back(seconds_text(agenda_.now()) + "  " + std::move(line));
    if (lines_.size() > kMostLines) lines_.pop_front();
  }

  /// An invariant does not hold. The first one counts: others may follow from
  /// it.
  void broken(const std::string& what) {
    tell("BROKEN: " + what);
    if (!finding_) finding_ = what;
  }

  const std::optional<std::string>& finding() const { return finding_; }
  std::string story() const {
    std::string all;
    for (const std::string& line : lines_) all += line + "\n";
    return all;
  }

 private:
  static constexpr std::size_t kMostLines = 120;

  const Agenda& agenda_;
  std::deque<std::string> lines_;
  std::optional<std::string> finding_;
};

}  // namespace berth::dst
