// Whether a job died for lack of GPU memory: by its exit, its last words and what was measured.
//
// Words are the first witness (oom_rules.hpp), those of this attempt alone. What follows them
// weakens them: a program that catches the failure and goes on, and then dies of something else,
// would not be helped by more memory. What a look saw is the second: a peak near the grant or a
// full GPU makes doubtful words likely, a peak far below the grant makes them unlikely. Host memory
// is another matter.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/outcome.hpp"
#include "core/base/units.hpp"
#include "core/job.hpp"
#include "daemon/attempts/oom_rules.hpp"
#include "daemon/attempts/word_finder.hpp"
#include "shim/record.hpp"

namespace berth::daemon {

/// The code by which a program says so itself.
inline constexpr int kOomCode = 77;

/// Of a log, as much as is looked at for last words: the other ranks of a job say much after the
/// one that ran out.
inline constexpr std::size_t kTail = std::size_t{256} << 10;

/// What was measured of an attempt.
struct Witness {
  Bytes peak{0};     ///< The most that it was seen to hold on a GPU; zero: it was not seen there.
  Bytes granted{0};  ///< On the GPU where that is least.
  bool found_full = false;  ///< A GPU of its was full in the last look, or others took its memory.
  bool has_gpus = true;     ///< Without, nothing that it says or returns is of GPU memory.
};

/// Of a job that was not looked at.
Witness unwatched(const Job& job);

class OomWords {
 public:
  /// `more`: beside the table, as sure as the surest. Requires: no empty words.
  explicit OomWords(std::span<const std::string> more = {});

  /// How sure the end of a log makes it that the program died for lack of GPU memory; nothing where
  /// it says nothing of that, or that the program went on. O(length), because users write logs.
  std::optional<Certainty> found_in(std::string_view log) const;

 private:
  class Reader;
  struct Phrase {
    std::vector<WordFinder::Word> parts;  ///< In small letters, in their order in a line.
    std::optional<Remark> remark;         ///< None: of GPU memory.
    Certainty certainty = Certainty::Sure;
    bool wants_digit = false;  ///< Behind it.
  };
  struct Part {
    std::size_t phrase = 0;
    std::size_t number = 0;
  };
  void add(std::string_view words, Phrase phrase);

  std::vector<Phrase> phrases_;
  WordFinder finder_;
  std::vector<std::vector<Part>> parts_;  ///< By word.
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
  if (!witness.has_gpus) return Outcome::Failed;
  const bool says_so = exit.kind == shim::Exit::Kind::Code && exit.number == kOomCode;
  if (says_so) return Outcome::Oom;
  if (!asks_for_words(exit)) return Outcome::Failed;
  const auto found = words.found_in(tail());
  return found && counts(*found, witness) ? Outcome::Oom : Outcome::Failed;
}

/// At most the last `most` bytes of a file from `from` on; "" if it cannot be read.
std::string read_tail(const std::string& path, std::int64_t from, std::size_t most);

}  // namespace berth::daemon
