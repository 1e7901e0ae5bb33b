// Why a request is not carried out, with the status of the answer. A plain value.
#pragma once

#include <string>

namespace berth::daemon {

/// Why something is not done.
struct Denial {
  int status = 409;  ///< Of an answer that says nothing else.
  std::string message;
};

}  // namespace berth::daemon
