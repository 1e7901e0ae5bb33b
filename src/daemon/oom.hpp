// Whether a job died for lack of GPU memory: by its exit, its last words and what was measured.
//
// Words are the first witness (oom_rules.hpp): those of this attempt alone, and only if no fault of
// another kind follows them, because a program that catches the first and dies of the second would
// not be helped by more memory. What a look saw is the second: a peak near the grant or a full GPU
// makes doubtful words likely, a peak far below the grant makes them unlikely. Host memory is
// another matter.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/outcome.hpp"
#include "core/units.hpp"
#include "daemon/oom_rules.hpp"
#include "shim/record.hpp"

namespace berth::daemon {

/// The code by which a program says so itself.
inline constexpr int kOomCode = 77;

/// Of a log, as much as is looked at for last words.
inline constexpr std::size_t kTail = std::size_t{16} << 10;

/// What was measured of an attempt.
struct Witness {
  Bytes peak{0};     ///< The most that it was seen to hold on a GPU; zero: it was not seen there.
  Bytes granted{0};  ///< On the GPU where that is least.
  bool found_full = false;  ///< A GPU of its was full in the last look, or others took its memory.
};

class OomWords {
 public:
  /// `more`: beside the table, as sure as the surest. Requires: no empty words.
  explicit OomWords(std::span<const std::string> more = {});

  /// How sure the end of a log makes it that the program died for lack of GPU memory; nothing where
  /// it says nothing of that, or of another fault later. O(rules x length).
  std::optional<Certainty> found_in(std::string_view log) const;

 private:
  struct Rule {
    std::vector<std::string> parts;  ///< In lower case, in their order in a line.
    std::size_t anchor = 0;          ///< The longest of them.
    Certainty certainty = Certainty::Sure;
  };
  void add(std::string_view words, Certainty certainty);

  std::vector<Rule> rules_;
};

/// Whether words of this certainty count.
bool counts(Certainty words, const Witness& witness);

/// True where the exit leaves it to the words: not of a job that ended well, that could not be run,
/// or that was killed by somebody else.
bool asks_for_words(const shim::Exit& exit);

/// `tail` gives the end of the attempt's log, asked for only if it matters.
template <class Tail>
Outcome outcome_of(const shim::Exit& exit, const OomWords& words, Tail tail,
                   const Witness& witness) {
  if (shim::shell_code(exit) == 0) return Outcome::Done;
  const bool says_so = exit.kind == shim::Exit::Kind::Code && exit.number == kOomCode;
  if (says_so) return Outcome::Oom;
  if (!asks_for_words(exit)) return Outcome::Failed;
  const auto found = words.found_in(tail());
  return found && counts(*found, witness) ? Outcome::Oom : Outcome::Failed;
}

/// At most the last `most` bytes of a file from `from` on; "" if it cannot be read.
std::string read_tail(const std::string& path, std::int64_t from, std::size_t most);

}  // namespace berth::daemon
