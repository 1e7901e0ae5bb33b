// Goal: the engine's thread gets its turns whatever comes, in order, and nothing that was cancelled
// fires. Method: a loop driven from this thread, with tasks, alarms and pipes.
#include "daemon/loop/loop.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <optional>
#include <thread>
#include <vector>

#include "posix/descriptor.hpp"

namespace berth::daemon {
namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    reading = Descriptor(ends[0]);
    writing = Descriptor(ends[1]);
  }
  void put() const { EXPECT_EQ(::write(writing.number(), "x", 1), 1); }
  void take() const {
    char byte = 0;
    EXPECT_EQ(::read(reading.number(), &byte, 1), 1);
  }
  Descriptor reading;
  Descriptor writing;
};

TEST(Loop, WhatCameTogetherIsOneBatch) {
  Loop loop;
  std::vector<int> seen;
  std::vector<std::size_t> after;
  for (int i = 0; i < 5; ++i) loop.post([&seen, i] { seen.push_back(i); });
  loop.stop();
  loop.run([&] { after.push_back(seen.size()); });
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(after, std::vector<std::size_t>{5});
}

/// What takes the processor and what waits are told apart, and a sleep for want of work is neither.
TEST(Loop, TellsOfItsLongestTurn) {
  Loop loop;
  Loop::Alarm later(loop, [&] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); });
  Loop::Alarm last(loop, [&] { loop.stop(); });
  later.set(Duration(100'000));
  last.set(Duration(200'000));
  loop.run([] {});
  EXPECT_GE(loop.turns().blocked, Duration(29'000));
  EXPECT_LT(loop.turns().work, Duration(29'000));
  EXPECT_EQ(loop.turns().long_ones, 0);
  Loop busy;
  const auto processor_time = [] {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
  };
  busy.post([&] {
    const auto end = processor_time() + 21'000'000;
    while (processor_time() < end) {
    }
    busy.stop();
  });
  busy.run([] {});
  EXPECT_GE(busy.turns().work, Duration(21'000));
  EXPECT_EQ(busy.turns().long_ones, 1);
}

TEST(Loop, TasksQueuedBeforeStopAreDone) {
  Loop loop;
  int done = 0;
  for (int i = 0; i < 10'000; ++i) loop.post([&] { ++done; });
  loop.stop();
  loop.run([] {});
  EXPECT_EQ(done, 10'000);
}

TEST(Loop, TasksOfOneThreadKeepTheirOrder) {
  Loop loop;
  std::vector<int> last(4, -1);
  std::vector<std::thread> threads;
  std::atomic<int> left = 4;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) {
        loop.post([&last, t, i] {
          EXPECT_EQ(last[t], i - 1);
          last[t] = i;
        });
      }
      if (--left == 0) loop.stop();
    });
  }
  loop.run([] {});
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(last, std::vector<int>(4, 999));
}

/// Requests that come as fast as they are answered must not keep the engine from its steps.
TEST(Loop, ATaskThatAlwaysHasASuccessorLeavesAfterItsTurn) {
  Loop loop;
  int posted = 0;
  int turns = 0;
  Task again = [&] {
    if (++posted == 1'000'000) loop.stop();
    if (posted < 1'000'000 && turns < 3) loop.post(again);
  };
  loop.post(again);
  loop.run([&] {
    if (++turns == 3) loop.stop();
  });
  EXPECT_LT(posted, 1'000'000);
}

/// Takes as long as a part of a turn may, whatever the machine does.
void use_up_the_time(const Loop& loop) {
  while (loop.has_time()) {
  }
}

TEST(LoopOfUsers, TheyAreAnsweredInTurn) {
  Loop loop;
  std::string order;
  for (int i = 0; i < 3; ++i) loop.ask(1001, [&] { order += 'a'; });
  loop.ask(1002, [&] { order += 'b'; });
  loop.ask(1003, [&] { order += 'c'; });
  loop.ask(1003, [&] {
    order += 'd';
    loop.stop();
  });
  loop.run([] {});
  EXPECT_EQ(order, "abcada");
}

TEST(LoopOfUsers, WhatHappenedComesFirstThenWhatIsQuickThenWhatTakesLong) {
  Loop loop;
  std::string order;
  loop.ask_long(1001, [&] {
    order += 'l';
    loop.stop();
    return false;
  });
  loop.ask(1001, [&] { order += 'q'; });
  loop.post([&] { order += 'h'; });
  loop.run([&] { order += '.'; });
  EXPECT_EQ(order.substr(0, 4), "hql.");
}

TEST(LoopOfUsers, WhatTakesLongIsDoneInSlicesInTurn) {
  Loop loop;
  std::string order;
  const auto work = [&](char name) {
    return [&, name, left = 3]() mutable {
      use_up_the_time(loop);
      order += name;
      return --left > 0;
    };
  };
  loop.ask_long(1001, work('a'));
  loop.ask_long(1001, work('b'));
  loop.ask_long(1002, work('c'));
  loop.run([&] {
    order += '.';
    if (order.size() >= 18) loop.stop();
  });
  // A slice in each turn; of one user's work the first is done before the second begins.
  EXPECT_EQ(order.substr(0, 18), "a.c.a.c.a.c.b.b.b.");
}

/// A user who asks without end delays neither the step nor other users.
TEST(LoopOfUsers, AFloodOfOneLeavesTheOthersTheirTurns) {
  Loop loop;
  int flood = 0;
  int turns = 0;
  std::vector<int> others;
  Task again = [&] {
    ++flood;
    if (flood < 1'000'000) loop.ask(1001, again);
  };
  for (int i = 0; i < 100; ++i) loop.ask(1001, again);
  for (int i = 0; i < 5; ++i) loop.ask(1002, [&] { others.push_back(flood); });
  loop.run([&] {
    if (++turns == 3) loop.stop();
  });
  EXPECT_EQ(others, (std::vector<int>{1, 2, 3, 4, 5}));
  EXPECT_LT(flood, 1'000'000);
}

TEST(LoopOfUsers, ALongListDelaysNobodyElseByMoreThanASlice) {
  Loop loop;
  std::string order;
  int left = 4;
  loop.ask_long(1001, [&] {
    if (left == 4) {
      loop.post([&] { order += 'h'; });
      loop.ask(1002, [&] { order += 'q'; });
    }
    use_up_the_time(loop);
    order += 's';
    if (--left == 0) loop.stop();
    return left > 0;
  });
  loop.run([] {});
  EXPECT_EQ(order, "shqsss");
}

TEST(Alarm, FiresOnceAfterItWasLastSet) {
  Loop loop;
  int fired = 0;
  Loop::Alarm alarm(loop, [&] { ++fired; });
  Loop::Alarm end(loop, [&] { loop.stop(); });
  alarm.set(Duration(0));
  alarm.set(Duration(1000));
  end.set(Duration(20'000));
  loop.run([] {});
  EXPECT_EQ(fired, 1);
}

TEST(Alarm, ClearedOrGoneItNeverFires) {
  Loop loop;
  int fired = 0;
  Loop::Alarm cleared(loop, [&] { ++fired; });
  std::optional<Loop::Alarm> gone;
  gone.emplace(loop, [&] { ++fired; });
  cleared.set(Duration(0));
  gone->set(Duration(0));
  std::this_thread::sleep_for(std::chrono::milliseconds(2));  // both are over: their ends queue
  cleared.clear();
  gone.reset();
  Loop::Alarm end(loop, [&] { loop.stop(); });
  end.set(Duration(5000));
  loop.run([] {});
  EXPECT_EQ(fired, 0);
}

TEST(Alarm, CanBeSetAgainFromItsTask) {
  Loop loop;
  int fired = 0;
  std::optional<Loop::Alarm> alarm;
  alarm.emplace(loop, [&] {
    if (++fired == 3) return loop.stop();
    alarm->set(Duration(0));
  });
  alarm->set(Duration(0));
  loop.run([] {});
  EXPECT_EQ(fired, 3);
}

TEST(Watch, CallsForWhatIsThere) {
  Loop loop;
  const Pipe pipe;
  int seen = 0;
  const Loop::Watch watch(loop, pipe.reading.number(), [&] {
    pipe.take();
    if (++seen == 2) loop.stop();
  });
  pipe.put();
  pipe.put();
  loop.run([] {});
  EXPECT_EQ(seen, 2);
}

TEST(Watch, DestroyedInItsOwnTaskItIsSilent) {
  Loop loop;
  const Pipe pipe;
  int seen = 0;
  std::optional<Loop::Watch> watch;
  watch.emplace(loop, pipe.reading.number(), [&] {
    ++seen;
    watch.reset();
  });
  Loop::Alarm end(loop, [&] { loop.stop(); });
  end.set(Duration(5000));
  pipe.put();
  loop.run([] {});
  EXPECT_EQ(seen, 1);
  pipe.take();  // the descriptor is still its owner's
}

TEST(Watch, ADescriptorCanBeWatchedAgain) {
  Loop loop;
  const Pipe pipe;
  int seen = 0;
  std::optional<Loop::Watch> watch;
  watch.emplace(loop, pipe.reading.number(), [] { ADD_FAILURE() << "was taken away"; });
  watch.reset();
  watch.emplace(loop, pipe.reading.number(), [&] {
    pipe.take();
    ++seen;
    loop.stop();
  });
  pipe.put();
  loop.run([] {});
  EXPECT_EQ(seen, 1);
}

TEST(Loop, CanGoWithTasksUndone) {
  auto held = std::make_shared<int>(0);
  {
    Loop loop;
    loop.post([held] {});
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace berth::daemon
