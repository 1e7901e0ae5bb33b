#include "cli/attend/detach_keys.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace berth::cli {

namespace {

constexpr std::size_t kMostKeys = 8;

/// `a`, `ctrl-p`, `ctrl-\\`.
std::optional<char> key_named(std::string_view text) {
  constexpr std::string_view kControl = "ctrl-";
  if (text.size() == 1) return text.front();
  if (!text.starts_with(kControl) || text.size() != kControl.size() + 1) return std::nullopt;
  char key = text.back();
  if (key >= 'a' && key <= 'z') key = static_cast<char>(key - 'a' + 'A');
  return key >= '@' && key <= '_' ? std::optional(static_cast<char>(key - '@')) : std::nullopt;
}

}  // namespace

Expected<DetachKeys> DetachKeys::parse(std::string_view text) {
  DetachKeys keys;
  if (text == "none") return keys;
  if (text.size() == 2 && text[0] == '~' && text[1] > ' ' && text[1] != '~' && text[1] != '\x7f') {
    keys.keys_ = text;
    keys.begins_line_ = true;
    keys.words_ = std::string(text) + " at the beginning of a line";
    return keys;
  }
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const auto key = key_named(text.substr(at, comma - at));
    at = comma + 1;
    if (!key || keys.keys_.size() == kMostKeys) {
      return fail(ErrorCode::InvalidArgument, "is not ~ and a character, up to " +
                                                  std::to_string(kMostKeys) +
                                                  " keys such as ctrl-p,ctrl-q, or none");
    }
    keys.keys_ += *key;
  }
  keys.words_ = text;
  return keys;
}

DetachKeys::Typed DetachKeys::take(std::string_view bytes) {
  Typed typed;
  for (const char key : bytes) {
    take(key, typed);
    if (typed.detaches) break;
  }
  return typed;
}

void DetachKeys::take(char key, Typed& typed) {
  const bool may_begin = matched_ > 0 || !begins_line_ || is_line_start_;
  if (matched_ < keys_.size() && may_begin && key == keys_[matched_]) {
    typed.detaches = ++matched_ == keys_.size();
    if (typed.detaches) matched_ = 0;
    return;
  }
  if (matched_ == 0) return pass(key, typed);
  const std::size_t withheld = std::exchange(matched_, 0);
  pass(keys_.front(), typed);
  if (begins_line_ && key == keys_.front()) return;  // ~~ is ~
  // A later beginning may be among the rest.
  const std::string rest = keys_.substr(1, withheld - 1) + key;
  for (const char again : rest) take(again, typed);
}

void DetachKeys::pass(char key, Typed& typed) {
  typed.for_job += key;
  is_line_start_ = key == '\r' || key == '\n';
}

}  // namespace berth::cli
