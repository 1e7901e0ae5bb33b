#include "shim/support.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "support/paths.hpp"

namespace berth::shim::test {

namespace {

constexpr int kDeadlineMillis = 45'000;  // longer than a shim's own patience, 30 s at most

/// With `socket` as descriptor 3 and an empty environment.
pid_t spawn_shim(int socket) {
  const std::string path = berth::test::program("berth-shim").string();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int aside = fcntl(socket, F_DUPFD_CLOEXEC, 10);  // a dup2 onto itself stays close-on-exec
  posix_spawn_file_actions_adddup2(&actions, aside, 3);
  std::array<char*, 2> words = {const_cast<char*>(path.c_str()), nullptr};
  std::array<char*, 1> environment = {nullptr};
  pid_t pid = -1;
  const int failed =
      posix_spawn(&pid, path.c_str(), &actions, nullptr, words.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(aside);
  if (failed != 0) ADD_FAILURE() << path << " does not start";
  return pid;
}

void write_all(int file, const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = send(file, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (count < 0) {
      ADD_FAILURE() << "the shim does not listen";
      return;
    }
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace

File& File::operator=(File&& other) noexcept {
  std::swap(number_, other.number_);
  other.close();
  return *this;
}

void File::close() {
  if (const int number = release(); number >= 0) ::close(number);
}

int File::release() { return std::exchange(number_, -1); }

Fifo::Fifo(std::string path) : path_(std::move(path)) {
  EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
  chmod(path_.c_str(), 0666);
  file_ = File(open(path_.c_str(), O_RDWR | O_CLOEXEC));  // a writer of our own: it never ends
}

std::string Fifo::line() {
  std::string line;
  for (char c = 0; can_read(file_.number()) && read(file_.number(), &c, 1) == 1 && c != '\n';) {
    line.push_back(c);
  }
  return line;
}

void Fifo::write(const std::string& text) {
  EXPECT_EQ(::write(file_.number(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

Daemon::Daemon() {
  std::array<int, 2> ends{-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  socket_ = File(ends[0]);
  const File other(ends[1]);
  shim_ = spawn_shim(other.number());
}

Daemon::~Daemon() {
  if (shim_ <= 0) return;
  kill(shim_, kKillSignal);
  gone();
}

Order Daemon::shell(const std::string& script) const {
  return {.job = JobId(42),
          .attempt = Attempt(1),
          .arguments = {"sh", "-c", script},
          .environment = {"PATH=/usr/bin:/bin"},
          .directory = folder_.path().string(),
          .user = geteuid(),
          .group = getegid(),
          .groups = {},
          .cgroup = "",
          .attach = std::nullopt};
}

void Daemon::start(const Order& order) {
  const File attempt(
      open((folder_ / "attempt").c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
  const File log(open((folder_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const std::string head = header_lines(order.job, order.attempt, order.user);
  EXPECT_EQ(write(attempt.number(), head.data(), head.size()), static_cast<ssize_t>(head.size()));
  EXPECT_EQ(flock(attempt.number(), LOCK_EX | LOCK_NB), 0);
  const auto sent = send_order(socket_.number(), order, attempt.number(), log.number());
  EXPECT_TRUE(sent) << sent.error().message;
}

void Daemon::send_bytes(const std::string& bytes) { write_all(socket_.number(), bytes); }

void Daemon::signal(int number) { EXPECT_EQ(kill(shim_, number), 0); }

void Daemon::attach(const Attach& client) {
  folder_.write("attempt" + std::string(kAttachSuffix), encode(client));
  signal(kAttachSignal);
}

Event Daemon::next_event() {
  std::array<char, 4096> bytes;
  if (!can_read(socket_.number())) return {};
  const ssize_t size = read(socket_.number(), bytes.data(), bytes.size());
  if (size <= 0) {
    ADD_FAILURE() << "the shim ended without a word";
    return {};
  }
  const auto event = decode_event({bytes.data(), static_cast<std::size_t>(size)});
  if (!event) ADD_FAILURE() << event.error().message;
  return event.value_or(Event());
}

Process Daemon::started() {
  const Event event = next_event();
  if (const auto* started = std::get_if<Started>(&event)) return started->job;
  ADD_FAILURE() << "ended before it started: " << std::get<Ended>(event).note;
  return {};
}

Ended Daemon::ended() {
  const Event event = next_event();
  if (const auto* ended = std::get_if<Ended>(&event)) return *ended;
  ADD_FAILURE() << "started, but should have ended";
  return {};
}

std::string Daemon::unstarted() {
  const Event event = next_event();
  if (const auto* unstarted = std::get_if<Unstarted>(&event)) return unstarted->why;
  ADD_FAILURE() << "should not have started";
  return "";
}

Ended Daemon::run(const Order& order) {
  start(order);
  started();
  return ended();
}

int Daemon::gone() {
  const File watch = watch_process(shim_);
  if (!can_read(watch.number())) kill(shim_, SIGKILL);
  int status = 0;
  waitpid(std::exchange(shim_, -1), &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string Daemon::log() const { return berth::test::read_file(folder_ / "log"); }

Record Daemon::record() const {
  const auto record = parse_record(berth::test::read_file(folder_ / "attempt"));
  if (!record) ADD_FAILURE() << record.error().message;
  return record.value_or(Record());
}

bool Daemon::is_locked() const {
  const File file(open((folder_ / "attempt").c_str(), O_RDONLY | O_CLOEXEC));
  const bool free = flock(file.number(), LOCK_EX | LOCK_NB) == 0;
  EXPECT_TRUE(free || errno == EWOULDBLOCK);
  return !free;
}

Client::Client(std::string path, uid_t user) : path_(std::move(path)) {
  const uid_t self = geteuid();
  // Bound by a name below the folder it is in, which may be longer than a socket's address.
  const std::size_t slash = path_.rfind('/');
  const File folder(open(path_.substr(0, slash).c_str(), O_PATH | O_CLOEXEC));
  const std::string reached =
      "/proc/self/fd/" + std::to_string(folder.number()) + path_.substr(slash);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::ranges::copy(reached, address.sun_path);
  listener_ = File(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(seteuid(user), 0);
  EXPECT_EQ(bind(listener_.number(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(listen(listener_.number(), 1), 0);
  EXPECT_EQ(seteuid(self), 0);
}

void Client::accept() {
  if (!can_read(listener_.number())) return;
  socket_ = File(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
}

void Client::send(FrameKind kind, const std::string& bytes) {
  send_bytes(encode_frame(kind, bytes));
}

void Client::send_bytes(const std::string& bytes) { write_all(socket_.number(), bytes); }

std::optional<Frame> Client::next() {
  std::array<char, 4096> bytes;
  for (;;) {
    auto frame = reader_.next();
    if (!frame) ADD_FAILURE() << frame.error().message;
    if (!frame || *frame) return frame.value_or(std::nullopt);
    if (!can_read(socket_.number())) return std::nullopt;
    const ssize_t size = read(socket_.number(), bytes.data(), bytes.size());
    if (size <= 0) return std::nullopt;
    reader_.add({bytes.data(), static_cast<std::size_t>(size)});
  }
}

std::string Client::output_until(const std::string& text) {
  std::string all;
  while (all.find(text) == std::string::npos) {
    const auto frame = next();
    if (!frame) {
      ADD_FAILURE() << "`" << text << "` does not come, only: " << all;
      break;
    }
    if (frame->kind == FrameKind::Output) all += frame->bytes;
  }
  return all;
}

Client::Heard Client::rest() {
  Heard heard;
  while (const auto frame = next()) {
    if (frame->kind == FrameKind::Output) heard.output += frame->bytes;
    if (frame->kind == FrameKind::Error) heard.error += frame->bytes;
    if (frame->kind == FrameKind::Exit) heard.exit = static_cast<unsigned char>(frame->bytes[0]);
  }
  return heard;
}

bool can_read(int file) {
  pollfd entry{.fd = file, .events = POLLIN, .revents = 0};
  if (poll(&entry, 1, kDeadlineMillis) > 0) return true;
  ADD_FAILURE() << "nothing came for " << kDeadlineMillis << " ms";
  return false;
}

File watch_process(pid_t pid) { return File(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

bool is_gone(pid_t pid) { return kill(pid, 0) != 0 && errno == ESRCH; }
bool is_root() { return geteuid() == 0; }

}  // namespace berth::shim::test
