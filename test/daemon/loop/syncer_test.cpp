// Goal: answers wait for a sync that began after them, never for tidying. Method: syncs and tidying
// that last until the test lets them end.
#include "daemon/loop/syncer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <semaphore>

namespace berth::daemon {
namespace {

Expected<void> sync_at_once() { return {}; }

/// Waits for the answer to one promise.
bool is_kept(Syncer& syncer) {
  std::promise<bool> kept;
  syncer.after_sync([&](const Expected<void>& synced) { kept.set_value(synced.has_value()); });
  return kept.get_future().get();
}

TEST(Syncing, TidyingKeepsNoAnswerWaiting) {
  std::binary_semaphore begun(0);
  std::binary_semaphore may_end(0);
  Syncer syncer(sync_at_once, {.is_due = [] { return true; },
                               .work =
                                   [&] {
                                     begun.release();
                                     may_end.acquire();
                                   }});
  EXPECT_TRUE(is_kept(syncer));
  begun.acquire();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(is_kept(syncer)) << "while it tidies";
  may_end.release();
}

TEST(Syncing, TidiesWhenItIsDueAndOnlyThen) {
  std::atomic<bool> is_due = false;
  std::atomic<int> times = 0;
  {
    Syncer syncer(sync_at_once, {.is_due = [&] { return is_due.load(); },
                                 .work =
                                     [&] {
                                       is_due = false;
                                       ++times;
                                     }});
    EXPECT_TRUE(is_kept(syncer));
    EXPECT_TRUE(is_kept(syncer));
    EXPECT_EQ(times, 0);
    for (int i = 1; i <= 3; ++i) {
      is_due = true;
      while (times < i) EXPECT_TRUE(is_kept(syncer));  // asked again after each sync
    }
  }
  EXPECT_EQ(times, 3);
}

TEST(Syncing, WhatFailsIsTold) {
  Syncer syncer([]() -> Expected<void> { return fail(ErrorCode::Io, "no disk"); },
                {.is_due = [] { return false; }, .work = [] {}});
  EXPECT_FALSE(is_kept(syncer));
}

TEST(Syncing, AnEndKeepsEveryPromiseFirst) {
  std::atomic<int> kept = 0;
  {
    Syncer syncer(sync_at_once, {.is_due = [] { return false; }, .work = [] {}});
    for (int i = 0; i < 100; ++i) syncer.after_sync([&](const Expected<void>&) { ++kept; });
  }
  EXPECT_EQ(kept, 100);
}

}  // namespace
}  // namespace berth::daemon
