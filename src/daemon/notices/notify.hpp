// systemd's readiness protocol: one datagram to the socket that NOTIFY_SOCKET names.
#pragma once

#include <string_view>

namespace berth::daemon {

/// `READY=1`, `STOPPING=1`. Nothing happens without `NOTIFY_SOCKET`.
void notify(std::string_view state);

}  // namespace berth::daemon
