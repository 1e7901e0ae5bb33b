#include "cli/ask/patience.hpp"

#include <poll.h>

#include "cli/print/verbs.hpp"

namespace berth::cli {

Expected<void> Patience::pause(const Error* error) {
  if (error != nullptr) {
    const bool away = error->code == ErrorCode::Io || error->code == ErrorCode::NotFound;
    if (!met_ || !away) return std::unexpected(*error);
    if (!said_) report_failure("berthd is away; waiting for it");
    said_ = true;
  }
  poll(nullptr, 0, static_cast<int>(backoff_.next().count()));
  return {};
}

}  // namespace berth::cli
