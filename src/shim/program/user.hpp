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

/// Does something in a process of its own that is the user's, with nothing of ours open but 0, 1
/// and 2: a signal that it sends reaches only whom the user could signal. Where the shim is not
/// root's, or the user is root, it is done here and now. Waits for its end, but not for long: the
/// user may have stopped it.
void do_as(const User& user, const std::function<void()>& work);

}  // namespace berth::shim
