// A run as it goes: bars on a terminal, a line now and then elsewhere.
#pragma once

#include <string>

#include "lab/live.hpp"

namespace berth::lab {

class View {
 public:
  explicit View(std::string title);
  ~View();  ///< Leaves the last picture standing.
  void show(const Moment& moment);

 private:
  std::string picture(const Moment& moment) const;
  std::string counts(const Moment& moment) const;

  std::string title_;
  bool is_terminal_;
  int lines_ = 0;
  Duration last_line_{-1};
};

}  // namespace berth::lab
