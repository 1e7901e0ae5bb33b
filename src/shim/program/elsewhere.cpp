#include "shim/program/elsewhere.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "shim/proc.hpp"
#include "shim/program/tree.hpp"

namespace berth::shim {

namespace {

constexpr std::size_t kMostInfo = 1024;
constexpr int kOctal = 8;
constexpr int kDecimal = 10;

std::uint64_t number_after(std::string_view text, std::string_view key, int base) {
  std::uint64_t number = 0;
  const std::size_t line = text.find(key);
  if (line == std::string_view::npos) return number;
  const std::string_view rest = text.substr(line + key.size());
  std::from_chars(rest.data(), rest.data() + rest.size(), number, base);
  return number;
}

// ---- In a process of the user's --------------------------------------------------------------

/// The file, if it still is the one that was seen, and no pipe or device.
Descriptor open_again(const std::string& path, const OpenFile& seen, struct stat& now) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  const bool is_it = file.is_open() && fstat(file.number(), &now) == 0 && S_ISREG(now.st_mode) &&
                     (seen.inode == 0 || seen.inode == now.st_ino);
  return is_it ? std::move(file) : Descriptor();
}

int say_size(const std::string& path, const OpenFile& seen) {
  struct stat now{};
  const std::int64_t size = open_again(path, seen, now).is_open() ? now.st_size : -1;
  return send(STDIN_FILENO, &size, sizeof size, MSG_NOSIGNAL) == sizeof size ? 0 : 1;
}

/// The end of what a file has from `from` on, in whole lines; "" if it is no text.
std::string end_of(const std::string& path, const OpenFile& seen, std::int64_t from,
                   std::size_t most) {
  struct stat now{};
  const Descriptor file = open_again(path, seen, now);
  if (!file.is_open()) return "";
  if (now.st_size < from) from = 0;  // it was emptied
  const auto room = static_cast<std::int64_t>(most);
  const bool is_cut = now.st_size - from > room;
  std::string text(is_cut ? most : static_cast<std::size_t>(now.st_size - from), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = pread(file.number(), text.data() + have, text.size() - have,
                              now.st_size - static_cast<std::int64_t>(text.size() - have));
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  if (text.contains('\0')) return "";
  const std::size_t line = text.find('\n');
  if (is_cut && line + 1 < text.size()) text.erase(0, line + 1);
  return text;
}

// ---- In the shim -----------------------------------------------------------------------------

/// Two ends of a socket that keeps what is sent apart.
std::optional<std::array<Descriptor, 2>> make_ends() {
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return std::nullopt;
  return std::array{Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Nothing at its end or at that of the time.
std::optional<std::string> next_packet(int socket, std::size_t most, Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  pollfd waiting{.fd = socket, .events = POLLIN, .revents = 0};
  if (poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) <= 0) return {};
  std::string packet(most, '\0');
  const ssize_t got = recv(socket, packet.data(), most, MSG_DONTWAIT);
  if (got <= 0) return std::nullopt;
  packet.resize(static_cast<std::size_t>(got));
  return packet;
}

}  // namespace

OpenFile parse_fdinfo(std::string_view text) {
  const std::uint64_t flags = number_after(text, "flags:\t", kOctal);
  return {.appends = (flags & O_APPEND) != 0, .inode = number_after(text, "\nino:\t", kDecimal)};
}

int Elsewhere::timeout() const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_ - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

void Elsewhere::on_time() {
  if (Clock::now() < next_) return;
  look();
  constexpr int kShare = 4;
  const auto now = Clock::now();
  const auto pause = std::chrono::ceil<std::chrono::milliseconds>((now - began_) / kShare);
  next_ = now + std::clamp(pause, kLeast, kMost);
}

void Elsewhere::look() {
  for (File& file : files_) settle(file, Clock::now());
  for (const Stat& stat : live_descendants(getpid())) {
    const std::string name = name_of(stat.pid, STDERR_FILENO);
    if (may_be_file(name)) note(name, parse_fdinfo(read_proc(stat.pid, "fdinfo/2", kMostInfo)));
  }
}

void Elsewhere::note(std::string path, const OpenFile& open) {
  const auto known = std::ranges::find_if(
      files_, [&](const File& file) { return file.path == path && file.open.inode == open.inode; });
  if (known != files_.end()) {
    std::rotate(known, known + 1, files_.end());
    return;
  }
  File file{.path = std::move(path), .open = open};
  if (open.appends) {
    auto ends = make_ends();
    if (!ends) return;
    auto sizer = Helper::begin(user_, (*ends)[1].number(),
                               [&file] { return say_size(file.path, file.open); });
    if (!sizer) return;
    file.sizer.emplace(std::move(*sizer), std::move((*ends)[0]));
  }
  if (files_.size() == kMostFiles) {
    if (files_.front().sizer) files_.front().sizer->helper.wait_until(Clock::now());
    files_.erase(files_.begin());
  }
  files_.push_back(std::move(file));
}

/// Takes the size that a file had, once it is said.
void Elsewhere::settle(File& file, Clock::time_point end) {
  if (!file.sizer) return;
  const auto size = next_packet(file.sizer->says.number(), sizeof file.from, end);
  if (!size) return;
  if (size->size() == sizeof file.from) std::memcpy(&file.from, size->data(), sizeof file.from);
  constexpr std::chrono::milliseconds kToEnd{100};
  file.sizer->helper.wait_until(Clock::now() + kToEnd);
  file.sizer.reset();
}

std::vector<Elsewhere::End> Elsewhere::ends() {
  const auto last = Clock::now() + kReading;
  std::vector<const File*> parts;
  for (File& file : files_) {
    settle(file, last);
    if (!file.sizer && file.from >= 0) parts.push_back(&file);
  }
  auto sockets = parts.empty() ? std::nullopt : make_ends();
  if (!sockets) return {};
  const std::size_t most = kMostShown / parts.size();
  const auto send_ends = [&] {
    for (const File* const part : parts) {
      // The first byte: none may be empty, or it would be an end.
      const std::string text = "." + end_of(part->path, part->open, part->from, most);
      if (send(STDIN_FILENO, text.data(), text.size(), MSG_NOSIGNAL) < 0) return 1;
    }
    return 0;
  };
  const auto helper = Helper::begin(user_, (*sockets)[1].number(), send_ends);
  (*sockets)[1].close();
  if (!helper) return {};
  std::vector<End> ends;
  for (const File* const part : parts) {
    const auto text = next_packet((*sockets)[0].number(), kMostShown + 1, last);
    if (!text) break;
    if (text->size() > 1) ends.push_back({.file = part->path, .text = text->substr(1)});
  }
  helper->wait_until(last);
  return ends;
}

}  // namespace berth::shim
