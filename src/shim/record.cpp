#include "shim/record.hpp"

#include <array>
#include <cerrno>
#include <charconv>

#include "shim/proc.hpp"

namespace berth::shim {

namespace {

struct KindWord {
  Exit::Kind kind;
  std::string_view word;
  int least;
  int most;  ///< Of the number that goes with it.
};

constexpr auto kKindWords = std::to_array<KindWord>({
    {Exit::Kind::Code, "code", 0, 255},
    {Exit::Kind::Signal, "signal", 1, 64},
    {Exit::Kind::Exec, "exec", 1, 4095},
    {Exit::Kind::Setup, "setup", 1, 4095},
});

std::string_view word_of(Exit::Kind kind) {
  return kKindWords[static_cast<std::size_t>(kind)].word;
}

/// CRC-32, which no change of up to 32 bits in a row leaves as it was; eight digits.
std::string sum_of(std::string_view bytes) {
  constexpr std::uint32_t kPolynomial = 0xEDB88320;
  std::uint32_t sum = 0xFFFFFFFF;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1) != 0 ? kPolynomial : 0);
  }
  std::string digits(8, '0');
  for (std::size_t i = digits.size(); i-- > 0; sum >>= 4) digits[i] = "0123456789abcdef"[sum & 15];
  return digits;
}

/// Takes the sum off. Returns: nothing if it is not that of the line.
std::optional<std::string_view> without_sum(std::string_view line) {
  const std::size_t space = line.rfind(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view words = line.substr(0, space);
  return sum_of(words) == line.substr(space + 1) ? std::optional(words) : std::nullopt;
}

std::string process_line(std::string_view word, const Process& process) {
  return with_sum(std::string(word) + " " + std::to_string(process.pid) + " " +
                  std::to_string(process.start));
}

/// The words of one line, taken from the left.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}

  bool is(std::string_view word) { return next() == word; }
  template <class T>
  bool is_number(T& number) {
    const std::string_view word = next();
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    return !word.empty() && error == std::errc() && end == word.data() + word.size();
  }
  bool at_end() const { return ended_; }
  std::string_view next() {
    if (ended_) return {};
    const std::size_t space = rest_.find(' ');
    const std::string_view word = rest_.substr(0, space);
    ended_ = space == std::string_view::npos;
    if (!ended_) rest_.remove_prefix(space + 1);
    return word;
  }

 private:
  std::string_view rest_;
  bool ended_ = false;
};

bool read_job(Words words, Record& record) {
  JobId::rep job = 0;
  Attempt::rep attempt = 0;
  const bool good = words.is("job") && words.is_number(job) && words.is("attempt") &&
                    words.is_number(attempt) && words.is("user") && words.is_number(record.user) &&
                    (words.at_end() || (words.is("log") && words.is_number(record.log_from) &&
                                        record.log_from > 0 && words.at_end()));
  record.job = JobId(job);
  record.attempt = Attempt(attempt);
  return good;
}

bool read_process(Words words, std::optional<Process>& into) {
  words.next();
  Process process;
  const bool good = words.is_number(process.pid) && process.pid > 0 &&
                    words.is_number(process.start) && words.at_end();
  if (good) into = process;
  return good;
}

bool read_exit(Words words, std::optional<Exit>& into) {
  words.next();
  const std::string_view word = words.next();
  int number = 0;
  std::int64_t at = 0;
  if (!words.is_number(number) || !words.is("at") || !words.is_number(at)) return false;
  for (const KindWord& kind : kKindWords) {
    if (kind.word != word || number < kind.least || number > kind.most) continue;
    into = Exit{.kind = kind.kind, .number = number, .at = instant_from_micros(at)};
  }
  return into && words.at_end();
}

/// A line below the header: each kind once, in the order in which they come to be.
bool read_step(std::string_view line, Record& record) {
  const std::string_view word = Words(line).next();
  if (record.exit) return false;
  if (word == "shim") return !record.shim && read_process(Words(line), record.shim);
  if (!record.shim) return false;
  if (word == "go") return !record.go && read_process(Words(line), record.go);
  return word == "exit" && read_exit(Words(line), record.exit);
}

bool read_line(std::size_t number, std::string_view line, Record& record) {
  Words words(line);
  if (number == 1) {
    return words.is("berth-attempt") && words.is_number(record.format) && words.at_end() &&
           record.format >= 1;
  }
  const auto body = without_sum(line);
  if (!body) return false;
  return number == 2 ? read_job(Words(*body), record) : read_step(*body, record);
}

}  // namespace

std::string header_lines(JobId job, Attempt attempt, uid_t user, std::int64_t log_from) {
  return "berth-attempt " + std::to_string(kRecordFormat) + "\n" +
         with_sum("job " + std::to_string(job.value()) + " attempt " +
                  std::to_string(attempt.value()) + " user " + std::to_string(user) +
                  (log_from > 0 ? " log " + std::to_string(log_from) : ""));
}

std::string with_sum(const std::string& words) { return words + " " + sum_of(words) + "\n"; }
std::string shim_line(const Process& shim) { return process_line("shim", shim); }
std::string go_line(const Process& job) { return process_line("go", job); }

std::string exit_line(const Exit& exit) {
  return with_sum("exit " + std::string(word_of(exit.kind)) + " " + std::to_string(exit.number) +
                  " at " + std::to_string(micros(exit.at)));
}

Expected<Record> parse_record(std::string_view text) {
  constexpr std::size_t kShown = 60;
  Record record;
  std::size_t number = 0;
  for (std::size_t end; (end = text.find('\n')) != std::string_view::npos;
       text.remove_prefix(end + 1)) {
    const std::string_view line = text.substr(0, end);
    if (!read_line(++number, line, record)) {
      return fail(ErrorCode::BadData, "attempt file, line " + std::to_string(number) + ": `" +
                                          std::string(line.substr(0, kShown)) +
                                          "` is not what a shim writes there");
    }
    if (record.format > kRecordFormat) {
      return fail(ErrorCode::BadData, "attempt file: format " + std::to_string(record.format) +
                                          ", the newest known is " + std::to_string(kRecordFormat));
    }
  }
  if (number >= 2) return record;
  return fail(ErrorCode::NotFound,
              "attempt file, line " + std::to_string(number + 1) + ": the header is not whole");
}

std::optional<std::uint64_t> start_of(pid_t pid) {
  const auto stat = stat_of(pid);
  if (!stat || has_exited(*stat)) return std::nullopt;
  return stat->start;
}

int shell_code(const Exit& exit) {
  constexpr int kSetup = 125;
  constexpr int kNotRunnable = 126;
  constexpr int kNotFound = 127;
  constexpr int kSignal = 128;
  switch (exit.kind) {
    case Exit::Kind::Code:
      return exit.number;
    case Exit::Kind::Signal:
      return kSignal + exit.number;
    case Exit::Kind::Exec:
      return exit.number == ENOENT ? kNotFound : kNotRunnable;
    case Exit::Kind::Setup:
      return kSetup;
  }
  return kSetup;
}

}  // namespace berth::shim
