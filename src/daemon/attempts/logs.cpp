#include "daemon/attempts/logs.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "posix/descriptor.hpp"
#include "posix/error.hpp"

namespace berth::daemon {

namespace {

constexpr std::size_t kPiece = 64 * 1024;
constexpr std::size_t kMostQueued = 4 * kPiece;  ///< Of one reader; then it is waited for.
/// While readers are waited for: a fast one has taken all within a millisecond.
constexpr int kRetryMillis = 1;
constexpr int kLongestRetryMillis = 64;

struct LogReader {
  std::string name;
  std::size_t offset = 0;
  std::shared_ptr<http::Stream> stream;
  bool ended = false;   ///< The file grows no more.
  bool touched = true;  ///< There may be more to read.
  Descriptor file;
};

}  // namespace

struct Logs::State {
  std::string folder;
  Descriptor inotify;
  Descriptor wake;
  std::mutex mutex;
  std::vector<LogReader> arrived;
  std::vector<std::string> over;
  bool stopping = false;
  std::vector<LogReader> readers;  ///< The thread's own.
  std::vector<char> piece = std::vector<char>(kPiece);
  int watch = -1;
  std::uint64_t sent = 0;  ///< Bytes, to all readers.
  std::thread thread;

  void run();
  void take_news();
  void read_events();
  void watch_if_needed();
  bool pump(LogReader& reader);
};

Logs::Logs(std::unique_ptr<State> state) : state_(std::move(state)) {
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

Expected<std::unique_ptr<Logs>> Logs::open(const std::string& folder) {
  auto state = std::make_unique<State>();
  state->folder = folder;
  state->inotify = Descriptor(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  state->wake = Descriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!state->inotify.is_open() || !state->wake.is_open()) {
    return io_error(folder + ": cannot be watched");
  }
  return std::unique_ptr<Logs>(new Logs(std::move(state)));
}

Logs::~Logs() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  ::eventfd_write(state_->wake.number(), 1);
  state_->thread.join();
}

void Logs::send(const std::shared_ptr<http::Exchange>& exchange, const std::string& name,
                std::size_t offset, Follow follow) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->arrived.push_back({.name = name,
                               .offset = offset,
                               .stream = exchange->stream("text/plain; charset=utf-8"),
                               .ended = follow == Follow::No,
                               .touched = true,
                               .file = {}});
  }
  ::eventfd_write(state_->wake.number(), 1);
}

void Logs::ended(const std::string& name) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->over.push_back(name);
  }
  ::eventfd_write(state_->wake.number(), 1);
}

void Logs::State::take_news() {
  eventfd_t count = 0;
  ::eventfd_read(wake.number(), &count);
  const std::lock_guard lock(mutex);
  for (LogReader& reader : arrived) readers.push_back(std::move(reader));
  arrived.clear();
  for (LogReader& reader : readers) {
    if (std::ranges::find(over, reader.name) == over.end()) continue;
    reader.ended = reader.touched = true;
  }
  over.clear();
}

void Logs::State::read_events() {
  alignas(inotify_event) std::array<char, 8192> buffer{};
  for (ssize_t got = 0; (got = ::read(inotify.number(), buffer.data(), buffer.size())) > 0;) {
    for (const char* at = buffer.data(); at < buffer.data() + got;) {
      inotify_event event{};
      std::memcpy(&event, at, sizeof event);
      const std::string_view name = event.len > 0 ? at + sizeof event : "";
      const bool lost_some = (event.mask & IN_Q_OVERFLOW) != 0;
      for (LogReader& reader : readers) {
        if (lost_some || reader.name == name) reader.touched = true;
      }
      at += sizeof event + event.len;
    }
  }
}

/// Only while a client follows: busy logs cost nothing otherwise.
void Logs::State::watch_if_needed() {
  const bool needed = std::ranges::any_of(readers, [](const LogReader& r) { return !r.ended; });
  if (needed == (watch >= 0)) return;
  if (needed) {
    watch = ::inotify_add_watch(inotify.number(), folder.c_str(), IN_MODIFY | IN_CREATE);
    for (LogReader& reader : readers) reader.touched = true;  // what was written before the watch
  } else {
    ::inotify_rm_watch(inotify.number(), watch);
    watch = -1;
  }
}

/// Returns: false once nothing more will come of it.
bool Logs::State::pump(LogReader& reader) {
  if (!reader.stream->is_open()) return false;
  while (reader.touched && reader.stream->queued() < kMostQueued) {
    if (!reader.file.is_open()) {
      const std::string path = folder + "/" + reader.name;
      reader.file = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    }
    const ssize_t got = reader.file.is_open()
                            ? ::pread(reader.file.number(), piece.data(), piece.size(),
                                      static_cast<off_t>(reader.offset))
                            : 0;
    const auto size = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    if (size < piece.size()) reader.touched = false;  // that was the end of it
    if (size == 0) break;
    reader.offset += size;
    sent += size;
    if (!reader.stream->write(std::string(piece.data(), size))) return false;
  }
  if (reader.touched || !reader.ended) return true;
  reader.stream->close();
  return false;
}

void Logs::State::run() {
  int retry = kRetryMillis;
  while (true) {
    take_news();
    {
      const std::lock_guard lock(mutex);
      if (stopping) return;
    }
    watch_if_needed();
    const std::uint64_t before = sent;
    std::erase_if(readers, [&](LogReader& reader) { return !pump(reader); });
    retry = sent > before ? kRetryMillis : std::min(2 * retry, kLongestRetryMillis);
    const bool is_behind = std::ranges::any_of(readers, &LogReader::touched);
    std::array<pollfd, 2> polled = {pollfd{wake.number(), POLLIN, 0},
                                    pollfd{inotify.number(), POLLIN, 0}};
    ::poll(polled.data(), polled.size(), is_behind ? retry : -1);
    read_events();
  }
}

}  // namespace berth::daemon
