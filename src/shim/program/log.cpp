#include "shim/program/log.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "core/text/text.hpp"

namespace berth::shim {

void Log::keep(std::string_view output) {
  if (copy_) copy_->send(output);
  if (is_capped_) return keep_end(output);
  if (output.empty()) return;
  const std::uint64_t room = cap_ == 0 ? output.size() : cap_ - kept_;
  const std::string_view kept = output.substr(0, room);
  kept_ += kept.size();
  write_all(kept);
  if (kept.size() == output.size()) return;
  cap_now();
  keep_end(output.substr(kept.size()));
}

void Log::keep_end(std::string_view output) {
  beyond_ += output.size();
  end_.append(output.substr(output.size() - std::min(output.size(), kEnd)));
  if (end_.size() > 2 * kEnd) end_.erase(0, end_.size() - kEnd);
}

/// From the beginning of a line, where there is one.
void Log::finish() {
  if (beyond_ == 0) return;
  std::string_view end = std::string_view(end_).substr(end_.size() - std::min(end_.size(), kEnd));
  const std::size_t line = end.find('\n');
  if (end.size() < beyond_ && line < end.size() - 1) end.remove_prefix(line + 1);
  const std::uint64_t left_out = beyond_ - end.size();
  say(left_out == 0 ? "the rest of the output:"
                    : std::to_string(left_out) + " bytes are left out; the end of the output:");
  write_all(end);
  beyond_ = 0;
}

std::string Log::say(std::string_view words) {
  std::string line = "berth: " + std::string(words) + "\n";
  write_all(at_line_start_ ? line : "\n" + line);
  return line;
}

void Log::say_everywhere(std::string_view words) {
  const bool begins_line = at_line_start_;
  const std::string line = say(words);
  if (copy_) copy_->send(begins_line ? line : "\n" + line);
}

void Log::quote(std::string_view words, std::string_view text) {
  say(words);
  write_all(text);
}

std::vector<std::string> Log::notes() const {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::vector<std::string> notes;
  if (is_capped_) {
    const Bytes cap(static_cast<std::int64_t>(std::min(cap_, kMost)));
    notes.push_back("log capped at " + to_text(cap));
  }
  if (failed_with_ != 0) {
    notes.push_back(std::string("log is not whole: ") + strerrordesc_np(failed_with_));
  }
  if (copy_ && !copy_->problem().empty()) {
    notes.push_back("output file is not whole: " + copy_->problem());
  }
  return notes;
}

void Log::cap_now() {
  is_capped_ = true;
  say("log capped at " + std::to_string(cap_) + " bytes");
}

void Log::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file_.number(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      if (failed_with_ == 0) failed_with_ = errno;
      return;
    }
    at_line_start_ = bytes[static_cast<std::size_t>(written) - 1] == '\n';
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace berth::shim
