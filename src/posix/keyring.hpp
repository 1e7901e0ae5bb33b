// The session keyring of a process (session-keyring(7)), which a child inherits even if it changes
// its user: without its own, a job could use and change the keys of all other jobs.
#pragma once

#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace berth {

/// Leaves the inherited session keyring for a new and empty one, which belongs to the caller's
/// user and is charged to their quota. Call it before other threads begin: they have their own.
/// Returns: 0 or an errno. ENOSYS: this kernel has no keyrings. EPERM: a container forbids the
/// call, to its jobs too.
inline int join_own_session_keyring() {
  return syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 ? errno : 0;
}

/// Makes the keys of the caller's user usable from the session keyring, as a login does it.
/// Returns: 0 or an errno.
inline int link_user_keyring() {
  const long linked =
      syscall(SYS_keyctl, KEYCTL_LINK, KEY_SPEC_USER_KEYRING, KEY_SPEC_SESSION_KEYRING);
  return linked < 0 ? errno : 0;
}

/// Why there are no session keyrings here; 0 if there are.
inline int session_keyring_error() {
  const long found = syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0);
  return found < 0 ? errno : 0;
}

}  // namespace berth
