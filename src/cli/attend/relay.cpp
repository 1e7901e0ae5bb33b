#include "cli/attend/relay.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "cli/ask/for_later.hpp"

namespace berth::cli {

namespace {

constexpr std::size_t kEnough = 256 * 1024;  ///< Queued; then its source is not read any more.
/// What a pipe takes without waiting when poll says that it takes something: a page.
constexpr std::size_t kRelayPage = 4096;

bool is_file(int descriptor) {
  struct stat status{};
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

std::string little(std::uint16_t number) {
  return {static_cast<char>(number & 0xFF), static_cast<char>(number >> 8)};
}

}  // namespace

Relay::Sink::Sink(int descriptor)
    : descriptor_(descriptor),
      at_once_(is_file(descriptor) ? std::numeric_limits<std::size_t>::max() : kRelayPage) {}

void Relay::Sink::add(std::string_view bytes) {
  if (!failure_) pending_.append(bytes);
}

bool Relay::Sink::is_full() const { return pending_.size() >= kEnough; }

pollfd Relay::Sink::interest() const {
  return {.fd = pending_.empty() ? -1 : descriptor_, .events = POLLOUT, .revents = 0};
}

void Relay::Sink::advance(short ready) {
  std::size_t written = 0;
  pollfd again{.fd = descriptor_, .events = POLLOUT, .revents = ready};
  while (again.revents != 0 && written < pending_.size()) {
    const std::size_t size = std::min(pending_.size() - written, at_once_);
    const ssize_t wrote = write(descriptor_, pending_.data() + written, size);
    if (wrote < 0 && !is_for_later(errno)) {
      failure_ = errno;
      pending_.clear();
      return;
    }
    if (wrote < 0) break;
    written += static_cast<std::size_t>(wrote);
    again.revents = 0;
    poll(&again, 1, 0);
  }
  pending_.erase(0, written);
}

Relay::Relay(Descriptor shim, Input input, std::optional<DetachKeys> keys)
    : shim_(std::move(shim)), input_(input), keys_(std::move(keys)) {
  if (input_ == Input::Ended) unsent_ += encode_frame(shim::FrameKind::InputEnd, {});
}

Relay::Polls Relay::interests() const {
  const bool reads_shim = !ended_ && !output_.is_full() && !error_.is_full();
  const bool reads_input =
      !ended_ && input_ == Input::Open && unsent_.size() < kEnough && is_foreground(STDIN_FILENO);
  const int wishes = (reads_shim ? POLLIN : 0) | (unsent_.empty() ? 0 : POLLOUT);
  const int shim = wishes == 0 || ended_ ? -1 : shim_.number();
  return {.shim = {.fd = shim, .events = static_cast<short>(wishes), .revents = 0},
          .input = {.fd = reads_input ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
          .output = output_.interest(),
          .error = error_.interest()};
}

void Relay::advance(const Polls& polls) {
  if (polls.shim.fd >= 0 && (polls.shim.revents & POLLOUT) != 0) flush();
  if (polls.shim.fd >= 0 && (polls.shim.revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_shim();
  if (polls.input.fd >= 0 && polls.input.revents != 0) read_input();
  if (polls.output.fd >= 0) output_.advance(polls.output.revents);
  if (polls.error.fd >= 0) error_.advance(polls.error.revents);
}

void Relay::type(std::string_view bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), shim::kLargestFrame))) {
    unsent_ +=
        encode_frame(shim::FrameKind::Input, std::string(bytes.substr(0, shim::kLargestFrame)));
  }
  flush();
}

void Relay::send_signal(int signal) {
  unsent_ += encode_frame(shim::FrameKind::Signal, std::string(1, static_cast<char>(signal)));
  flush();
}

void Relay::send_size(TerminalSize size) {
  unsent_ += encode_frame(shim::FrameKind::Resize, little(size.rows) + little(size.columns));
  flush();
}

void Relay::flush() {
  while (!unsent_.empty()) {
    const ssize_t sent =
        send(shim_.number(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && is_for_later(errno)) return;
    if (sent < 0) return unsent_.clear();  // that it is gone is seen where it is read
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
}

void Relay::read_shim() {
  std::array<char, shim::kLargestFrame> bytes;
  const ssize_t got = recv(shim_.number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0 && is_for_later(errno)) return;
  if (got <= 0) {
    ended_ = true;
    return;
  }
  frames_.add({bytes.data(), static_cast<std::size_t>(got)});
  while (!ended_) {
    const auto frame = frames_.next();
    if (!frame) ended_ = true;  // no shim says such things; the daemon knows how it ended
    if (!frame || !*frame) return;
    take(**frame);
  }
}

void Relay::take(const shim::Frame& frame) {
  switch (frame.kind) {
    case shim::FrameKind::Output:
      return output_.add(frame.bytes);
    case shim::FrameKind::Error:
      return error_.add(frame.bytes);
    case shim::FrameKind::Exit:
      ended_ = true;
      if (!frame.bytes.empty()) exit_code_ = static_cast<unsigned char>(frame.bytes.front());
      return;
    case shim::FrameKind::Detached:
      ended_ = true;
      parting_ = frame.bytes == std::string(1, static_cast<char>(shim::Parting::Replaced))
                     ? shim::Parting::Replaced
                     : shim::Parting::Wished;
      return;
    case shim::FrameKind::Hello:  // it was not asked
    case shim::FrameKind::Detach:
    case shim::FrameKind::Input:
    case shim::FrameKind::InputEnd:
    case shim::FrameKind::Signal:
    case shim::FrameKind::Resize:
      return;  // a shim does not send them
  }
}

void Relay::read_input() {
  std::array<char, 32 * 1024> bytes;
  const auto got = read_in_front(STDIN_FILENO, bytes);
  if (!got) return;
  if (*got == 0) return end_input();
  const std::string_view typed(bytes.data(), *got);
  std::string passed(typed);
  if (keys_) {
    DetachKeys::Typed sorted = keys_->take(typed);
    wants_to_detach_ = wants_to_detach_ || sorted.detaches;
    passed = std::move(sorted.for_job);
  }
  if (!passed.empty()) unsent_ += encode_frame(shim::FrameKind::Input, passed);
  flush();
}

void Relay::detach() {
  unsent_ += encode_frame(shim::FrameKind::Detach, {});
  flush();
}

void Relay::end_input() {
  input_ = Input::Ended;
  unsent_ += encode_frame(shim::FrameKind::InputEnd, {});
  flush();
}

}  // namespace berth::cli
