// The words that users type and read for values of enumerations: one table each, both ways.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/admission.hpp"
#include "core/base/error.hpp"
#include "core/job.hpp"

namespace berth {

// In the order of the values.
constexpr auto words_of(AdmissionMode) {
  return std::to_array<std::string_view>({"guarantee", "declared", "free-memory", "none"});
}
constexpr auto words_of(JobState) {
  return std::to_array<std::string_view>(
      {"queued", "held", "starting", "running", "suspended", "stopping", "deferred"});
}
constexpr auto words_of(Outcome) {
  return std::to_array<std::string_view>(
      {"done", "failed", "oom", "cancelled", "timeout", "lost", "rejected"});
}
constexpr auto words_of(After) {
  return std::to_array<std::string_view>({"after-any", "after-ok", "after-notok"});
}
constexpr auto words_of(DurationClass) {
  return std::to_array<std::string_view>({"short", "medium", "long", "service"});
}
constexpr auto words_of(Sharing) {
  return std::to_array<std::string_view>({"patient", "never", "now"});
}

template <class Enum>
constexpr std::string_view word_for(Enum value) {
  return words_of(Enum{})[static_cast<std::size_t>(value)];
}

/// Users see no rejected jobs: a job that can never start has failed.
constexpr std::string_view user_word(Outcome outcome) {
  return word_for(outcome == Outcome::Rejected ? Outcome::Failed : outcome);
}

/// The value that this word stands for; nothing for any other.
template <class Enum>
constexpr std::optional<Enum> from_word(std::string_view word) {
  constexpr auto words = words_of(Enum{});
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

/// `guarantee, declared, free-memory, none`, for messages.
template <class Enum>
std::string all_words() {
  std::string all;
  for (const std::string_view word : words_of(Enum{})) {
    all += (all.empty() ? "" : ", ") + std::string(word);
  }
  return all;
}

/// The same as from_word(). Errors: InvalidArgument, which begins with `what`:
/// `admission 'hope' is unknown; valid values: guarantee, ...`.
template <class Enum>
Expected<Enum> parse_word(const std::string& what, std::string_view word) {
  if (const auto known = from_word<Enum>(word)) return *known;
  return fail(ErrorCode::InvalidArgument,
              what + "'" + std::string(word) + "' is unknown; valid values: " + all_words<Enum>());
}

}  // namespace berth
