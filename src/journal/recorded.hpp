// The schedule that a journal records: when each job was submitted, and from when to when it had a
// berth.
#pragma once

#include <map>
#include <span>
#include <string>

#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/input.hpp"
#include "engine/effect.hpp"

namespace berth::journal {

class Recorded {
 public:
  /// A step of the engine at `now`; steps come in order.
  void add(Instant now, std::span<const Input> inputs, const Effects& effects);

  /// `job_id,submit,start,end` by number, in seconds from the first submission on; the end is when
  /// the job gave back its berth for the last time. A time that is not there is empty, as is that
  /// of a submission before the first step.
  std::string csv() const;

 private:
  struct Times {
    Instant submit = kNever;
    Instant start = kNever;
    Instant end = kNever;
  };

  std::map<JobId, Times> jobs_;
};

}  // namespace berth::journal
