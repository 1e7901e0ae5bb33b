// The shim's end of its socket to the daemon.
#pragma once

#include <optional>

#include "posix/descriptor.hpp"
#include "shim/order.hpp"

namespace berth::shim {

struct Told {
  Order order;
  Descriptor attempt;
  Descriptor log;
};

/// Waits for the order; nothing if the daemon has none for this spare any more. Errors: BadData for
/// an order that cannot be followed, Io where the descriptor is no such socket.
Expected<std::optional<Told>> receive_order(int socket);

/// Tells the daemon, if it still listens: its end is never a reason to end the job.
void send_event(int socket, const Event& event);

}  // namespace berth::shim
