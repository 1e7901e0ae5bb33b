// The description of a policy or a placement. `berth policies`, its manual page and doc/policies.md
// print this and nothing else, so the policy's file is the one place to change.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "policy/keys.hpp"

namespace berth {

/// The facts and abilities without which the policy is not the one in its source.
struct Needs {
  bool preemption = false;  ///< Running jobs that can be stopped.
  bool samples = false;     ///< The service of past jobs (`--service`).
  bool estimates = false;   ///< Estimates of run times, or time limits.
  bool reports = false;     ///< Progress that jobs report.
};

/// Of a backfill: whom it lets pass, and what it does not go with.
struct Passing {
  enum class Who : std::uint8_t {
    Nobody,        ///< No job passes one that does not fit.
    Anybody,       ///< Every job that fits does.
    WhoDelaysNone  ///< A job that does not delay those with a place kept does.
  };
  Who who = Who::Nobody;
  /// It gives a job that was preempted its place back at once, so no gate that preempts goes with
  /// it.
  bool returns_places = false;
  std::string_view by_holdings = {};  ///< Why no order does of which users' holdings are part.
  std::string_view by_lanes = {};     ///< Why no order does that depends on DependsOn::Lane.
};

/// Plain English; `Name et al., VENUE YEAR` for a source. Every text ends with a full stop.
struct About {
  std::string_view title = {};    ///< One line, different from every other.
  std::string_view rule = {};     ///< How it decides; a formula where possible.
  std::string_view reads = {};    ///< The facts by which it decides.
  std::string_view source = {};   ///< Where the rule is published.
  std::string_view differs = {};  ///< Known differences from the source.
  std::string_view cost = {};
  /// Evidence that an outsider would accept: a peer's jobs, a published figure, a worked example of
  /// the paper, an independent restatement. `None yet.` is an answer; our own golden is not.
  std::string_view proof = {};
  Needs needs = {};
  Passing passing = {};
  std::span<const Key> keys = {};
  /// Checks dependent keys. Errors: InvalidArgument, with the key, its value and the limit.
  Expected<void> (*check)(const Keys&) = nullptr;
};

/// `base` with the texts and keys of `own` where `own` has them.
constexpr About like(About base, const About& own) {
  for (const auto text : {&About::title, &About::rule, &About::reads, &About::source,
                          &About::differs, &About::cost, &About::proof}) {
    if (!(own.*text).empty()) base.*text = own.*text;
  }
  if (!own.keys.empty()) base.keys = own.keys;
  return base;
}

}  // namespace berth
