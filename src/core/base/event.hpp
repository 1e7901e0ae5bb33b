// The reasons why a policy runs. They are hints: the view is the truth, and a policy that ignores
// events must still decide correctly.
#pragma once

#include <cstdint>

#include "core/base/ids.hpp"

namespace berth {

enum class EventKind : std::uint8_t {
  Submitted,  ///< Or released from hold, or updated: it waits now.
  Withdrawn,  ///< Held, or cancelled before a start.
  Granted,
  Preempted,  ///< Its berth is being emptied; it will wait again.
  Requeued,   ///< It waits again.
  Ended,      ///< Its process is gone; the memory may not be free yet.
  Forgotten,  ///< It ended and holds nothing: the view no longer knows it.
  Changed,    ///< Its estimate, time limit, class, progress or charge changed.
};

struct Event {
  EventKind kind;
  JobId job;
};

}  // namespace berth
