#include "shim/proc.hpp"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <ctime>
#include <initializer_list>
#include <string>

namespace berth::shim {

namespace {

/// Fields from the state on, which is field 3 of proc(5).
constexpr std::size_t kParent = 1;
constexpr std::size_t kGroup = 2;
constexpr std::size_t kSession = 3;
constexpr std::size_t kFlags = 6;
constexpr std::size_t kThreads = 17;
constexpr std::size_t kStart = 19;
constexpr std::size_t kExitSignal = 35;

std::string_view field(std::string_view fields, std::size_t index) {
  for (; index > 0; --index) {
    const std::size_t space = fields.find(' ');
    if (space == std::string_view::npos) return {};
    fields.remove_prefix(space + 1);
  }
  return fields.substr(0, fields.find(' '));
}

template <class T>
bool read_number(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::optional<Stat> parse_stat(std::string_view text) {
  const std::size_t name = text.find(" (");
  const std::size_t name_end = text.rfind(") ");  // a name may hold anything, parentheses too
  if (name == std::string_view::npos || name_end == std::string_view::npos) return std::nullopt;
  const std::string_view fields = text.substr(name_end + 2);
  Stat stat{.state = fields.empty() ? '?' : fields.front()};
  const bool whole = read_number(text.substr(0, name), stat.pid) &&
                     read_number(field(fields, kParent), stat.parent) &&
                     read_number(field(fields, kGroup), stat.group) &&
                     read_number(field(fields, kSession), stat.session) &&
                     read_number(field(fields, kFlags), stat.flags) &&
                     read_number(field(fields, kThreads), stat.threads) &&
                     read_number(field(fields, kStart), stat.start) &&
                     read_number(field(fields, kExitSignal), stat.exit_signal);
  return whole ? std::optional(stat) : std::nullopt;
}

std::string read_proc(pid_t pid, const char* name, std::size_t most) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::string text(most, '\0');
  const ssize_t size = read(file, text.data(), text.size());
  close(file);
  text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return text;
}

std::string name_of(pid_t pid, int descriptor) {
  const std::string link = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(descriptor);
  std::array<char, PATH_MAX> name;
  const ssize_t size = readlink(link.c_str(), name.data(), name.size());
  const bool is_whole = size > 0 && static_cast<std::size_t>(size) < name.size();
  return is_whole ? std::string(name.data(), static_cast<std::size_t>(size)) : "";
}

bool may_be_file(std::string_view name) {
  return name.starts_with('/') && !name.starts_with("/dev/") && !name.starts_with("/proc/") &&
         !name.ends_with(" (deleted)");
}

std::optional<Stat> stat_of(pid_t pid) {
  const std::string text = read_proc(pid, "stat", 1024);
  return text.empty() ? std::nullopt : parse_stat(text);
}

/// The signals in this line of /proc/PID/status.
static std::uint64_t signals_in(const std::string& status, std::string_view key) {
  constexpr int kHex = 16;
  std::uint64_t signals = 0;
  const std::size_t line = status.find(key);
  if (line == std::string::npos) return 0;
  std::from_chars(status.data() + line + key.size(), status.data() + status.size(), signals, kHex);
  return signals;
}

static bool has(std::uint64_t signals, int signal) { return (signals >> (signal - 1) & 1) != 0; }

bool has_pending(pid_t pid, int signal) {
  // A signal that ends a process is handed to its threads as SIGKILL.
  const std::string status = read_proc(pid, "status", 4096);
  return has(signals_in(status, "\nSigPnd:\t") | signals_in(status, "\nShdPnd:\t"), signal);
}

bool hears(pid_t pid, int signal) {
  // Shells and libc block every signal while they fork and until the exec: that waits for none.
  constexpr std::uint64_t kEvery = 0x7ffbfeff;  // of the first 31 that can be blocked
  const std::string status = read_proc(pid, "status", 4096);
  const std::uint64_t blocked = signals_in(status, "\nSigBlk:\t");
  const bool is_forking = (blocked & kEvery) == kEvery;
  return has(signals_in(status, "\nSigCgt:\t"), signal) || (!is_forking && has(blocked, signal));
}

bool takes(const Stat& stat, int signal) {
  constexpr std::uint64_t kHasNotExecuted = 0x40;  // PF_FORKNOEXEC, of the flags
  constexpr std::uint64_t kMoment = 1;             // second
  if (!hears(stat.pid, signal)) return false;
  if ((stat.flags & kHasNotExecuted) == 0) return true;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const auto ticks = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return static_cast<std::uint64_t>(now.tv_sec) > stat.start / ticks + kMoment;
}

bool ignores(pid_t pid, int signal) {
  return has(signals_in(read_proc(pid, "status", 4096), "\nSigIgn:\t"), signal);
}

}  // namespace berth::shim
