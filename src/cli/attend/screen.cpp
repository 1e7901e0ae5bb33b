#include "cli/attend/screen.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <sstream>
#include <vector>

#include "cli/attend/raw_terminal.hpp"
#include "cli/attend/signal_queue.hpp"

namespace berth::cli {

std::string redrawn(const std::string& page, std::size_t rows) {
  std::vector<std::string> lines;
  std::istringstream stream(page);
  for (std::string line; std::getline(stream, line);) lines.push_back(std::move(line));
  if (rows > 1 && lines.size() > rows) {
    const std::size_t hidden = lines.size() - (rows - 1);
    lines.resize(rows - 1);
    lines.push_back("... " + std::to_string(hidden) + " more lines");
  }
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += (i == 0 ? "" : "\r\n") + lines[i] + "\x1b[K";
  }
  return text + "\x1b[J";
}

SecondScreen::SecondScreen() { static_cast<void>(print("\x1b[?1049h\x1b[?25l\x1b[2J")); }
SecondScreen::~SecondScreen() { static_cast<void>(print("\x1b[?25h\x1b[?1049l")); }

namespace {

/// Waits so long for a signal. Returns: the code to end with; nothing to go on.
std::optional<int> wait_for_signal(const SignalQueue& signals, double longest) {
  pollfd polled{.fd = signals.descriptor(), .events = POLLIN, .revents = 0};
  poll(&polled, 1, static_cast<int>(longest * 1000));
  while (const auto signal = signals.next()) {
    const int number = signal->number;
    if (number == SIGINT) return 0;
    if (number != SIGWINCH && number != SIGCONT) return 128 + number;
  }
  return std::nullopt;
}

}  // namespace

int redraw_every(double seconds,
                 const std::function<int(const Look& look, std::string& page)>& make) {
  const SignalQueue signals;
  const SecondScreen screen;
  for (;;) {
    std::string page;
    if (const int code = make(look_of(STDOUT_FILENO), page); code != 0) return code;
    if (const int code = print(redrawn(page, size_of(STDOUT_FILENO).rows)); code != 0) return code;
    if (const auto code = wait_for_signal(signals, seconds)) return *code;
  }
}

}  // namespace berth::cli
