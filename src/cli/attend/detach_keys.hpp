// The keys that detach a terminal from its job.
//
// `~d` at the beginning of a line, as ssh has its escapes: no byte is withheld from the job but a ~
// there, until the key after it. Or a sequence such as ctrl-p,ctrl-q, anywhere.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/error.hpp"

namespace berth::cli {

class DetachKeys {
 public:
  /// `~d`, `ctrl-p,ctrl-q`, `ctrl-\\,d`; `none`. Errors: InvalidArgument naming what is no key.
  static Expected<DetachKeys> parse(std::string_view text);

  struct Typed {
    std::string for_job;
    bool detaches = false;  ///< The keys are complete; what was typed behind them is dropped.
  };
  /// Sorts what was typed. What may be the beginning of the keys is kept until it is known.
  Typed take(std::string_view bytes);

  /// For people: `~d at the beginning of a line`; "" for none.
  const std::string& words() const { return words_; }

 private:
  void take(char key, Typed& typed);
  void pass(char key, Typed& typed);

  std::string keys_;
  std::string words_;
  bool begins_line_ = false;  ///< They count at the beginning of a line only.
  bool is_line_start_ = true;
  std::size_t matched_ = 0;  ///< Of the keys, withheld from the job.
};

}  // namespace berth::cli
