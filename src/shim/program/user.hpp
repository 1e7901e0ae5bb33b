// Who a job runs as, and what the shim does in their name.
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

#include "shim/order.hpp"
#include "shim/program/failure.hpp"

namespace berth::shim {

struct User {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
};
User user_of(const Order& order);

/// Turns this process into the user's, for good; does nothing unless it is root's.
Failure become(const User& user);

/// Runs an action in a new process of the user, with no descriptor of the shim open but 0, 1 and 2,
/// so that a signal it sends reaches only processes that the user may signal. If the shim does not
/// run as root, or the user is root, the action runs in this process. Waits for its end, but not
/// for long: the user may have stopped it.
void do_as(const User& user, const std::function<void()>& work);

}  // namespace berth::shim
