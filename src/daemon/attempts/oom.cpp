#include "daemon/attempts/oom.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <csignal>
#include <utility>

#include "core/text/text.hpp"
#include "posix/descriptor.hpp"

namespace berth::daemon {

namespace {

constexpr std::size_t kNear = 60;  ///< Characters before the words in which talk counts.
constexpr std::size_t kNowhere = std::string_view::npos;
constexpr std::size_t kRemarks = static_cast<std::size_t>(kLastRemark) + 1;

bool is_part_of_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

std::string in_small_letters(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), lowered);
  return result;
}

/// In small letters and in lines, without what a terminal makes of it: colours, and lines that are
/// written over.
std::string plain(std::string_view log) {
  std::string text;
  text.reserve(log.size());
  for (std::size_t at = 0; at < log.size(); ++at) {
    if (log.substr(at).starts_with("\x1b[")) {
      const auto is_final = [](char c) { return c >= '@' && c <= '~'; };
      at += 2;
      while (at < log.size() && log[at] != '\n' && !is_final(log[at])) ++at;
      if (at < log.size() && log[at] == '\n') text += '\n';
    } else {
      text += log[at] == '\r' ? '\n' : lowered(log[at]);
    }
  }
  return text;
}

/// The parts of `text` between asterisks, in small letters.
std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('*', at), text.size());
    if (end > at) parts.push_back(in_small_letters(text.substr(at, end - at)));
    at = end + 1;
  }
  return parts;
}

/// Where what a line says begins.
std::size_t opening_of(std::string_view line) {
  return std::min(line.find_first_not_of(" \t|>"), line.size());
}

/// True where a word goes on beyond its end (`step`: -1, before its beginning), as in
/// `recommender`, `fire_prevention` or `faq.py`.
bool goes_on(std::string_view line, std::size_t at, int step) {
  const auto is_part_at = [&](std::size_t place) {
    return place < line.size() && is_part_of_word(line[place]);
  };
  if (is_part_at(at)) return true;
  const bool joins = at < line.size() && (line[at] == '.' || line[at] == '-' || line[at] == '/');
  return joins && is_part_at(at + static_cast<std::size_t>(step));
}

/// Where a word stands in its line.
struct Spot {
  std::size_t begin = 0;
  std::size_t end = 0;
};

bool is_whole_word(std::string_view line, Spot word) {
  const bool begins =
      word.begin == 0 || !is_part_of_word(line[word.begin]) || !goes_on(line, word.begin - 1, -1);
  return begins && (!is_part_of_word(line[word.end - 1]) || !goes_on(line, word.end, 1));
}

/// As in `test_cuda_out_of_memory`; words that begin with `_` are the end of a name.
bool is_part_of_name(std::string_view line, Spot word) {
  return word.begin > 0 && line[word.begin - 1] == '_' && line[word.begin] != '_';
}

/// `Wed May 13`, `13 May 2026`: not advice.
bool is_month(std::string_view line, Spot word) {
  if (line.substr(word.begin, word.end - word.begin) != "may") return false;
  const std::size_t after = line.find_first_not_of(" ,-", word.end);
  const std::size_t before =
      word.begin == 0 ? kNowhere : line.find_last_not_of(" ,-", word.begin - 1);
  return (after != kNowhere && is_digit(line[after])) ||
         (before != kNowhere && is_digit(line[before]));
}

/// `epoch 7`, `step=40`, `Epoch [3/10]`, `'loss': 0.5`, `7 it/s`; "" without one.
std::string_view number_beside(std::string_view line, Spot word) {
  constexpr std::size_t kBetween = 3;
  const auto is_part = [](char c) { return is_digit(c) || c == '.'; };
  const std::size_t begin = line.find_first_not_of(" =:#[('\"", word.end);
  if (begin != kNowhere && begin <= word.end + kBetween && is_digit(line[begin])) {
    std::size_t end = begin;
    while (end < line.size() && is_part(line[end])) ++end;
    return line.substr(begin, end - begin);
  }
  std::size_t from = word.begin;
  if (from > 0 && line[from - 1] == ' ') --from;
  const std::size_t end = from;
  while (from > 0 && is_part(line[from - 1])) --from;
  return line.substr(from, end - from);
}

/// `KeyError: labels` with what a log puts in front: a name that ends so, and a colon or nothing.
/// `ERROR: failed` is a level, `check_error:` a function, `raise KeyError` source code.
/// `opening`: where what the line says begins.
bool is_name_of_fault(std::string_view line, Spot ending, std::size_t opening) {
  const bool ends = ending.end == line.size() || line[ending.end] == ':';
  if (!ends) return false;
  std::size_t begin = ending.begin;
  while (begin > 0 && (is_part_of_word(line[begin - 1]) || line[begin - 1] == '.')) --begin;
  const std::string_view name = line.substr(begin, ending.begin - begin);
  const std::string_view before = line.substr(opening);
  if (before.starts_with("except ") || before.starts_with("raise ")) return false;
  const bool is_pythons_own = before.starts_with("exception") && ending.begin == opening;
  return is_pythons_own || (std::ranges::any_of(name, is_letter) && !name.ends_with('_'));
}

/// Words of GPU memory in a line.
struct Mention {
  std::size_t at = 0;
  Certainty certainty = Certainty::Possible;
};

/// `epoch 7`. The text is longer there than this is.
struct Count {
  WordFinder::Word word = 0;
  std::string_view number;
};

/// What is remarked in a line, and where.
struct Remarks {
  std::vector<Mention> mentions;
  std::vector<Spot> talk;        ///< In their order.
  std::size_t opening = 0;       ///< Where what it says begins.
  std::size_t level = kNowhere;  ///< The first.
  std::size_t warning = kNowhere;
  std::vector<Count> progress;
  std::bitset<kRemarks> others;

  bool has(Remark remark) const { return others[static_cast<std::size_t>(remark)]; }
  void set(Remark remark) { others.set(static_cast<std::size_t>(remark)); }
};

bool is_talk(const Remarks& line, std::size_t at) {
  const std::size_t near = at - std::min(at, kNear);
  const auto first = std::ranges::lower_bound(line.talk, near, {}, &Spot::begin);
  const auto last = std::ranges::lower_bound(line.talk, at, {}, &Spot::begin);
  return std::any_of(first, last, [&](const Spot& word) { return word.end <= at; });
}

/// Of source code or a command: all that follows is talk.
bool opens_talk(std::string_view line, const Remarks& remarks) {
  return std::ranges::any_of(remark_words(Remark::Opening), [&](std::string_view words) {
    return line.substr(remarks.opening).starts_with(words);
  });
}

/// What a line tells of GPU memory.
struct Verdict {
  std::optional<Certainty> certainty;
  bool goes_on = false;  ///< So says the program, or it only warns.
};

Verdict verdict_of(std::string_view text, const Remarks& line) {
  Verdict told{.certainty = {}, .goes_on = line.has(Remark::Caught)};
  if (line.mentions.empty() || line.has(Remark::NotGpu) || opens_talk(text, line)) return told;
  for (const Mention& words : line.mentions) {
    Certainty certainty = words.certainty;
    if (line.has(Remark::OtherMemory) && certainty != Certainty::Sure) continue;
    if (is_talk(line, words.at)) continue;
    if (line.warning < words.at) {
      certainty = std::min(certainty, Certainty::Likely);
      told.goes_on = true;
    }
    if (line.level < words.at || line.has(Remark::Caught)) certainty = Certainty::Possible;
    told.certainty = std::max(told.certainty.value_or(certainty), certainty);
  }
  return told;
}

/// What follows a line.
class Later {
 public:
  /// How sure the words are in its light.
  std::optional<Certainty> weighed(const Verdict& told) const {
    const bool has_fault = faults_ > 0 || crashed_later_;
    const bool went_on = !counts_.empty() && (told.goes_on || has_fault);
    if (!told.certainty || went_on) return std::nullopt;
    if (has_fault && told.certainty != Certainty::Sure) return std::nullopt;
    return has_fault || advances_ ? Certainty::Possible : *told.certainty;
  }

  /// The line before what is known.
  void add(const Remarks& line, const Verdict& told) {
    for (const Count& count : line.progress) {
      if (advances_) break;
      const auto known = std::ranges::find(counts_, count.word, &Count::word);
      if (known != counts_.end()) {
        advances_ = known->number != count.number;
      } else {
        counts_.push_back(count);
      }
    }
    crashed_later_ |= has_crash_ && !line.progress.empty();
    has_crash_ |= line.has(Remark::Crash);
    if (line.has(Remark::Chained)) {
      faults_ -= std::exchange(is_last_open_, false) ? 1 : 0;
    } else if (!told.certainty && line.has(Remark::Fault) && !line.has(Remark::Consequence)) {
      ++faults_;
      is_last_open_ = true;
    }
  }

 private:
  int faults_ = 0;
  bool is_last_open_ = false;  ///< The first fault was not seen to be another one's consequence.
  std::vector<Count> counts_;  ///< The last beside each word.
  bool advances_ = false;      ///< Two beside the same word.
  bool has_crash_ = false;
  bool crashed_later_ = false;  ///< After progress.
};

}  // namespace

/// Reads lines. Belongs to one thread, for as long as the words and the text are there.
class OomWords::Reader {
 public:
  explicit Reader(const OomWords& words) : words_(words), seen_(words.phrases_.size()) {}

  const Remarks& read(std::string_view line) {
    remarks_.mentions.clear();
    remarks_.talk.clear();
    remarks_.progress.clear();
    remarks_.opening = opening_of(line);
    remarks_.level = remarks_.warning = kNowhere;
    remarks_.others.reset();
    ++line_;
    words_.finder_.find_in(line, [&](WordFinder::Word word, std::size_t at) {
      const Spot place{at, at + words_.finder_.text(word).size()};
      for (const Part& part : words_.parts_[word]) on_part(line, part, place);
    });
    return remarks_;
  }

 private:
  /// How much of a phrase was found in the line.
  struct Seen {
    std::size_t line = 0;
    std::size_t parts = 0;
    Spot place;  ///< From where the first begins to where the last ends.
  };

  void on_part(std::string_view line, const Part& part, Spot place) {
    const Phrase& phrase = words_.phrases_[part.phrase];
    Seen& seen = seen_[part.phrase];
    if (std::exchange(seen.line, line_) != line_) seen.parts = 0;
    if (seen.parts != part.number) return;
    if (part.number > 0 && place.begin < seen.place.end) return;
    if (part.number == 0) {
      if (!phrase.remark && is_part_of_name(line, place)) return;
      seen.place.begin = place.begin;
    }
    seen.place.end = place.end;
    if (++seen.parts < phrase.parts.size()) return;
    if (!phrase.remark) {
      remarks_.mentions.push_back({seen.place.begin, phrase.certainty});
    } else {
      seen.parts = 0;
      on_remark(line, phrase, seen.place);
    }
  }

  void on_remark(std::string_view line, const Phrase& phrase, Spot place) {
    switch (*phrase.remark) {
      case Remark::Talk:
        if (is_whole_word(line, place) && !is_month(line, place)) remarks_.talk.push_back(place);
        break;
      case Remark::Level:
        if (is_whole_word(line, place)) remarks_.level = std::min(remarks_.level, place.begin);
        break;
      case Remark::Warning:
        if (is_whole_word(line, place)) remarks_.warning = std::min(remarks_.warning, place.begin);
        break;
      case Remark::Caught:
        if (phrase.wants_digit ? place.end < line.size() && is_digit(line[place.end])
                               : is_whole_word(line, place)) {
          remarks_.set(Remark::Caught);
        }
        break;
      case Remark::Progress:
        if (is_whole_word(line, place)) count(line, phrase, place);
        break;
      case Remark::Name:
        if (is_name_of_fault(line, place, remarks_.opening)) remarks_.set(Remark::Fault);
        break;
      default:
        remarks_.set(*phrase.remark);
    }
  }

  void count(std::string_view line, const Phrase& phrase, Spot place) {
    const std::string_view number = number_beside(line, place);
    if (!number.empty()) remarks_.progress.push_back({phrase.parts.front(), number});
  }

  const OomWords& words_;
  std::vector<Seen> seen_;  ///< By phrase.
  std::size_t line_ = 0;
  Remarks remarks_;
};

OomWords::OomWords(std::span<const std::string> more) {
  for (const OomRule& rule : oom_rules()) add(rule.words, {.certainty = rule.certainty});
  for (const std::string& words : more) add(words, {.certainty = Certainty::Sure});
  for (std::size_t i = 0; i < kRemarks; ++i) {
    const auto remark = static_cast<Remark>(i);
    if (remark == Remark::Opening) continue;  // looked for in one place only
    for (const std::string_view words : remark_words(remark)) add(words, {.remark = remark});
  }
}

void OomWords::add(std::string_view words, Phrase phrase) {
  phrase.wants_digit = phrase.remark && words.ends_with('#');
  if (phrase.wants_digit) words.remove_suffix(1);
  for (const std::string& text : parts_of(words)) {
    const WordFinder::Word word = finder_.add(text);
    if (word >= parts_.size()) parts_.resize(word + std::size_t{1});
    parts_[word].push_back({.phrase = phrases_.size(), .number = phrase.parts.size()});
    phrase.parts.push_back(word);
  }
  if (!phrase.parts.empty()) phrases_.push_back(std::move(phrase));
}

/// From the last line to the first, because what follows a line decides what it means.
std::optional<Certainty> OomWords::found_in(std::string_view log) const {
  const std::string text = plain(log);
  Reader reader(*this);
  Later later;
  std::optional<Certainty> best;
  std::string_view rest = text;
  while (!rest.empty() && best != Certainty::Sure) {
    const std::size_t before = rest.rfind('\n');
    const std::string_view line = rest.substr(before == kNowhere ? 0 : before + 1);
    rest = rest.substr(0, before == kNowhere ? 0 : before);
    if (line.empty()) continue;
    const Remarks& remarks = reader.read(line);
    const Verdict told = verdict_of(line, remarks);
    if (const auto certainty = later.weighed(told)) {
      best = std::max(best.value_or(*certainty), *certainty);
    }
    later.add(remarks, told);
  }
  return best;
}

Witness unwatched(const Job& job) { return {.has_gpus = job.spec.request.gpu.count > GpuCount(0)}; }

bool counts(Certainty words, const Witness& witness) {
  const bool is_seen = witness.peak > Bytes(0) && witness.granted > Bytes(0);
  const bool is_near =
      is_seen && witness.peak >= witness.granted - Bytes(witness.granted.raw() / 8);
  const bool is_far = is_seen && witness.peak <= Bytes(witness.granted.raw() / 8);
  switch (words) {
    case Certainty::Sure:
      return true;
    case Certainty::Likely:
      return witness.found_full || !is_far;
    case Certainty::Possible:
      return witness.found_full || is_near;
  }
  return false;
}

bool asks_for_words(const shim::Exit& exit) {
  if (exit.kind == shim::Exit::Kind::Exec || exit.kind == shim::Exit::Kind::Setup) return false;
  constexpr int kBySignal = 128;  // of a shell whose program was killed
  const int signal = exit.kind == shim::Exit::Kind::Signal ? exit.number : exit.number - kBySignal;
  return signal != SIGKILL && signal != SIGTERM && signal != SIGINT && signal != SIGHUP;
}

std::string read_tail(const std::string& path, std::int64_t from, std::size_t most) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status{};
  if (!file.is_open() || ::fstat(file.number(), &status) != 0) return "";
  const auto size = std::max(std::int64_t{0}, status.st_size - std::max(std::int64_t{0}, from));
  std::string tail(std::min(static_cast<std::size_t>(size), most), '\0');
  const auto begin = static_cast<off_t>(status.st_size - static_cast<off_t>(tail.size()));
  const ssize_t got = ::pread(file.number(), tail.data(), tail.size(), begin);
  tail.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return tail;
}

}  // namespace berth::daemon
