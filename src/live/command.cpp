#include "live/command.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>

#include "core/base/codec.hpp"
#include "core/knowledge/fingerprint.hpp"
#include "core/text/text.hpp"
#include "core/text/words.hpp"
#include "live/sessions.hpp"
#include "live/telling_words.hpp"

namespace berth::live {

constexpr Occasion last_of(Occasion) { return Occasion::Overuse; }
inline auto members(Warning& v) { return std::tie(v.signal, v.before); }
inline auto members(Notice& v) { return std::tie(v.to, v.on); }
inline auto members(Programs& v) { return std::tie(v.run_time, v.memory); }
inline auto members(Command& v) {
  return std::tie(v.arguments, v.directory, v.umask, v.owner, v.environment);
}

namespace {

/// What a number after the output says: that follows. They are never used for anything else.
constexpr std::int64_t kProcesses = 1;
constexpr std::int64_t kWarning = 2;
constexpr std::int64_t kNotice = 3;
constexpr std::int64_t kOptionalAttach = 4;  // nothing follows
constexpr std::int64_t kSnapshot = 5;
constexpr std::int64_t kPrograms = 6;
constexpr std::int64_t kMoreArguments = 7;
constexpr std::int64_t kMoreEnvironment = 8;
constexpr std::int64_t kErrorsApart = 9;  // nothing follows
constexpr std::int64_t kAdopted = 10;

constexpr std::size_t kLong = std::size_t{2} << 10;    ///< Arguments whose programs are noted.
constexpr std::size_t kFirst = std::size_t{32} << 10;  ///< Words beside what else is said.
constexpr std::size_t kPart = std::size_t{64} << 10;   ///< Words in a blob of their own.
constexpr std::size_t kSmall = std::size_t{8} << 10;   ///< A variable: the longest PATH there is.

std::size_t size_of(std::span<const std::string> words) {
  std::size_t size = 0;
  for (const std::string& word : words) size += word.size() + 1;
  return size;
}

/// How many of them, from the first on, take so many bytes at most; at least one.
std::size_t words_within(std::span<const std::string> words, std::size_t most) {
  std::size_t size = 0;
  const auto is_too_much = [&](const std::string& word) {
    size += word.size() + 1;
    return size > most;
  };
  const auto end = std::ranges::find_if(words, is_too_much);
  const auto count = static_cast<std::size_t>(end - words.begin());
  return std::max(count, std::min<std::size_t>(words.size(), 1));
}

template <class Value>
std::string to_bytes(const Value& value) {
  ByteWriter out;
  codec::put(out, value);
  return out.take();
}

std::unexpected<Error> no_such_bytes(std::string_view bytes, const char* what) {
  return fail(ErrorCode::BadData, std::string(what) + ": " + std::to_string(bytes.size()) +
                                      " bytes that no berthd wrote");
}

template <class Value>
Expected<Value> from_bytes(std::string_view bytes, const char* what) {
  ByteReader in(bytes);
  Value value;
  codec::get(in, value);
  if (in.failed() || !in.at_end()) return no_such_bytes(bytes, what);
  return value;
}

/// As an optional structure of four members, which is what it was first; an order has more of it.
void put_attach(ByteWriter& out, const std::optional<shim::Attach>& attach) {
  codec::put(out, attach.has_value());
  if (!attach) return;
  codec::put(out, attach->socket);
  codec::put(out, attach->terminal);
  codec::put(out, attach->rows);
  codec::put(out, attach->columns);
}

void get_attach(ByteReader& in, std::optional<shim::Attach>& attach) {
  bool is_there = false;
  codec::get(in, is_there);
  if (!is_there) return;
  attach.emplace();
  codec::get(in, attach->socket);
  codec::get(in, attach->terminal);
  codec::get(in, attach->rows);
  codec::get(in, attach->columns);
}

/// A word of a line for lists.
std::string in_one_line(std::string_view word) {
  std::string text(word);
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return shell_quoted(text);
}

/// Not in the middle of a UTF-8 sequence.
void cut(std::string& text, std::size_t most) {
  if (text.size() <= most) return;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  text += "…";
}

}  // namespace

bool Command::operator==(const Command& other) const { return encode(*this) == encode(other); }

Expected<std::vector<Occasion>> parse_occasions(std::string_view text) {
  std::set<Occasion> found;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view word = text.substr(at, comma - at);
    at = comma + 1;
    const std::size_t before = found.size();
    if (const auto one = from_word<Occasion>(word)) found.insert(*one);
    if (found.size() > before) continue;
    return fail(ErrorCode::InvalidArgument,
                "'" + std::string(word.substr(0, 40)) +
                    "' is none of start, end, fail, idle, overuse, or there twice");
  }
  return std::vector(found.begin(), found.end());
}

/// What few jobs have stands behind the rest, and only where it is there. First the output, then
/// numbers that say what follows.
std::string encode(const Command& command) {
  ByteWriter out;
  codec::put(out, command);
  put_attach(out, command.attach);
  const bool is_optional = command.attach && command.attach->optional;
  const bool has_errors_apart = command.attach && command.attach->errors_apart;
  const bool has_parts = command.processes != 0 || command.warning || command.notice ||
                         is_optional || has_errors_apart || !command.snapshot.empty() ||
                         command.programs || command.adopted || !command.more_arguments.empty() ||
                         !command.more_environment.empty();
  if (has_parts || !command.output.empty()) out.text(command.output);
  if (command.processes != 0) {
    out.integer(kProcesses);
    out.integer(command.processes);
  }
  if (command.warning) {
    out.integer(kWarning);
    codec::put(out, *command.warning);
  }
  if (command.notice) {
    out.integer(kNotice);
    codec::put(out, *command.notice);
  }
  if (is_optional) out.integer(kOptionalAttach);
  if (has_errors_apart) out.integer(kErrorsApart);
  if (!command.snapshot.empty()) {
    out.integer(kSnapshot);
    out.text(command.snapshot);
  }
  if (command.programs) {
    out.integer(kPrograms);
    codec::put(out, *command.programs);
  }
  if (command.adopted) {
    out.integer(kAdopted);
    out.integer(command.adopted->pid);
    codec::put(out, command.adopted->start);
  }
  if (!command.more_arguments.empty()) {
    out.integer(kMoreArguments);
    codec::put(out, command.more_arguments);
  }
  if (!command.more_environment.empty()) {
    out.integer(kMoreEnvironment);
    codec::put(out, command.more_environment);
  }
  return out.take();
}

std::string encode_environment(const std::vector<std::string>& variables) {
  return to_bytes(variables);
}

Expected<Command> decode_command(std::string_view bytes) {
  ByteReader in(bytes);
  Command command;
  codec::get(in, command);
  get_attach(in, command.attach);
  if (!in.failed() && !in.at_end()) command.output = in.text();
  while (!in.failed() && !in.at_end()) {
    switch (in.integer()) {
      case kProcesses:
        command.processes = in.integer();
        break;
      case kWarning:
        codec::get(in, command.warning.emplace());
        break;
      case kNotice:
        codec::get(in, command.notice.emplace());
        break;
      case kSnapshot:
        command.snapshot = in.text();
        break;
      case kPrograms:
        codec::get(in, command.programs.emplace());
        break;
      case kAdopted:
        command.adopted.emplace();
        codec::get(in, command.adopted->pid);
        codec::get(in, command.adopted->start);
        break;
      case kMoreArguments:
        codec::get(in, command.more_arguments);
        break;
      case kMoreEnvironment:
        codec::get(in, command.more_environment);
        break;
      case kErrorsApart:
        if (!command.attach) return no_such_bytes(bytes, "command");
        command.attach->errors_apart = true;
        break;
      case kOptionalAttach:
        if (!command.attach) return no_such_bytes(bytes, "command");
        command.attach->optional = true;
        break;
      default:
        return no_such_bytes(bytes, "command");
    }
  }
  // What encode() would not have written is no command: it says each thing in one way.
  const bool is_whole = !in.failed() && encode(command) == bytes;
  return is_whole ? Expected<Command>(std::move(command)) : no_such_bytes(bytes, "command");
}

Expected<std::vector<std::string>> decode_environment(std::string_view bytes) {
  return from_bytes<std::vector<std::string>>(bytes, "environment");
}

Words in_parts(std::vector<std::string> words) {
  Words parts;
  const std::span all(words);
  std::size_t at = words_within(all, kFirst);
  while (at < words.size()) {
    const std::size_t count = words_within(all.subspan(at), kPart);
    ByteWriter out;
    out.integer(static_cast<std::int64_t>(count));
    for (const std::string& word : all.subspan(at, count)) out.text(word);
    parts.more.push_back(out.take());
    at += count;
  }
  words.resize(words_within(all, kFirst));
  parts.first = std::move(words);
  return parts;
}

Expected<void> append_words(std::vector<std::string>& words, std::string_view part) {
  auto more = decode_environment(part);
  if (!more) return std::unexpected(more.error());
  std::ranges::move(*more, std::back_inserter(words));
  return {};
}

Words variables_in_parts(std::vector<std::string> variables) {
  if (size_of(variables) <= kFirst) return {.first = std::move(variables), .more = {}};
  std::vector<std::string> once;
  std::set<std::string, std::less<>> names;
  for (std::string& variable : variables) {
    const std::string_view name = std::string_view(variable).substr(0, variable.find('='));
    if (names.emplace(name).second) once.push_back(std::move(variable));
  }
  std::ranges::stable_partition(
      once, [](const std::string& variable) { return variable.size() <= kSmall; });
  return in_parts(std::move(once));
}

namespace {

/// What the words after the first kFirst bytes would tell takes too long to find out.
Fingerprint fingerprint_for(const Command& command, const MoreOfProgram& more, Telling telling) {
  const std::string& directory = more.directory.empty() ? command.directory : more.directory;
  const std::span all(command.arguments);
  const auto first = all.first(words_within(all, kFirst));
  if (is_session(first, directory)) return Fingerprint(0);
  FingerprintSum sum(command.owner.user);
  for (const std::string& word : telling_words(first, directory, telling)) sum.add(word);
  for (const std::string& word : all.subspan(first.size())) sum.add(word);
  // They are read as behind `env`, and those that do not count leave nothing of it.
  std::vector<std::string> words = {"env"};
  words.insert(words.end(), more.words.begin(), more.words.end());
  const std::vector<std::string> told = telling_words(words, directory, telling);
  for (const std::string& word : std::span(told).subspan(1)) sum.add(word);
  return sum.value();
}

}  // namespace

Fingerprint fingerprint_of(const Command& command) {
  return command.programs ? command.programs->run_time
                          : fingerprint_for(command, {}, Telling::RunTime);
}
Fingerprint memory_fingerprint_of(const Command& command, std::optional<std::int64_t> task) {
  const Fingerprint what =
      command.programs ? command.programs->memory : fingerprint_for(command, {}, Telling::Memory);
  if (!task || what == Fingerprint(0)) return what;
  FingerprintSum sum(what.value());
  sum.add(std::to_string(*task));
  return sum.value();
}
Fingerprint memory_fingerprint_of(const Command& command, const Point& point) {
  const Fingerprint what = memory_fingerprint_of(command);
  if (what == Fingerprint(0)) return what;
  Command filled{.arguments = command.arguments,
                 .directory = "",  // the command tells it, and of a copy that of the original
                 .owner = command.owner,
                 .environment = {},
                 .attach = {}};
  std::vector<std::string> read;
  if (size_of(command.arguments) <= kLong) {
    fill(filled.arguments, point);
    for (const std::string& word : command.arguments)
      std::ranges::move(placeholders(word), std::back_inserter(read));
  }
  for (const Parameter& one : point) {
    if (std::ranges::find(read, one.name) != read.end()) continue;
    filled.arguments.push_back("--" + one.name);
    filled.arguments.push_back(one.value);
  }
  const Fingerprint own = fingerprint_for(filled, {}, Telling::Memory);
  if (own == Fingerprint(0)) return own;
  FingerprintSum sum(what.value());
  sum.add(std::to_string(own.value()));
  return sum.value();
}
void note_programs(Command& command, const MoreOfProgram& more) {
  const bool is_short = size_of(command.arguments) <= kLong;
  if (is_short && more.words.empty() && more.directory.empty()) return;
  command.programs = {.run_time = fingerprint_for(command, more, Telling::RunTime),
                      .memory = fingerprint_for(command, more, Telling::Memory)};
}

std::string program_alone(std::string_view line) {
  const std::size_t quotes = line.starts_with('\'') ? 2 : 0;
  std::string_view word = line.substr(quotes / 2);
  // A shell's command line in one word is arguments, too.
  word = word.substr(0, word.find_first_of(" '"));
  const bool has_more = word.size() + quotes < line.size();
  return std::string(word.substr(word.rfind('/') + 1)) + (has_more ? " …" : "");
}

std::string command_line(const std::vector<std::string>& arguments, std::size_t most) {
  std::string text;
  for (const std::string& word : arguments) {
    if (text.size() > most) break;
    if (!text.empty()) text += ' ';
    text += in_one_line(word);
  }
  cut(text, most);
  return text;
}

}  // namespace berth::live
