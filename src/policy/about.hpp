// What a policy or a placement says about itself. `berth policies`, its manual page and
// doc/policies.md print this and nothing else, so the policy's file is the one place to change.
#pragma once

#include <span>
#include <string_view>

#include "policy/keys.hpp"

namespace berth {

/// What a run must offer so that the policy is the one it is named after.
struct Needs {
  bool preemption = false;  ///< Jobs that give way while they run.
  bool samples = false;     ///< The service of past jobs (`--service`).
  bool estimates = false;   ///< Estimates of run times, or time limits.
  bool reports = false;     ///< Progress that jobs report.
};

/// Plain English; `Name et al., VENUE YEAR` for a source. Every text ends with a full stop.
struct About {
  std::string_view title = {};    ///< One line, unlike every other's.
  std::string_view rule = {};     ///< What it does; a formula where it is one.
  std::string_view reads = {};    ///< The facts it decides by.
  std::string_view source = {};   ///< Where the rule is published.
  std::string_view differs = {};  ///< From the source, as far as is known.
  std::string_view cost = {};
  /// What an outsider would accept: a peer's jobs, a published figure, a worked example of the
  /// paper, an independent restatement. `None yet.` is an answer; a golden of our own is none.
  std::string_view proof = {};
  Needs needs = {};
  std::span<const Key> keys = {};
  /// What keys must hold together. Errors: InvalidArgument, with the key, its value and the limit.
  Expected<void> (*check)(const Keys&) = nullptr;
};

/// `base` with every text that `own` has instead of its own, and the keys likewise.
constexpr About like(About base, const About& own) {
  for (const auto text : {&About::title, &About::rule, &About::reads, &About::source,
                          &About::differs, &About::cost, &About::proof}) {
    if (!(own.*text).empty()) base.*text = own.*text;
  }
  if (!own.keys.empty()) base.keys = own.keys;
  return base;
}

}  // namespace berth
