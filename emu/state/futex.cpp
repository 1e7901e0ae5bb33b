#include "emu/state/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace berth::emu {

void wait_on(SharedFutex& word, std::uint32_t seen, std::uint64_t deadline_nanoseconds) {
  const timespec deadline{.tv_sec = static_cast<time_t>(deadline_nanoseconds / kSecond),
                          .tv_nsec = static_cast<long>(deadline_nanoseconds % kSecond)};
  // FUTEX_WAIT_BITSET is the one that takes an absolute time.
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, seen, &deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void wake_all(SharedFutex& word) {
  word.fetch_add(1);
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace berth::emu
