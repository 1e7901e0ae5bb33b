#include "daemon/attempts/declared.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "daemon/loop/processes.hpp"
#include "posix/descriptor.hpp"

namespace berth::daemon {

namespace {

constexpr auto kReadWait = std::chrono::milliseconds(20);
constexpr std::ptrdiff_t kMostReadingsOfUser = 2;  ///< Readings under way.
constexpr std::ptrdiff_t kMostReadings = 32;
constexpr std::size_t kManyKnown = 256;  ///< Before those that have ended are looked for.
constexpr std::size_t kLongestArguments = std::size_t{2} << 20;  ///< The most that execve(2) takes.

/// The value of a variable; "" if there is none, or the file cannot be read.
std::string variable_in(const std::string& path, const std::string& name) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return "";
  std::string text(1, '\0');
  std::array<char, 4096> part{};
  while (text.size() < kLongestArguments) {
    const ssize_t got = ::read(file.number(), part.data(), part.size());
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  const std::string begin = std::string(1, '\0') + name + "=";
  const std::size_t found = text.find(begin);
  if (found == std::string::npos) return "";
  const std::size_t at = found + begin.size();
  return text.substr(at, text.find('\0', at) - at);
}

}  // namespace

struct Declarations::Reading {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<std::string> key;  ///< Once it is read.

  std::optional<std::string> within(std::chrono::milliseconds wait) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, wait, [this] { return key.has_value(); });
    return key;
  }
  void set(std::string text) {
    const std::lock_guard lock(mutex);
    key = std::move(text);
    changed.notify_all();
  }
};

std::optional<JobId> Declarations::job_of(pid_t pid) {
  const auto start = shim::start_of(pid);
  if (!start) return std::nullopt;
  if (const auto found = known_.find(pid); found != known_.end()) {
    Known& known = found->second;
    if (known.reading) take(pid, known);
    if (known.reading) return std::nullopt;
    if (known.start == *start) return known.job;
    known_.erase(found);
  }
  const auto user = process_user(pid);
  if (!user || !may_read_of(*user)) return std::nullopt;
  forget_ended();
  auto reading = std::make_shared<Reading>();
  try {
    std::thread([reading, path = folder_ + "/" + std::to_string(pid) + "/environ"] {
      reading->set(variable_in(path, kJobKey));
    }).detach();
  } catch (const std::system_error&) {
    return std::nullopt;  // no thread now; the next look may have one
  }
  Known& known = known_[pid] = {.start = *start, .user = *user, .reading = reading};
  static_cast<void>(reading->within(kReadWait));
  take(pid, known);
  return known.job;
}

/// Counts for the process that was meant only if that still has the number.
void Declarations::take(pid_t pid, Known& known) const {
  const auto key = known.reading->within(std::chrono::milliseconds(0));
  if (!key) return;
  known.reading = nullptr;
  if (shim::start_of(pid) == known.start) known.job = keys_.job_of(*key);
}

bool Declarations::may_read_of(uid_t user) const {
  const auto is_read = [](const auto& entry) { return entry.second.reading != nullptr; };
  const auto is_of_user = [&](const auto& entry) {
    return is_read(entry) && entry.second.user == user;
  };
  return std::ranges::count_if(known_, is_of_user) < kMostReadingsOfUser &&
         std::ranges::count_if(known_, is_read) < kMostReadings;
}

void Declarations::forget_ended() {
  if (known_.size() < kManyKnown) return;
  std::erase_if(known_, [](const auto& entry) {
    return entry.second.reading == nullptr && shim::start_of(entry.first) != entry.second.start;
  });
}

}  // namespace berth::daemon
