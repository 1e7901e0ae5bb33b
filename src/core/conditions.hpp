// What a job waits for beside a place, and what few jobs ask for: other jobs, a time, its turn in
// an array, another run after some exit codes or a GPU's failure, a chance to save its state. Plain
// values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/limits.hpp"
#include "core/base/outcome.hpp"
#include "core/base/time.hpp"

namespace berth {

/// Which end of another job lets a job start.
enum class After : std::uint8_t { Any, Ok, NotOk };

constexpr bool allows(After when, Outcome outcome) {
  return when == After::Any || (when == After::Ok) == (outcome == Outcome::Done);
}

struct Dependency {
  JobId job;
  After when = After::Ok;
  /// How it ended, if it had before this job was submitted.
  std::optional<Outcome> ended = std::nullopt;
  /// The array that was named as a whole, by its first job; 0: this job was.
  JobId array = {};

  bool operator==(const Dependency&) const = default;
};

/// Of an array as a whole NotOk says: all have ended, and one at least not well.
constexpr bool is_of_one_in_array(const Dependency& on) {
  return on.when == After::NotOk && on.array != JobId(0);
}

/// Jobs that were submitted as one, with numbers that follow each other.
struct ArrayPlace {
  JobId first;               ///< The first job of the array; 0 for a job of none.
  std::int64_t task = 0;     ///< Its number in the array, as its user gave it.
  std::int32_t tasks = 0;    ///< Jobs of the array.
  std::int32_t at_once = 0;  ///< Most of them that wait for a place or run; 0: no bound.

  bool operator==(const ArrayPlace&) const = default;
};

/// How a job that saves its own state is told to, before it gives way; it runs again later.
struct Saving {
  std::int32_t signal = 0;  ///< For its processes; 0: it saves nothing by itself.
  Duration grace{0};        ///< For it to save, and to end.

  bool operator==(const Saving&) const = default;
};

struct Conditions {
  std::vector<Dependency> after;  ///< Those not met yet, once the job is taken in.
  Instant begin = kStart;         ///< Not before; kStart: at once.
  ArrayPlace array;
  std::string unique;                    ///< No other live job of its user has this key; "": none.
  std::vector<std::int32_t> requeue_on;  ///< Exit codes after which it runs again; ascending.
  std::int32_t requeues = 0;             ///< How often that, or the next, may still be.
  bool requeue_on_gpu_failure = false;   ///< It runs again, elsewhere, if a GPU of its fails.
  Saving on_preempt = {};
  std::string comment = {};  ///< Of its user; nothing depends on it. "": none.
  /// Its process was started by hand (Adopted): it is never suspended, moved or started again.
  bool adopted = false;

  bool operator==(const Conditions&) const = default;
};

}  // namespace berth
