// For verbs that outlast a daemon's restart: retries after a broken connection.
#pragma once

#include "cli/ask/daemon.hpp"
#include "core/base/error.hpp"

namespace berth::cli {

class Patience {
 public:
  /// A daemon was there: from now on its absence is waited out.
  void met() {
    met_ = true;
    backoff_.reset();
  }

  /// Waits a little before the next attempt, and prints once on stderr that berthd is away. Errors:
  /// those of the outcome if trying again cannot help: the daemon's refusals, and no daemon at the
  /// start.
  template <class T>
  Expected<void> wait(const Expected<T>& outcome) {
    return outcome ? pause(nullptr) : pause(&outcome.error());
  }

 private:
  Expected<void> pause(const Error* error);

  Backoff backoff_;
  bool met_ = false;
  bool said_ = false;
};

}  // namespace berth::cli
