// Goal: every handle stands for the jobs that its grammar says, whatever jobs and arrays there are,
// and whichever of them have ended, been forgotten or belong to others.
// Method: all worlds of up to three numbers, with jobs and arrays in every state; all handles over
// them; against what the handles mean, written down as sets.
#include "daemon/answers/selection.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/view.hpp"

namespace berth::daemon {
namespace {

constexpr UserId kAnn(1);
constexpr UserId kBob(2);

enum class Fate { Lives, Ended, Forgotten };
constexpr std::array kFates = {Fate::Lives, Fate::Ended, Fate::Forgotten};

struct Cell {
  KnownJob known;
  Fate fate = Fate::Lives;
  std::string name;
  std::string command = "";
};

class SmallWorld final : public JobWorld {
 public:
  explicit SmallWorld(const std::vector<Cell>& cells) : cells_(cells) {}

  Expected<std::optional<KnownJob>> at_or_above(JobId id) override {
    ++asked_;
    for (const Cell& cell : cells_) {
      if (cell.known.id >= id && cell.fate != Fate::Forgotten) return cell.known;
    }
    return std::nullopt;
  }
  std::optional<KnownJob> live_at_or_above(JobId id) override {
    for (const Cell& cell : cells_) {
      if (cell.known.id >= id && cell.fate == Fate::Lives) return cell.known;
    }
    return std::nullopt;
  }
  Expected<std::optional<KnownJob>> ended_below(JobId id, std::optional<UserId> user) override {
    std::optional<KnownJob> found;
    for (const Cell& cell : cells_) {
      const bool is_theirs = !user || cell.known.user == *user;
      if (cell.known.id < id && cell.fate == Fate::Ended && is_theirs) found = cell.known;
    }
    return found;
  }
  Expected<std::string> name_of(JobId id) override { return cells_[id.value() - 1].name; }
  Expected<std::string> command_of(JobId id) override { return cells_[id.value() - 1].command; }
  int asked() const { return asked_; }

 private:
  const std::vector<Cell>& cells_;
  int asked_ = 0;  ///< For a job by its number.
};

// ---- Worlds ----------------------------------------------------------------------------------

using Use = std::function<void(const std::vector<Cell>&)>;

/// The world, with every further job and array that fits into `most` numbers.
void each_world(std::vector<Cell>& cells, std::size_t most, const Use& use) {
  use(cells);
  for (std::size_t tasks = 0; cells.size() + std::max<std::size_t>(1, tasks) <= most; ++tasks) {
    const std::size_t jobs = std::max<std::size_t>(1, tasks);  // 0: a job of no array
    const JobId first(cells.size() + 1);
    const std::size_t before = cells.size();
    std::size_t fates = 1;
    for (std::size_t i = 0; i < jobs; ++i) fates *= kFates.size();
    for (std::size_t choice = 0; choice < fates; ++choice) {
      std::size_t rest = choice;
      for (std::size_t i = 0; i < jobs; ++i, rest /= kFates.size()) {
        Cell cell{.fate = kFates[rest % kFates.size()]};
        const auto task = static_cast<std::int64_t>(2 * i);  // 0, 2, 4
        cell.known = {.id = JobId(first.value() + i),
                      .user = first.value() % 2 == 1 ? kAnn : kBob,
                      .lives = cell.fate == Fate::Lives};
        cell.name = "a";
        if (tasks > 0) {
          cell.known.place = {
              .first = first, .task = task, .tasks = static_cast<std::int32_t>(tasks)};
          cell.name = "s[" + std::to_string(task) + "]";
        }
        cells.push_back(std::move(cell));
      }
      each_world(cells, most, use);
      cells.resize(before);
    }
  }
}

// ---- What handles mean -----------------------------------------------------------------------

using IdSet = std::set<std::uint64_t>;

class Meaning {
 public:
  Meaning(const std::vector<Cell>& cells, const Wanted& wanted) : cells_(cells), wanted_(wanted) {}

  IdSet of(const NumberedJobs& numbers) const {
    if (numbers.is_one()) {
      const IdSet array = array_at(numbers.first);
      const bool is_array = !array.empty() && place_at(numbers.first)->tasks > 1;
      return is_array ? of_wanted(array) : IdSet{numbers.first.value()};
    }
    IdSet all;
    for (std::uint64_t n = numbers.first.value(); n <= numbers.last.value(); ++n) {
      const IdSet array = array_at(JobId(n));
      for (const std::uint64_t id : array.empty() ? job_at(n) : array) all.insert(id);
    }
    return of_users(of_wanted(all), wanted_.users);
  }

  IdSet of(const TasksOfArray& tasks) const {
    IdSet chosen;
    for (const std::uint64_t id : array_at(tasks.array)) {
      const std::int64_t task = cells_[id - 1].known.place.task;
      const bool is_one =
          std::ranges::any_of(tasks.tasks, [&](const auto& r) { return r.has(task); });
      if (tasks.tasks.empty() || is_one) chosen.insert(id);
    }
    return tasks.is_one() ? chosen : of_wanted(chosen);
  }

  IdSet of(const JobsNamed& name) const {
    const std::set<UserId> users =
        wanted_.users.empty() ? std::set<UserId>{wanted_.own} : wanted_.users;
    IdSet live;
    std::uint64_t latest = 0;
    for (const Cell& cell : cells_) {
      const std::uint64_t id = cell.known.id.value();
      if (cell.fate == Fate::Forgotten || !users.contains(*cell.known.user)) continue;
      if (stand_for(cell, name).empty()) continue;
      if (cell.fate == Fate::Ended) latest = id;
      if (cell.fate != Fate::Lives) continue;
      for (const std::uint64_t one : stand_for(cell, name)) live.insert(one);
    }
    if (!live.empty() || wanted_.among == Among::Live || latest == 0) return live;
    return stand_for(cells_[latest - 1], name);
  }

 private:
  IdSet job_at(std::uint64_t n) const {
    return n <= cells_.size() && cells_[n - 1].fate != Fate::Forgotten ? IdSet{n} : IdSet{};
  }
  /// What is kept of the array with this number.
  IdSet array_at(JobId first) const {
    IdSet ids;
    for (const Cell& cell : cells_) {
      const ArrayPlace& place = cell.known.place;
      const bool is_of_it = place.tasks > 0 && place.first == first;
      if (is_of_it && cell.fate != Fate::Forgotten) ids.insert(cell.known.id.value());
    }
    return ids;
  }
  const ArrayPlace* place_at(JobId job) const { return &cells_[job.value() - 1].known.place; }
  /// By its own name it is itself; by its array's, those that live or, if all are wanted, all.
  IdSet stand_for(const Cell& cell, const JobsNamed& name) const {
    const std::uint64_t id = cell.known.id.value();
    const bool is_array = cell.known.place.tasks > 0 && is_like("s", name.pattern);
    if (is_array && wanted_.among == Among::All) return array_at(cell.known.place.first);
    return is_array || is_like(cell.name, name.pattern) ? IdSet{id} : IdSet{};
  }
  IdSet of_wanted(const IdSet& ids) const {
    if (wanted_.among == Among::All) return ids;
    IdSet live;
    for (const std::uint64_t id : ids) {
      if (cells_[id - 1].fate == Fate::Lives) live.insert(id);
    }
    return live;
  }
  IdSet of_users(const IdSet& ids, const std::set<UserId>& users) const {
    if (users.empty()) return ids;
    IdSet theirs;
    for (const std::uint64_t id : ids) {
      if (users.contains(*cells_[id - 1].known.user)) theirs.insert(id);
    }
    return theirs;
  }

  const std::vector<Cell>& cells_;
  const Wanted& wanted_;
};

std::vector<std::string> all_handles(std::size_t most) {
  std::vector<std::string> all = {"a", "s", "s*", "*", "s[2]", "b", "?", "1,3", "2,1,1_2"};
  for (std::size_t n = 1; n <= most + 1; ++n) {
    const std::string number = std::to_string(n);
    all.push_back(number);
    for (std::size_t m = n; m <= most + 1; ++m) all.push_back(number + "-" + std::to_string(m));
    for (const char* const tasks : {"_*", "_0", "_1", "_2", "_4", "_5", "_0-2", "_1-3", "_2-9",
                                    "_[0,4]", "_[0-4:4]", "_[2,0]"}) {
      all.push_back(number + tasks);
    }
  }
  return all;
}

std::string text_of(const std::vector<Cell>& cells) {
  std::string text;
  for (const Cell& cell : cells) {
    const ArrayPlace& place = cell.known.place;
    text += " " + std::to_string(cell.known.id.value());
    if (place.tasks > 0) text += " of " + std::to_string(place.first.value());
    text += cell.fate == Fate::Lives   ? " lives,"
            : cell.fate == Fate::Ended ? " ended,"
                                       : " is gone,";
  }
  return text;
}

struct Chosen {
  std::vector<JobId> jobs;
  std::vector<Missing> missing;
  std::vector<JobId> earlier = {};
};

/// Many looks in a slice, or one.
Expected<Chosen> choose_all(const std::vector<Cell>& cells, const Wanted& wanted, bool has_time) {
  SmallWorld world(cells);
  Selection selection(world, wanted);
  for (;;) {
    const auto more = selection.advance([&] { return has_time; });
    if (!more) return std::unexpected(more.error());
    if (!*more) {
      return Chosen{
          .jobs = selection.take(), .missing = selection.missing(), .earlier = selection.earlier()};
    }
  }
}

Expected<std::vector<JobId>> choose(const std::vector<Cell>& cells, const Wanted& wanted,
                                    bool has_time) {
  auto chosen = choose_all(cells, wanted, has_time);
  if (!chosen) return std::unexpected(chosen.error());
  return std::move(chosen->jobs);
}

void compare(const std::vector<Cell>& cells, const Wanted& wanted, const std::string& typed) {
  IdSet meant;
  std::vector<std::string> missing;
  for (const Handle& handle : wanted.handles) {
    const IdSet its =
        std::visit([&](const auto& what) { return Meaning(cells, wanted).of(what); }, handle.what);
    if (its.empty()) missing.push_back(handle.typed);
    meant.insert(its.begin(), its.end());
  }
  const bool is_fault = !missing.empty() && !(wanted.goes_on && wanted.handles.size() > 1);
  const auto chosen = choose_all(cells, wanted, wanted.among == Among::All);
  ASSERT_EQ(chosen.has_value(), !is_fault)
      << typed << " in" << text_of(cells) << (chosen ? "" : ": " + chosen.error().message);
  if (!chosen) {
    ASSERT_TRUE(chosen.error().message.starts_with(typed.substr(0, typed.find(','))) ||
                chosen.error().message.starts_with("array " + typed) || typed.contains(','))
        << typed << ": " << chosen.error().message;
    return;
  }
  std::vector<std::string> told;
  for (const Missing& one : chosen->missing) told.push_back(one.typed);
  ASSERT_EQ(told, missing) << typed << " in" << text_of(cells);
  IdSet ids;
  for (const JobId job : chosen->jobs) {
    ASSERT_TRUE(ids.insert(job.value()).second) << typed << " in" << text_of(cells);
  }
  ASSERT_EQ(ids, meant) << typed << " in" << text_of(cells);
}

TEST(Selections, AreWhatTheGrammarSaysInEverySmallWorld) {
  constexpr std::size_t kMost = 3;
  std::vector<std::pair<std::string, std::vector<Handle>>> handles;
  for (const std::string& typed : all_handles(kMost)) {
    handles.emplace_back(typed, *parse_handles(typed));
  }
  std::vector<Cell> cells;
  std::size_t worlds = 0;
  each_world(cells, kMost, [&](const std::vector<Cell>& world) {
    ++worlds;
    for (const auto& [typed, parsed] : handles) {
      for (const std::set<UserId>& users : {std::set<UserId>{}, {kBob}}) {
        for (const Among among : {Among::Live, Among::All}) {
          Wanted wanted{.handles = parsed, .users = users, .own = kAnn, .among = among};
          ASSERT_NO_FATAL_FAILURE(compare(world, wanted, typed));
          if (parsed.size() == 1) continue;
          wanted.goes_on = true;
          ASSERT_NO_FATAL_FAILURE(compare(world, wanted, typed));
        }
      }
    }
  });
  EXPECT_EQ(worlds, 1U + 6 + 45 + 351);
}

std::vector<Cell> an_array_of(int tasks) {
  std::vector<Cell> cells;
  for (int i = 0; i < tasks; ++i) {
    const JobId id(static_cast<std::uint64_t>(i) + 1);
    cells.push_back({.known = {.id = id,
                               .place = {.first = JobId(1), .task = i, .tasks = tasks},
                               .user = kAnn,
                               .lives = true},
                     .fate = Fate::Lives,
                     .name = "s[" + std::to_string(i) + "]"});
  }
  return cells;
}

Wanted wanted_of(const std::string& typed, Among among = Among::Live) {
  return {.handles = *parse_handles(typed), .users = {}, .own = kAnn, .among = among};
}

/// Minutes: when it was submitted, and when it ended, if it did.
Cell named(std::uint64_t id, std::string name, int submitted, std::optional<int> ended = {}) {
  return {.known = {.id = JobId(id),
                    .user = kAnn,
                    .lives = !ended,
                    .submitted = later(kStart, minutes(submitted)),
                    .ended = ended ? later(kStart, minutes(*ended)) : kNever},
          .fate = ended ? Fate::Ended : Fate::Lives,
          .name = std::move(name)};
}

TEST(Selections, TakeANameForItsBatchOfWhichSomeHaveEnded) {
  const std::vector<Cell> cells = {
      named(1, "sw-1", 0, 5000),                                 // of long ago
      named(2, "sw-9", 5001, 5020),  named(3, "t", 7000, 7001),  // a try before the next
      named(4, "t", 7002, 7005),     named(5, "t", 7003),          named(6, "t", 7003, 7004),
      named(7, "sw-1", 7010, 7011),  // has ended before the next was submitted
      named(8, "other", 7012, 7013), named(9, "sw-1", 7013, 7016), named(10, "sw-2", 7014),
      named(11, "sw-3", 7015, 7019),
  };
  const auto of = [&](const std::string& typed, bool has_time, const std::string& more = "") {
    std::vector<std::uint64_t> numbers;
    Wanted wanted = wanted_of(typed, Among::Batch);
    if (!more.empty()) wanted.handles.push_back(parse_handles(more)->front());
    const auto chosen = choose(cells, wanted, has_time);
    EXPECT_TRUE(chosen) << typed;
    if (!chosen) return numbers;
    for (const JobId id : *chosen) numbers.push_back(id.value());
    return numbers;
  };
  using Numbers = std::vector<std::uint64_t>;
  for (const bool has_time : {true, false}) {
    EXPECT_EQ(of("t", has_time), (Numbers{4, 5, 6}));
    EXPECT_EQ(of("sw-*", has_time), (Numbers{9, 10, 11}));
    EXPECT_EQ(of("sw-1", has_time), Numbers{9});
    EXPECT_EQ(of("sw-2", has_time, "t"), (Numbers{10, 4, 5, 6}));
    EXPECT_EQ(of("sw-9", has_time), Numbers{2});
    EXPECT_EQ(of("*", has_time), (Numbers{4, 5, 6, 8, 9, 10, 11}));
  }
  EXPECT_EQ(*choose(cells, wanted_of("t", Among::All), true), std::vector{JobId(5)});
  EXPECT_EQ(*choose(cells, wanted_of("t"), true), std::vector{JobId(5)});
}

TEST(Selections, TakeALoopForABatchAndTellOfEarlierTries) {
  std::vector<Cell> cells = {named(1, "ev", 0, 1), named(2, "ev", 3, 4), named(3, "ev", 5, 5),
                             named(4, "ev", 6)};
  cells[3].known.submitted = later(cells[2].known.submitted, kLoopOfBatch);  // 3 has ended by then
  cells[2].known.ended = later(cells[2].known.submitted, seconds(1));
  const auto chosen = choose_all(cells, wanted_of("ev", Among::Batch), true);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->jobs, (std::vector{JobId(3), JobId(4)}));
  EXPECT_EQ(chosen->earlier, (std::vector{JobId(2), JobId(1)}));
  EXPECT_TRUE(choose_all(cells, wanted_of("ev"), true)->earlier.empty());
}

TEST(Selections, TakeTheNameOfAnArrayForAllOfItAndForThoseOfItsBatch) {
  std::vector<Cell> cells = {named(1, "s", 0, 20), named(2, "s[0]", 10, 30),
                             named(3, "s[1]", 10, 12), named(4, "s", 40, 41)};
  cells[1].known.place = {.first = JobId(2), .task = 0, .tasks = 2};
  cells[2].known.place = {.first = JobId(2), .task = 1, .tasks = 2};
  using Jobs = std::vector<JobId>;
  EXPECT_EQ(*choose(cells, wanted_of("s", Among::Batch), true), Jobs{JobId(4)});
  cells.pop_back();
  EXPECT_EQ(*choose(cells, wanted_of("s", Among::Batch), true),
            (Jobs{JobId(1), JobId(2), JobId(3)}));
}

/// As lists show it. Those of other users may be hidden, so no handle tells what they are.
TEST(Selections, KnowAJobWithoutANameByItsCommand) {
  const auto cell = [](std::uint64_t id, UserId user, Fate fate, std::string name) {
    return Cell{.known = {.id = JobId(id), .user = user, .lives = fate == Fate::Lives},
                .fate = fate,
                .name = std::move(name),
                .command = "python t.py"};
  };
  const std::vector<Cell> cells = {cell(1, kAnn, Fate::Ended, ""), cell(2, kAnn, Fate::Lives, ""),
                                   cell(3, kAnn, Fate::Lives, "t"), cell(4, kBob, Fate::Lives, "")};
  using Jobs = std::vector<JobId>;
  for (const std::string typed : {"python t.py", "python*"}) {
    EXPECT_EQ(*choose(cells, wanted_of(typed), true), Jobs{JobId(2)});
    Wanted of_bob = wanted_of(typed);
    of_bob.users = {kBob};
    EXPECT_EQ(choose(cells, of_bob, true).error().code, ErrorCode::NotFound);
  }
  const std::vector<Cell> ended = {cells[0]};
  EXPECT_EQ(*choose(ended, wanted_of("python t.py", Among::All), true), Jobs{JobId(1)});
}

/// The same of what a task of a sweep is given.
TEST(Selections, KnowOthersTasksWithoutTheirParameters) {
  Cell cell = named(1, "s[0] lr=0.1", 0, 20);
  cell.known.place = {.first = JobId(1), .task = 0, .tasks = 1};
  cell.known.user = kBob;
  const std::vector<Cell> cells = {cell};
  const auto chosen = [&](const std::string& typed, UserId own) {
    Wanted wanted = wanted_of(typed, Among::All);
    wanted.own = own;
    wanted.users = {kBob};
    return choose(cells, wanted, true);
  };
  using Jobs = std::vector<JobId>;
  EXPECT_EQ(*chosen("*lr=0.1", kBob), Jobs{JobId(1)});
  EXPECT_EQ(*chosen("s*0?", kAnn), Jobs{JobId(1)});
  EXPECT_EQ(chosen("*lr=0.*", kAnn).error().code, ErrorCode::NotFound);
}

TEST(Selections, SayWhatStandsForNothing) {
  std::vector<Cell> cells = an_array_of(3);
  for (Cell& cell : cells) cell.fate = Fate::Ended, cell.known.lives = false;
  const auto error = [&](const std::string& typed) {
    return choose(cells, wanted_of(typed), true).error().message;
  };
  EXPECT_EQ(error("1"), "array 1: has ended already");
  EXPECT_EQ(error("1_7"), "1_7: array 1 has no task 7");
  EXPECT_EQ(error("1_0-1"), "1_0-1: array 1 has no such task that has not ended");
  EXPECT_EQ(error("2_1"), "2_1: job 2 is no array");
  EXPECT_EQ(error("9_1"), "9_1: job 9: no such job");
  EXPECT_EQ(error("2-9"), "2-9: no job of these has not ended yet");
  EXPECT_EQ(error("s"),
            "s: is not a job number, and no job of yours that has not ended has this name; for a "
            "job of another user say whose: -u USER");
  Wanted of_one = wanted_of("s");
  of_one.users = {UserId(1234)};
  EXPECT_EQ(choose(cells, of_one, true).error().message,
            "s: is not a job number, and no job of that user that has not ended has this name");
  Wanted wanted = wanted_of("1,2,1_7,2_1");
  EXPECT_EQ(choose(cells, wanted, true).error().message, error("1"));
  wanted.goes_on = true;
  const auto several = choose_all(cells, wanted, true);
  ASSERT_EQ(several->missing.size(), 3U) << "they hinder no other";
  EXPECT_EQ(several->missing[0].typed, "1");
  EXPECT_EQ(several->missing[0].why, error("1"));
  EXPECT_EQ(several->missing[1].why, error("1_7"));
  EXPECT_EQ(several->missing[2].why, error("2_1"));
  EXPECT_EQ(several->jobs, std::vector{JobId(2)}) << "whose end is told where it is acted upon";
}

TEST(Selections, KnowOneJobAndOneArrayByTheirHandles) {
  const std::vector<Cell> cells = an_array_of(3);
  SmallWorld world(cells);
  const auto of = [&](const std::string& typed) {
    Selection selection(world, wanted_of(typed));
    EXPECT_EQ(selection.advance([] { return true; }), false);
    return std::pair(selection.is_one(), selection.array().has_value());
  };
  EXPECT_EQ(of("1"), std::pair(false, true));
  EXPECT_EQ(of("1_0"), std::pair(true, false));
  EXPECT_EQ(of("2"), std::pair(true, false));
  EXPECT_EQ(of("1_*"), std::pair(false, false));
  EXPECT_EQ(of("1,2"), std::pair(false, false));
}

/// A request for what a handle stands for takes an array by its name as by its number.
TEST(Selections, KnowAnArrayByItsNameWhereNothingElseHasIt) {
  std::vector<Cell> cells = an_array_of(3);
  const auto array_of = [&](const std::string& typed) {
    SmallWorld world(cells);
    Selection selection(world, wanted_of(typed, Among::All));
    EXPECT_EQ(selection.advance([] { return true; }), false);
    return selection.array();
  };
  const ArraySpan span{JobId(1), JobId(3)};
  EXPECT_EQ(array_of("s"), span);
  EXPECT_EQ(array_of("s*"), span);
  EXPECT_EQ(array_of("s[1]"), std::nullopt) << "a task";
  for (Cell& cell : cells) cell.fate = Fate::Ended, cell.known.lives = false;
  EXPECT_EQ(array_of("s"), span) << "one that has ended";
  cells[0].fate = Fate::Lives, cells[0].known.lives = true;
  cells.push_back({.known = {.id = JobId(4), .user = kAnn, .lives = true}, .name = "s"});
  EXPECT_EQ(array_of("s"), std::nullopt) << "a job has the name, too";
}

/// A few looks find a task among thousands.
TEST(Selections, OfATaskCostAFewLooks) {
  const std::vector<Cell> cells = an_array_of(4096);
  SmallWorld world(cells);
  Selection selection(world, wanted_of("1_4000", Among::All));
  int looks = 0;
  while (*selection.advance([] { return false; })) ++looks;
  EXPECT_EQ(selection.take(), std::vector{JobId(4001)});
  EXPECT_LE(looks, 5);
}

/// However many ranges of tasks one handle has.
TEST(Selections, CostALittleAtATime) {
  const std::vector<Cell> cells = an_array_of(100);
  SmallWorld world(cells);
  std::string typed = "1_[5";
  for (int i = 0; i < 2000; ++i) typed += ",5";
  Selection selection(world, wanted_of(typed + "]", Among::All));
  int most = 0;
  for (bool more = true; more;) {
    const int before = world.asked();
    more = *selection.advance([] { return false; });
    most = std::max(most, world.asked() - before);
  }
  EXPECT_EQ(selection.take(), std::vector{JobId(6)});
  EXPECT_LE(most, 8) << "a search among 100";
}

}  // namespace
}  // namespace berth::daemon
