#include "trace/slurm_states.hpp"

#include <algorithm>
#include <array>

namespace berth::trace {

namespace {

struct StateWord {
  std::string_view word;
  Outcome outcome;
};

constexpr auto kStateWords = std::to_array<StateWord>({
    {"COMPLETED", Outcome::Itself},      {"FAILED", Outcome::Itself},
    {"OUT_OF_MEMORY", Outcome::Itself},  {"CANCELLED", Outcome::Ended},
    {"TIMEOUT", Outcome::Ended},         {"NODE_FAIL", Outcome::Ended},
    {"PREEMPTED", Outcome::Ended},       {"BOOT_FAIL", Outcome::Ended},
    {"DEADLINE", Outcome::Ended},        {"REVOKED", Outcome::Ended},
    {"LAUNCH_FAILED", Outcome::Ended},   {"RUNNING", Outcome::NotEnded},
    {"PENDING", Outcome::NotEnded},      {"SUSPENDED", Outcome::NotEnded},
    {"REQUEUED", Outcome::NotEnded},     {"RESIZING", Outcome::NotEnded},
    {"CONFIGURING", Outcome::NotEnded},  {"COMPLETING", Outcome::NotEnded},
    {"STOPPED", Outcome::NotEnded},      {"SIGNALING", Outcome::NotEnded},
    {"STAGE_OUT", Outcome::NotEnded},    {"REQUEUE_FED", Outcome::NotEnded},
    {"REQUEUE_HOLD", Outcome::NotEnded}, {"SPECIAL_EXIT", Outcome::NotEnded},
});

}  // namespace

std::optional<Outcome> slurm_outcome(std::string_view state) {
  std::string_view word = state.substr(0, state.find(' '));
  const bool is_cut =
      word.ends_with('+') && word.size() > 1;  // as sacct's table cuts CANCELLED by 7
  if (is_cut) word.remove_suffix(1);
  const auto* const found = std::ranges::find_if(kStateWords, [&](const StateWord& state_word) {
    return is_cut ? state_word.word.starts_with(word) : state_word.word == word;
  });
  return found == kStateWords.end() ? std::nullopt : std::optional(found->outcome);
}

}  // namespace berth::trace
