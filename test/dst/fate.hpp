// When a daemon dies: between any two writes, between any two effects.
#pragma once

#include "dst/report.hpp"

namespace berth::dst {

class Fate {
 public:
  explicit Fate(Report& report) : report_(report) {}

  /// The daemon dies at the n-th point from now at which it can; n > 0.
  void strike_at(int point) { left_ = point; }
  void spare() { left_ = 0; }

  /// A point at which it can die. Returns: whether it is dead.
  bool strikes(const std::string& before) {
    if (left_ > 0 && --left_ == 0) {
      report_.tell("the daemon dies before: " + before);
      dead_ = true;
    }
    return dead_;
  }
  bool is_dead() const { return dead_; }
  /// At once, wherever it stands.
  void strike() { dead_ = true; }
  void revive() { dead_ = false; }

 private:
  Report& report_;
  int left_ = 0;  ///< Points until it dies; 0: it does not.
  bool dead_ = false;
};

}  // namespace berth::dst
