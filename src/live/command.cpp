#include "live/command.hpp"

#include <algorithm>
#include <set>

#include "core/codec.hpp"
#include "core/fingerprint.hpp"
#include "live/telling_words.hpp"

namespace berth::live {

constexpr Occasion last_of(Occasion) { return Occasion::Overuse; }
inline auto members(Warning& v) { return std::tie(v.signal, v.before); }
inline auto members(Notice& v) { return std::tie(v.to, v.on); }
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

bool needs_quotes(std::string_view word) {
  if (word.empty()) return true;
  for (const char c : word) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("_-./=:,@%+").find(c) != std::string_view::npos ||
                       static_cast<unsigned char>(c) >= 0x80;
    if (!plain) return true;
  }
  return false;
}

std::string shell_quoted(std::string_view word) {
  if (!needs_quotes(word)) return std::string(word);
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
  }
  return text + "'";
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

std::string_view word_for(Occasion occasion) {
  switch (occasion) {
    case Occasion::Start:
      return "start";
    case Occasion::End:
      return "end";
    case Occasion::Fail:
      return "fail";
    case Occasion::Idle:
      return "idle";
    case Occasion::Overuse:
      return "overuse";
  }
  return "";
}

Expected<std::vector<Occasion>> parse_occasions(std::string_view text) {
  std::set<Occasion> found;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view word = text.substr(at, comma - at);
    at = comma + 1;
    const std::size_t before = found.size();
    for (const Occasion one :
         {Occasion::Start, Occasion::End, Occasion::Fail, Occasion::Idle, Occasion::Overuse}) {
      if (word == word_for(one)) found.insert(one);
    }
    if (found.size() > before) continue;
    return fail(ErrorCode::InvalidArgument,
                "'" + std::string(word.substr(0, 40)) +
                    "' is none of start, end, fail, idle, overuse, or there twice");
  }
  return std::vector(found.begin(), found.end());
}

/// What few jobs have stands behind the rest, and only where it is there: commands of earlier
/// releases end before it. First the output, then numbers that say what follows.
std::string encode(const Command& command) {
  ByteWriter out;
  codec::put(out, command);
  put_attach(out, command.attach);
  const bool is_optional = command.attach && command.attach->optional;
  const bool has_parts = command.processes != 0 || command.warning || command.notice ||
                         is_optional || !command.snapshot.empty();
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
  if (!command.snapshot.empty()) {
    out.integer(kSnapshot);
    out.text(command.snapshot);
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

namespace {

Fingerprint fingerprint_for(const Command& command, Telling telling) {
  FingerprintSum sum(command.owner.user);
  for (const std::string& word : telling_words(command.arguments, command.directory, telling)) {
    sum.add(word);
  }
  return sum.value();
}

}  // namespace

Fingerprint fingerprint_of(const Command& command) {
  return fingerprint_for(command, Telling::RunTime);
}
Fingerprint memory_fingerprint_of(const Command& command) {
  return fingerprint_for(command, Telling::Memory);
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
    text += shell_quoted(word);
  }
  cut(text, most);
  return text;
}

}  // namespace berth::live
