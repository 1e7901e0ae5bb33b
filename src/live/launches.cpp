#include "live/launches.hpp"

#include <algorithm>
#include <utility>

namespace berth::live {

namespace {

constexpr Duration kLaunching = Duration(4000);  ///< Of a turn.

}  // namespace

bool Launches::work() {
  const Instant ends = hands_.clock.now() + kLaunching;
  while (!waiting_.empty()) {
    const auto more = read_some(waiting_.front());
    if (!more || !*more) {
      Launching whole = std::move(waiting_.front());
      waiting_.pop_front();
      finish(std::move(whole), more);
    }
    if (hands_.clock.now() >= ends) break;
  }
  return !waiting_.empty();
}

/// A part of its words. Returns: whether there are more.
Expected<bool> Launches::read_some(Launching& next) const {
  if (!next.command) {
    const Job* const known = keeper_.engine().view().find(next.job);
    if (known == nullptr) return fail(ErrorCode::NotFound, "the engine does not know it");
    const auto blob = keeper_.store().blob(known->spec.command);
    if (!blob) return std::unexpected(blob.error());
    auto command = decode_command(*blob);
    if (!command) return std::unexpected(command.error());
    const auto variables = keeper_.store().blob(command->environment);
    if (!variables) return std::unexpected(variables.error());
    auto environment = decode_environment(*variables);
    if (!environment) return std::unexpected(environment.error());
    next.command = std::move(*command);
    next.environment = std::move(*environment);
  } else {
    Command& command = *next.command;
    const std::size_t arguments = command.more_arguments.size();
    const bool is_argument = next.parts < arguments;
    const auto blob =
        keeper_.store().blob(is_argument ? command.more_arguments[next.parts]
                                         : command.more_environment[next.parts - arguments]);
    if (!blob) return std::unexpected(blob.error());
    std::vector<std::string>& words = is_argument ? command.arguments : next.environment;
    const std::size_t before = words.size();
    if (auto done = append_words(words, *blob); !done) return std::unexpected(done.error());
    const bool is_first = next.parts == (is_argument ? 0 : arguments);
    const std::size_t parts = is_argument ? arguments : command.more_environment.size();
    if (is_first) words.reserve(before + (words.size() - before) * parts);  // parts are much alike
    ++next.parts;
  }
  return next.parts < next.command->more_arguments.size() + next.command->more_environment.size();
}

void Launches::finish(Launching launching, const Expected<bool>& read) {
  const auto launched = read ? launch(launching) : std::unexpected(read.error());
  if (!launched) failed_(launching.job, launching.attempt, launched.error().message);
}

Expected<void> Launches::launch(Launching& launching) {
  const Job* const known = keeper_.engine().view().find(launching.job);
  if (known == nullptr) return fail(ErrorCode::NotFound, "the engine does not know it");
  return hands_.executor.launch({.job = *known,
                                 .attempt = launching.attempt,
                                 .grant = launching.grant,
                                 .command = *launching.command,
                                 .environment = launching.environment});
}

std::optional<Attempt> Launches::take(JobId job) {
  const auto found = std::ranges::find(waiting_, job, &Launching::job);
  if (found == waiting_.end()) return std::nullopt;
  Launching launching = std::move(*found);
  waiting_.erase(found);
  if (!launching.goes_on) return launching.attempt;
  Expected<bool> more = true;
  while (more && *more) more = read_some(launching);
  finish(std::move(launching), more);
  return std::nullopt;
}

}  // namespace berth::live
