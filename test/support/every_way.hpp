// Runs a test in every way that its choices allow, instead of drawing them: for worlds so tiny that
// all of them can be tried. After TigerBeetle's exhaustigen.
//
//   EveryWay ways;
//   while (ways.next()) {
//     const bool is_big = ways.flag();
//     for (int steps = ways.up_to(3); steps > 0; --steps) ...
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace berth::test {

class EveryWay {
 public:
  /// Begins the next run, in which the last choice that can be greater is. Returns: false once
  /// there was every run. Requires: a run chooses by nothing but its choices before.
  bool next() {
    if (runs_++ == 0) return true;
    while (!choices_.empty() && choices_.back().value == choices_.back().most) choices_.pop_back();
    made_ = 0;
    if (choices_.empty()) return false;
    ++choices_.back().value;
    return true;
  }

  /// From 0 to `most`.
  std::size_t up_to(std::size_t most) {
    if (made_ == choices_.size()) choices_.push_back({.value = 0, .most = most});
    return choices_[made_++].value;
  }
  bool flag() { return up_to(1) == 1; }
  /// One of them. Requires: there is one.
  template <class Range>
  auto& one_of(Range& range) {
    return *std::next(std::begin(range), static_cast<std::ptrdiff_t>(up_to(std::size(range) - 1)));
  }

  std::uint64_t runs() const { return runs_; }
  /// The choices of this run, for a failure's message.
  std::string text() const {
    std::string text = "choices";
    for (std::size_t i = 0; i < made_; ++i) text += " " + std::to_string(choices_[i].value);
    return text;
  }

 private:
  struct Choice {
    std::size_t value = 0;
    std::size_t most = 0;
  };
  std::vector<Choice> choices_;
  std::size_t made_ = 0;  ///< In this run.
  std::uint64_t runs_ = 0;
};

}  // namespace berth::test
