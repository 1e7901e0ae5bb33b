#include "shim/program/pump.hpp"

#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <utility>

#include "core/base/limits.hpp"
#include "shim/proc.hpp"
#include "shim/program/io.hpp"

namespace berth::shim {

namespace {

constexpr std::size_t kMostRead = kLargestFrame;  // also what a pipe holds
/// One that does not read what is left for it may miss the end of it.
constexpr auto kPatienceWithGoing = std::chrono::seconds(1);

std::uint16_t short_at(std::string_view bytes, std::size_t at) {
  const auto low = static_cast<unsigned char>(bytes[at]);
  const auto high = static_cast<unsigned char>(bytes[at + 1]);
  return static_cast<std::uint16_t>(low | high << 8);
}

}  // namespace

Pump::Pump(ShimEnds ends, Log& log, std::optional<Client> client)
    : ends_(std::move(ends)),
      log_(log),
      client_(std::move(client)),
      buffer_(std::make_unique_for_overwrite<char[]>(kMostRead)) {}

void Pump::watch(PollSet& set) const {
  if (!is_held_back()) {
    if (ends_.output.is_open()) set.add(ends_.output.number(), POLLIN);
    if (ends_.error.is_open()) set.add(ends_.error.number(), POLLIN);
  }
  // Only with something to write: a pipe without a reader would never let the loop sleep.
  if (!input_.empty()) set.add(ends_.input.number(), POLLOUT);
  if (const Copy* const copy = log_.copy(); copy != nullptr && copy->number() >= 0) {
    set.add(copy->number(), static_cast<short>(POLLIN | (copy->has_unsent() ? POLLOUT : 0)));
  }
  if (!client_) return;
  const int reading = wants_input() ? POLLIN : 0;
  const int writing = client_->has_unsent() ? POLLOUT : 0;
  set.add(client_->number(), static_cast<short>(reading | writing));
}

Wishes Pump::move(const PollSet& ready) {
  Wishes wishes;
  if (ready.has(ends_.output.number(), POLLIN)) pass_on(ends_.output, FrameKind::Output);
  if (ready.has(ends_.error.number(), POLLIN)) pass_on(ends_.error, FrameKind::Error);
  if (client_) {
    const bool heard = !ready.has(client_->number(), POLLIN) || hear_client(wishes);
    if (!heard || !client_->flush()) {
      client_.reset();
      wishes.hung_up = !may_go_;
    } else if (std::exchange(goes_, false)) {
      client_->flush_until(Clock::now() + kPatienceWithGoing);
      client_.reset();
    }
  }
  if (!input_.empty()) feed_job();
  if (log_.copy() != nullptr) log_.copy()->move();
  return wishes;
}

void Pump::drain() {
  // More than any pipe holds. Later output of a process outside the tree is not the job's.
  constexpr std::size_t kMostDrained = 16 * 1024 * 1024;
  std::size_t drained = 0;
  while (drained < kMostDrained) {
    const std::size_t before = drained;
    drained += pass_on(ends_.output, FrameKind::Output);
    drained += pass_on(ends_.error, FrameKind::Error);
    if (drained == before) return;
  }
}

std::optional<pid_t> Pump::foreground() const {
  if (!ends_.terminal.is_open()) return std::nullopt;
  const pid_t group = tcgetpgrp(ends_.output.number());
  return group > 1 ? std::optional(group) : std::nullopt;
}

void Pump::say(std::string_view words) {
  const std::string line = log_.say(words);
  if (client_) client_->send(FrameKind::Error, line);
}

void Pump::finish(int code) {
  constexpr auto kPatience = std::chrono::seconds(3);
  if (!client_) return;
  client_->send(FrameKind::Exit, std::string(1, static_cast<char>(code)));
  client_->flush_until(Clock::now() + kPatience);
}

/// Returns: the bytes read.
std::size_t Pump::pass_on(Descriptor& from, FrameKind kind) {
  if (!from.is_open()) return 0;
  const Moved got = read_some(from.number(), buffer_.get(), kMostRead);
  const std::string_view bytes(buffer_.get(), got.bytes);
  log_.keep(bytes);
  if (client_ && !bytes.empty()) client_->send(kind, bytes);
  if (got.flow == Flow::Ended) from.close();
  return got.bytes;
}

void Pump::feed_job() {
  const Moved fed = write_some(ends_.input.number(), input_);
  input_.erase(0, fed.bytes);
  if (fed.flow == Flow::Ended) input_.clear(), ends_.input.close();  // it has no reader
  if (input_.empty() && input_ends_) ends_.input.close();
}

void Pump::end_input() {
  termios settings{};
  input_ends_ = true;
  if (ends_.terminal.is_open() && tcgetattr(ends_.terminal.number(), &settings) == 0) {
    input_.push_back(static_cast<char>(settings.c_cc[VEOF]));
  }
  if (input_.empty()) ends_.input.close();
}

/// Returns: false for a frame that no `berth run` sends.
bool Pump::obey(const Frame& frame, Wishes& wishes) {
  const std::string& bytes = frame.bytes;
  switch (frame.kind) {
    case FrameKind::Input:
      if (bytes.empty()) client_->send(FrameKind::Hello, std::string(1, kProtocol));
      if (ends_.input.is_open() && !input_ends_) input_ += bytes;
      tell_of_vain_stop(bytes);
      return true;
    case FrameKind::InputEnd:
      if (ends_.input.is_open() && !input_ends_) end_input();
      return true;
    case FrameKind::Signal:
      if (bytes.size() != 1 || bytes[0] < 1 || bytes[0] > limits::kLastSignal) return false;
      wishes.signals.push_back(bytes[0]);
      return true;
    case FrameKind::Resize:
      if (bytes.size() != 4) return false;
      resize(short_at(bytes, 0), short_at(bytes, 2));
      return true;
    case FrameKind::Detach:
      detach();
      return true;
    default:
      return false;
  }
}

/// The kernel drops the signal of Ctrl-Z for a program without a shell that could continue it: who
/// typed it and sees nothing should not take the job for stopped, nor for stuck.
void Pump::tell_of_vain_stop(std::string_view typed) {
  termios settings{};
  if (knows_of_stop_ || !ends_.terminal.is_open()) return;
  if (tcgetattr(ends_.terminal.number(), &settings) != 0) return;
  const cc_t key = settings.c_cc[VSUSP];
  const bool is_key = (settings.c_lflag & ISIG) != 0 && key != _POSIX_VDISABLE &&
                      typed.contains(static_cast<char>(key));
  const auto group = foreground();
  if (!is_key || !group || *group != tcgetsid(ends_.output.number())) return;
  if (hears(*group, SIGTSTP) || ignores(*group, SIGTSTP)) return;  // a shell, an editor
  knows_of_stop_ = true;
  client_->send(FrameKind::Error,
                "\r\nberth: Ctrl-Z does not stop the job, which goes on; ~d at the beginning of a "
                "line, or what --detach-keys says, leaves it\r\n");
}

void Pump::detach() {
  may_go_ = true;
  goes_ = true;
  client_->send(FrameKind::Detached, std::string(1, static_cast<char>(Parting::Wished)));
}

void Pump::replace(Client client, const Attach& size) {
  if (client_) {
    client_->send(FrameKind::Detached, std::string(1, static_cast<char>(Parting::Replaced)));
    client_->flush();  // not waiting: it may be a terminal that is long gone
  }
  client_.emplace(std::move(client));
  may_go_ = true;
  goes_ = false;
  knows_of_stop_ = false;
  resize(size.rows, size.columns);
}

/// Returns: false if the client is gone.
bool Pump::hear_client(Wishes& wishes) {
  if (!client_->receive()) return false;
  for (;;) {
    const auto frame = client_->next();
    if (!frame) return false;
    if (!*frame) return true;
    if (!obey(**frame, wishes)) return false;
  }
}

void Pump::resize(std::uint16_t rows, std::uint16_t columns) {
  if (!ends_.terminal.is_open()) return;
  const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  ioctl(ends_.output.number(), TIOCSWINSZ, &size);  // the kernel sends SIGWINCH
}

}  // namespace berth::shim
