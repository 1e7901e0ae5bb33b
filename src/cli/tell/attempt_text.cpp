#include "cli/tell/attempt_text.hpp"

#include <string_view>
#include <utility>

#include "cli/ask/daemon.hpp"
#include "cli/tell/job_text.hpp"

namespace berth::cli {

namespace {

/// `4 GiB`, `a whole GPU`.
std::string asked_text(const Json& job) {
  for (const char* const key : {"vram_bytes", "vram_learned_bytes"}) {
    if (const Json& bytes = part_of(job, key); !bytes.is_null()) return size_text(bytes);
  }
  return integer_of(job, "gpu_count").value_or(1) > 1 ? "whole GPUs" : "a whole GPU";
}

/// `out of GPU memory, asked 2 GiB`, `exit 75`, `it held 5 GiB on GPU 0, was granted 2 GiB`.
std::string why_over(const Json& attempt) {
  const std::string outcome = printable(text_of(attempt, "outcome"));
  const std::string note = printable(text_of(attempt, "note"));
  constexpr std::string_view kEnded = "ended: ";
  constexpr std::string_view kRan = "ran ";
  if (note.starts_with(kEnded)) return note.substr(kEnded.size());
  if (outcome == "preempted" && note.starts_with(outcome)) return note;
  if (outcome == "oom" && note.starts_with("ran out of GPU memory"))
    return note.substr(kRan.size());
  const std::string words = ending({{"state", outcome}, {"note", note}});
  if (!words.empty()) return words;
  const auto code = integer_of(attempt, "exit_code");
  const std::string end = code ? exit_text(*code) : outcome;
  return end + (note.empty() ? "" : ": " + note);
}

bool says_it_starts_again(const std::string& why) {
  return why.find("starts again") != why.npos || why.find("runs again") != why.npos;
}

}  // namespace

std::vector<AttemptOver> attempts_over(const Json& job, std::int64_t told, const Json& news) {
  std::vector<AttemptOver> over;
  const Json& attempts = part_of(job, "attempts");
  if (!attempts.is_array() || attempts.empty()) return over;
  // After which attempt the job asks for what the news say.
  const std::int64_t before = integer_of(news, "attempt").value_or(0) - (waits(news) ? 0 : 1);
  for (std::size_t at = 0; at < attempts.size(); ++at) {
    const Json& attempt = attempts[at];
    const bool is_of_the_end = has_ended(job) && at + 1 == attempts.size();
    const auto number = integer_of(attempt, "attempt");
    const std::string outcome = text_of(attempt, "outcome");
    if (!number || *number <= told || outcome.empty() || is_of_the_end) continue;
    std::string text = "attempt " + std::to_string(*number) + " ended: " + why_over(attempt);
    if (!says_it_starts_again(text)) {
      text += "; starts again";
      if (outcome == "oom" && *number == before) text += " with " + asked_text(news);
    }
    over.push_back({*number, std::move(text)});
  }
  return over;
}

}  // namespace berth::cli
