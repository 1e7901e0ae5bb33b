// Goal: whatever moment a daemon dies at and whichever write fails, the engine that comes back is
// the one that was written, no number is given twice and a refused batch can be tried again.
// Method: a keeper on a file of its own. A crash is a copy of its files while it is open, which is
// what a killed process leaves; a full disk is a limit on the size of files.
#include "live/keeper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <functional>
#include <set>

#include "core/base/bytes.hpp"
#include "core/base/limits.hpp"
#include "core/base/rng.hpp"
#include "engine/journal.hpp"
#include "journal/verify.hpp"
#include "live/host.hpp"
#include "support/process.hpp"

namespace berth::live {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Bytes kGib{std::int64_t{1} << 30};

Instant at(std::int64_t second) { return kStart + seconds(second); }

Cluster gpus(std::uint32_t count) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = count, .vram = kGib * 24, .context = Bytes(0)});
  return cluster;
}

Submission job(std::int64_t wanted = 1, const std::string& name = "") {
  Submission submission;
  submission.spec.user = UserId(1000);
  submission.spec.request.gpu = {
      .count = GpuCount(wanted), .vram = kGib, .sharing = Sharing::Alone};
  submission.name = name;
  submission.command.arguments = {"echo", name};
  submission.command.directory = "/";
  submission.environment = encode_environment({"A=1"});
  return submission;
}

Batch of(std::vector<Input> inputs) { return {.inputs = std::move(inputs), .submissions = {}}; }
Batch of(std::vector<Submission> submissions) {
  return {.inputs = {}, .submissions = std::move(submissions)};
}

/// No file of this process grows while it lives.
class FullDisk {
 public:
  explicit FullDisk(rlim_t most = 1) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{.rlim_cur = most, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

class KeeperTest : public testing::Test {
 protected:
  Expected<Keeper> try_open(const std::string& path, const Cluster& cluster = gpus(2),
                            const Rules& rules = {}) {
    return Keeper::open(host_, {.path = path}, cluster, rules);
  }
  Keeper open(const std::string& path, const Cluster& cluster = gpus(2), const Rules& rules = {}) {
    auto keeper = try_open(path, cluster, rules);
    if (!keeper) throw std::runtime_error(keeper.error().message);  // fails the test
    return std::move(*keeper);
  }
  Keeper open() { return open(path_); }
  /// The files as a kill at this moment leaves them. Returns: the path of the copy.
  std::string crash() {
    const auto folder = folder_.path() / ("crash" + std::to_string(++crashes_));
    std::filesystem::create_directory(folder);
    for (const char* end : {"", "-wal"}) {
      std::filesystem::copy_file(path_ + end, (folder / "journal.db").string() + end);
    }
    return (folder / "journal.db").string();
  }
  static Stepped step(Keeper& keeper, std::int64_t second, const Batch& batch) {
    auto stepped = keeper.step(at(second), batch);
    EXPECT_TRUE(stepped) << stepped.error().message;
    return stepped.value_or(Stepped{});
  }
  static JobId submit(Keeper& keeper, std::int64_t second, const Submission& submission) {
    const Stepped stepped = step(keeper, second, of({submission}));
    return stepped.submitted.empty() ? JobId(0) : stepped.submitted.front();
  }
  /// The attempt goes its way to the end.
  static void finish(Keeper& keeper, std::int64_t second, JobId id, Outcome outcome = Outcome::Done,
                     std::int32_t code = 0) {
    const Attempt attempt = keeper.engine().view().find(id)->attempt;
    step(keeper, second, of({Started{id, attempt}}));
    step(keeper, second, of({Exited{id, attempt, outcome, code}, Released{id, attempt}}));
  }
  /// Likewise, and it was seen to hold so much.
  static void finish_holding(Keeper& keeper, std::int64_t second, JobId id, Bytes peak) {
    const Attempt attempt = keeper.engine().view().find(id)->attempt;
    step(keeper, second, of({Started{id, attempt}}));
    keeper.set_peak(id, peak);
    const AttemptEnded ended{
        .job = id, .attempt = attempt, .outcome = Outcome::Done, .at = at(second)};
    step(keeper, second, of({ended, Released{id, attempt}}));
  }
  static Bytes charged(const Keeper& keeper, JobId id) {
    return keeper.engine().view().find(id)->spec.vram_estimate;
  }
  static journal::JobRow row(const Keeper& keeper, JobId id) {
    const auto found = keeper.store().job(id);
    EXPECT_TRUE(found && *found) << id.value();
    return found && *found ? **found : journal::JobRow{};
  }
  /// Until there is nothing to do for a snapshot any more; does something after each part.
  static void finish_snapshot(Keeper& keeper, const std::function<void()>& after_each = [] {}) {
    for (auto work = keeper.work_on_snapshot(); true; work = keeper.work_on_snapshot()) {
      ASSERT_TRUE(work) << work.error().message;
      if (*work == Keeper::SnapshotWork::None) return;
      if (*work == Keeper::SnapshotWork::More) after_each();
    }
  }
  static void expect_same(const Keeper& one, const Keeper& other) {
    EXPECT_EQ(one.engine().save(), other.engine().save());
    EXPECT_EQ(one.last(), other.last());
  }

  test::Host host_;
  const test::ScratchFolder folder_;
  const std::string path_ = folder_ / "journal.db";
  int crashes_ = 0;
};

// ---- Steps -----------------------------------------------------------------------------------

TEST_F(KeeperTest, AJobsWholeLifeIsWritten) {
  Keeper keeper = open();
  const JobId id = submit(keeper, 10, job(1, "first"));
  EXPECT_EQ(id, JobId(1));
  EXPECT_EQ(row(keeper, id).name, "first");
  EXPECT_EQ(row(keeper, id).command, "echo first");
  EXPECT_EQ(row(keeper, id).submitted, at(10));
  EXPECT_THAT(row(keeper, id).gpus, ElementsAre(GpuId(0)));
  keeper.note(id, "a word");
  finish(keeper, 20, id, Outcome::Failed, 3);
  const journal::JobRow ended = row(keeper, id);
  ASSERT_TRUE(ended.end);
  EXPECT_EQ(ended.started, at(20));
  EXPECT_EQ(ended.end->outcome, Outcome::Failed);
  EXPECT_EQ(ended.end->code, 3);
  EXPECT_EQ(ended.end->note, "a word");
  const auto attempts = *keeper.store().attempts(id);
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].granted, at(10));
  EXPECT_EQ(attempts[0].end->note, "a word");
}

TEST_F(KeeperTest, WhyAJobWasHeldIsNotHowItEnded) {
  Keeper keeper = open();
  Submission submission = job();
  submission.held = true;
  const JobId id = submit(keeper, 1, submission);
  keeper.note(id, "because it waits for another");
  EXPECT_EQ(keeper.note_of(id), "because it waits for another");
  step(keeper, 2, of({CancelAsked{id}}));
  ASSERT_TRUE(row(keeper, id).end);
  EXPECT_EQ(row(keeper, id).end->outcome, Outcome::Cancelled);
  EXPECT_EQ(row(keeper, id).end->note, "");
}

TEST_F(KeeperTest, WhoCancelledAJobIsHowItEndedAlsoForTheNextDaemon) {
  std::optional<Keeper> keeper = open();
  const JobId id = submit(*keeper, 1, job());
  const Attempt attempt = keeper->engine().view().find(id)->attempt;
  step(*keeper, 2, of({Started{id, attempt}}));
  keeper->note_for_good(id, cancel_note("ada (uid 7)"));
  step(*keeper, 3, of({CancelAsked{id}}));
  keeper.reset();
  keeper = open();
  keeper->note(id, "its shim died");
  step(*keeper, 4, of({Exited{id, attempt, Outcome::Failed, 143}, Released{id, attempt}}));
  const std::string note = "cancelled, because ada (uid 7) asked for that; its shim died";
  ASSERT_TRUE(row(*keeper, id).end);
  EXPECT_EQ(row(*keeper, id).end->note, note);
  EXPECT_EQ(cancelled_by(*row(*keeper, id).end, UserId(1000)), UserId(7));
  const auto attempts = *keeper->store().attempts(id);
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].end->outcome, Outcome::Cancelled) << "whatever its process returned";
  EXPECT_EQ(attempts[0].end->code, 143);
  EXPECT_EQ(attempts[0].end->note, note);
}

/// Between the two transactions of the step that ends it.
TEST_F(KeeperTest, WhoCancelledAJobIsKnownIfACrashCameBeforeThatWasDecided) {
  Keeper keeper = open();
  step(keeper, 1, of({job(2), job(2)}));
  const JobId waits(2);
  const std::string crashed = crash();
  {
    auto store = journal::Store::open(crashed);
    ASSERT_TRUE(store) << store.error().message;
    const auto recovered = store->recover();
    ASSERT_FALSE(recovered->entries.empty());
    const std::int64_t next = recovered->entries.back().number + 1;
    const std::vector<Input> inputs = {CancelAsked{waits}};
    ASSERT_TRUE(store->begin());
    ASSERT_TRUE(store->set_note(waits, cancel_note("ada (uid 7)")));
    ASSERT_TRUE(store->add_inputs(next, at(2), encode_inputs(inputs)));
    ASSERT_TRUE(store->commit());
  }
  Keeper back = open(crashed);
  ASSERT_TRUE(row(back, waits).end);
  EXPECT_EQ(row(back, waits).end->note, "cancelled, because ada (uid 7) asked for that");
  step(back, 3, of({Ticked{}}));
  EXPECT_TRUE(back.store().job_notes()->empty());
}

TEST_F(KeeperTest, WhoWantedToCancelAJobThatEndedFirstIsNotHowItEnded) {
  Keeper keeper = open();
  const JobId id = submit(keeper, 1, job());
  const Attempt attempt = keeper.engine().view().find(id)->attempt;
  step(keeper, 2, of({Started{id, attempt}}));
  keeper.note_for_good(id, cancel_note("ada (uid 7)"));
  step(keeper, 3, of({Exited{id, attempt}, CancelAsked{id}, Released{id, attempt}}));
  ASSERT_TRUE(row(keeper, id).end);
  EXPECT_EQ(row(keeper, id).end->outcome, Outcome::Done);
  EXPECT_EQ(row(keeper, id).end->note, "");
  EXPECT_EQ((*keeper.store().attempts(id))[0].end->note, "");
}

TEST_F(KeeperTest, TheAttemptOfAJobThatEndsWhileItIsSuspendedEndedWhenItLeftItsGpus) {
  Keeper keeper = open();
  const JobId id = submit(keeper, 1, job());
  const Attempt attempt = keeper.engine().view().find(id)->attempt;
  step(keeper, 2, of({Started{id, attempt}}));
  step(keeper, 3, of({SuspendAsked{id}}));
  step(keeper, 4, of({Released{id, attempt}}));
  ASSERT_TRUE(has_idle_process(*keeper.engine().view().find(id)));
  step(keeper, 5, of({CancelAsked{id}}));
  const auto attempts = *keeper.store().attempts(id);
  ASSERT_EQ(attempts.size(), 1U);
  ASSERT_TRUE(attempts[0].end);
  EXPECT_EQ(attempts[0].end->outcome, Outcome::Cancelled);
  EXPECT_EQ(attempts[0].end->at, at(4));
}

TEST_F(KeeperTest, AnAttemptThatItsTimeLimitEndedEndedByThat) {
  Keeper keeper = open();
  Submission submission = job();
  submission.spec.time_limit = seconds(10);
  const JobId id = submit(keeper, 1, submission);
  const Attempt attempt = keeper.engine().view().find(id)->attempt;
  step(keeper, 2, of({Started{id, attempt}}));
  step(keeper, 20, of({Ticked{}}));
  ASSERT_TRUE(keeper.engine().view().find(id)->ending);
  step(keeper, 21, of({Exited{id, attempt, Outcome::Failed, 143}}));
  EXPECT_EQ((*keeper.store().attempts(id))[0].end->outcome, Outcome::Timeout);
}

/// A program may notice that its GPU is gone before berth does.
TEST_F(KeeperTest, WhoHoldsAJobIsKnownToTheNextDaemonUntilThereIsAnotherNote) {
  std::optional<Keeper> keeper = open();
  const JobId held = submit(*keeper, 1, job(1, "a"));
  const JobId freed = submit(*keeper, 1, job(1, "b"));
  const JobId ended = submit(*keeper, 1, job(1, "c"));
  for (const JobId id : {held, freed, ended}) keeper->note_for_good(id, "because ada asked");
  keeper->note(JobId(99), "because of nothing that is kept");
  step(*keeper, 2, of({HoldAsked{held}}));
  keeper->note(freed, "");
  step(*keeper, 3, of({CancelAsked{ended}}));
  step(*keeper, 4, of({HoldAsked{held}}));
  for (int times = 0; times < 2; ++times) {
    keeper.reset();
    keeper = open();
    EXPECT_EQ(keeper->note_of(held), "because ada asked");
    EXPECT_EQ(keeper->note_of(freed), "");
    EXPECT_EQ(keeper->note_of(ended), "");
    const auto rows = keeper->store().job_notes();
    ASSERT_TRUE(rows);
    EXPECT_EQ(rows->size(), 1U);
  }
}

TEST_F(KeeperTest, TheEndOfAnAttemptSaysWhatWasFoundOutAfterIt) {
  Keeper keeper = open();
  Submission submission = job();
  submission.spec.conditions = Conditions{.requeues = 1, .requeue_on_gpu_failure = true};
  const JobId id = submit(keeper, 1, submission);
  const Attempt attempt = keeper.engine().view().find(id)->attempt;
  const GpuId gpu = keeper.engine().view().find(id)->grant.shares.front().gpu;
  step(keeper, 2, of({Started{id, attempt}}));
  step(keeper, 3, of({Exited{id, attempt, Outcome::Failed, 3}}));
  keeper.note(id, "its GPU failed");
  step(keeper, 4, of({GpuHealth{gpu, false}, GpuLost{gpu}}));
  step(keeper, 5, of({Released{id, attempt}}));
  EXPECT_EQ(keeper.engine().view().find(id)->attempt.value(), attempt.value() + 1);
  const auto attempts = *keeper.store().attempts(id);
  ASSERT_FALSE(attempts.empty());
  ASSERT_TRUE(attempts[0].end);
  EXPECT_EQ(attempts[0].end->note, "its GPU failed");
  EXPECT_EQ(attempts[0].end->code, 3);
}

TEST_F(KeeperTest, AStepSaysWhoItTouched) {
  Keeper keeper = open();
  const Stepped stepped = step(keeper, 1, of({job(1), job(2), job(1)}));
  EXPECT_THAT(stepped.submitted, ElementsAre(JobId(1), JobId(2), JobId(3)));
  EXPECT_THAT(stepped.touched, ElementsAre(JobId(1), JobId(2), JobId(3)));
  const Stepped ended = step(keeper, 2, of({Exited{JobId(1), Attempt(1)}, CancelAsked{JobId(1)}}));
  EXPECT_THAT(ended.touched, ElementsAre(JobId(1)));
  EXPECT_THAT(step(keeper, 3, of({Ticked{}, GpuHealth{GpuId(1), true}})).touched, IsEmpty());
}

TEST_F(KeeperTest, WhatAJobRunsIsThere) {
  Keeper keeper = open();
  const JobId id = submit(keeper, 1, job(1, "x"));
  const auto blob = keeper.store().blob(keeper.engine().view().find(id)->spec.command);
  ASSERT_TRUE(blob);
  const auto command = decode_command(*blob);
  EXPECT_THAT(command->arguments, ElementsAre("echo", "x"));
  const auto environment = decode_environment(*keeper.store().blob(command->environment));
  EXPECT_THAT(*environment, ElementsAre("A=1"));
}

TEST_F(KeeperTest, ReportsAreKept) {
  Keeper keeper = open();
  const JobId id = submit(keeper, 1, job());
  step(keeper, 2, of({Reported{id, "step", 5}, Reported{id, "step", 6}}));
  const auto reports = *keeper.store().reports(id);
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].value, 6);
}

TEST_F(KeeperTest, WhatNoLongerAppliesDoesNoHarm) {
  Keeper keeper = open();
  const JobId id = submit(keeper, 1, job());
  finish(keeper, 2, id);
  step(keeper, 3,
       of({Started{id, Attempt(1)}, Exited{id, Attempt(1)}, Released{id, Attempt(1)},
           CancelAsked{id}, HoldAsked{JobId(77)}, StartFailed{JobId(77), Attempt(1)},
           Reported{id, "late", 1}}));
  EXPECT_EQ(submit(keeper, 4, job()), JobId(2));
}

// ---- Memory that is learned ------------------------------------------------------------------

/// States no memory.
Submission unstated(const std::vector<std::string>& arguments) {
  Submission submission = job();
  submission.spec.request.gpu.vram = Bytes(0);
  submission.spec.request.gpu.sharing = Sharing::Shared;
  submission.command.arguments = arguments;
  return submission;
}

TEST_F(KeeperTest, NoMemoryIsLearnedOfASession) {
  Keeper keeper = open();
  int now = 0;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"bash"}, {"python3", "-"}, {"jupyter", "lab"}}) {
    const JobId first = submit(keeper, ++now, unstated(words));
    finish_holding(keeper, ++now, first, kGib);
    EXPECT_EQ(row(keeper, first).peak, kGib) << "it is shown";
    const JobId second = submit(keeper, ++now, unstated(words));
    EXPECT_EQ(charged(keeper, second), Bytes(0)) << words[0] << ": the next may do anything";
    finish_holding(keeper, ++now, second, kGib);
  }
  const JobId first = submit(keeper, ++now, unstated({"python3", "train.py"}));
  finish_holding(keeper, ++now, first, kGib);
  EXPECT_GT(charged(keeper, submit(keeper, ++now, unstated({"python3", "train.py"}))), kGib);
}

TEST_F(KeeperTest, MemoryIsLearnedOfEachTaskOfAnArray) {
  Keeper keeper = open(path_, gpus(20));
  Submission array = unstated({"python3", "train.py"});
  for (std::int64_t task = 0; task < 20; ++task) array.tasks.push_back(task);
  const JobId first = submit(keeper, 10, array);
  for (std::uint64_t i = 0; i < 20; ++i) {
    finish_holding(keeper, 20, JobId(first.value() + i), i == 0 ? kGib * 8 : kGib);
  }
  const JobId again = submit(keeper, 30, array);
  EXPECT_EQ(charged(keeper, again), kGib * 12) << "19 later runs of others do not count";
  for (std::uint64_t i = 1; i < 20; ++i) {
    EXPECT_LT(charged(keeper, JobId(again.value() + i)), kGib * 2) << i;
  }
  EXPECT_EQ(keeper.learning().with_estimate(array).vram_estimate, kGib * 12) << "of its first task";
  EXPECT_EQ(keeper.learning().with_estimate(unstated({"python3", "train.py"})).vram_estimate,
            Bytes(0))
      << "alone it has no number";
  array.tasks = {20};
  EXPECT_EQ(keeper.learning().with_estimate(array).vram_estimate, Bytes(0))
      << "nobody knows what 20 is";
}

// ---- Run times that are learned --------------------------------------------------------------

/// A run of a program that differs from others in its seed.
Submission run_of(const std::string& program, int seed, std::int64_t wanted = 2) {
  return job(wanted, program + " --seed " + std::to_string(seed));
}

/// Ran five times for 100 s; then the same is asked for again.
TEST_F(KeeperTest, ARunTimeIsLearnedOfTheSameProgramAndStaysWithTheJob) {
  Keeper keeper = open();
  for (int run = 1; run <= 5; ++run) {
    const JobId id = submit(keeper, 100 * run, run_of("train", run));
    EXPECT_EQ(row(keeper, id).spec.estimate, kForever) << run << ": too little is known yet";
    finish(keeper, 100 * run + 100, id);
  }
  const JobId other = submit(keeper, 600, run_of("tune", 6));
  EXPECT_EQ(row(keeper, other).spec.estimate, kForever) << "nothing is known of this program";

  const JobId second = submit(keeper, 700, run_of("train", 6));
  const JobSpec spec = keeper.engine().view().find(second)->spec;
  EXPECT_EQ(spec.estimate, seconds(100));
  EXPECT_EQ(spec.learned_from, 5);
  EXPECT_EQ(spec.time_limit, kForever) << "nothing ends it then";
  EXPECT_EQ(row(keeper, second).spec, spec);
  Submission limited = run_of("train", 7);
  limited.spec.time_limit = seconds(30);
  const JobId third = submit(keeper, 700, limited);
  EXPECT_EQ(keeper.engine().view().find(third)->spec.estimate, seconds(30));
  Submission stated = run_of("train", 8);
  stated.spec.estimate = seconds(7);
  const JobId fourth = submit(keeper, 700, stated);
  EXPECT_EQ(keeper.engine().view().find(fourth)->spec.estimate, seconds(7));
  EXPECT_EQ(keeper.engine().view().find(fourth)->spec.learned_from, 0);

  // What is known and what was told outlives a kill; every decision is the same again.
  const std::string copy = crash();
  {
    Keeper again = open(copy);
    expect_same(again, keeper);
    EXPECT_EQ(again.engine().view().find(second)->spec, spec);
    const JobId fifth = submit(again, 800, run_of("train", 9, 1));
    EXPECT_EQ(again.engine().view().find(fifth)->spec.estimate, seconds(100));
  }
  const auto verified = journal::verify(copy);
  EXPECT_TRUE(verified) << verified.error().message;
}

/// One job runs at a time. Two runs are enough here.
TEST_F(KeeperTest, JobsThatWaitLearnOnceEnoughRunsOfTheirProgramAreKnown) {
  const Rules rules{.learn_run_times_after = 2};
  Keeper keeper = open(path_, gpus(2), rules);
  const auto told = [&](JobId id) { return keeper.engine().view().find(id)->spec.estimate; };
  const auto tell = [&](Keeper& which, std::int64_t now) {
    const std::vector<Estimated> late = which.take_late_estimates();
    step(which, now, {.inputs = {late.begin(), late.end()}, .submissions = {}});
    return late.size();
  };
  const JobId first = submit(keeper, 10, run_of("train", 1));
  const JobId next = submit(keeper, 20, run_of("train", 2));
  const JobId eval = submit(keeper, 30, run_of("eval", 1));
  const JobId later = submit(keeper, 40, run_of("train", 3));
  finish(keeper, 110, first);
  EXPECT_EQ(tell(keeper, 111), 0U) << "one run is too few";
  finish(keeper, 160, next, Outcome::Failed, 1);
  EXPECT_EQ(tell(keeper, 161), 0U) << "one that failed shows nothing";
  finish(keeper, 170, eval);
  EXPECT_EQ(tell(keeper, 171), 0U) << "nor does another program";
  const JobId last = submit(keeper, 172, run_of("train", 4));
  const JobId behind = submit(keeper, 173, run_of("train", 5));
  finish(keeper, 220, later);
  {
    Keeper again = open(crash(), gpus(2), rules);
    EXPECT_EQ(tell(again, 221), 1U) << "what the crash was faster than";
  }
  EXPECT_EQ(tell(keeper, 221), 1U);
  EXPECT_EQ(told(last), kForever) << "it runs by then";
  EXPECT_EQ(told(behind), seconds(50));
  const JobId waits = submit(keeper, 222, run_of("train", 6));
  EXPECT_EQ(told(waits), seconds(50)) << "the lower one of 100 and 50";
  EXPECT_EQ(keeper.engine().view().find(waits)->spec.learned_from, 2);

  const std::string copy = crash();
  {
    Keeper again = open(copy, gpus(2), rules);
    expect_same(again, keeper);
    EXPECT_EQ(tell(again, 223), 0U) << "they were told before the crash";
  }
  const auto verified = journal::verify(copy);
  EXPECT_TRUE(verified) << verified.error().message;
}

TEST_F(KeeperTest, NoRunTimeIsLearnedWhereThatIsOff) {
  const Rules rules{.learn_run_times = false, .learn_run_times_after = 2};
  {
    Keeper keeper = open(path_, gpus(2), rules);
    finish(keeper, 110, submit(keeper, 10, job(1, "a")));
    finish(keeper, 210, submit(keeper, 200, job(1, "a")));
    const JobId third = submit(keeper, 250, job(1, "a"));
    EXPECT_EQ(keeper.engine().view().find(third)->spec.estimate, kForever);
    finish(keeper, 260, third);
  }
  Keeper on = open(path_, gpus(2), {.learn_run_times_after = 2});  // what ended meanwhile is known
  const JobId fourth = submit(on, 300, job(1, "a"));
  EXPECT_EQ(on.engine().view().find(fourth)->spec.learned_from, 3);
  Keeper off = open(crash(), gpus(2), rules);
  const JobId fifth = submit(off, 400, job(1, "a"));
  EXPECT_EQ(off.engine().view().find(fifth)->spec.learned_from, 0);
}

// ---- Coming back -----------------------------------------------------------------------------

TEST_F(KeeperTest, ANewFileIsAnEmptyEngine) {
  const Keeper keeper = open();
  EXPECT_EQ(keeper.engine().view().job_count(), 0U);
  EXPECT_EQ(keeper.engine().view().cluster(), gpus(2));
}

TEST_F(KeeperTest, ComesBackByteForByteFromAKillAfterAnyStep) {
  Keeper keeper = open();
  Rng rng(1, 0);
  for (int second = 1; second <= 60; ++second) {
    Batch batch;
    for (std::int64_t n = rng.between(0, 2); n > 0; --n) {
      batch.submissions.push_back(job(rng.between(1, 2)));
    }
    for (const JobId id : keeper.engine().view().running()) {
      const Job& known = *keeper.engine().view().find(id);
      if (known.state == JobState::Starting) {
        batch.inputs.emplace_back(Started{id, known.attempt});
      } else if (known.state == JobState::Stopping) {
        batch.inputs.emplace_back(Released{id, known.attempt});
      } else if (rng.between(0, 2) == 0) {
        batch.inputs.emplace_back(Exited{id, known.attempt});
      }
    }
    if (batch.inputs.empty()) batch.inputs.emplace_back(Ticked{});
    step(keeper, second, batch);
    expect_same(keeper, open(crash()));
  }
}

TEST_F(KeeperTest, ComesBackFromACleanEnd) {
  std::string state;
  {
    Keeper keeper = open();
    step(keeper, 5, of({job(), job(2), job()}));
    ASSERT_TRUE(keeper.snapshot_at_end());
    state = keeper.engine().save();
  }
  Keeper keeper = open();
  EXPECT_EQ(keeper.engine().save(), state);
  EXPECT_EQ(keeper.last(), at(5));
  EXPECT_EQ(submit(keeper, 6, job()), JobId(4));
}

/// A step without effects writes its decisions with the next one; a crash before that decides
/// again.
TEST_F(KeeperTest, DecisionsThatWereDeferredAreMadeAgain) {
  Keeper keeper = open();
  step(keeper, 1, of({job(2)}));
  step(keeper, 2, of({job(2)}));  // waits: no effects
  const std::string crashed = crash();
  {
    auto store = journal::Store::open(crashed);
    const auto recovered = store->recover();
    ASSERT_FALSE(recovered->entries.empty());
    EXPECT_FALSE(recovered->entries.back().decisions);
  }
  Keeper back = open(crashed);
  expect_same(keeper, back);
  step(back, 3, of({job(2)}));
  step(keeper, 3, of({job(2)}));
  expect_same(keeper, back);
  const auto verified = journal::verify(crashed);
  EXPECT_TRUE(verified) << verified.error().message;
}

TEST_F(KeeperTest, NumbersAreNeverUsedAgain) {
  {
    Keeper keeper = open();
    const JobId id = submit(keeper, 1, job());
    step(keeper, 2, of({job(2), job(2)}));
    finish(keeper, 3, id);
    step(keeper, 4, of({CancelAsked{JobId(3)}}));
    EXPECT_FALSE(keeper.engine().view().knows(JobId(3)));
  }
  Keeper keeper = open();
  EXPECT_EQ(submit(keeper, 5, job()), JobId(4));
}

TEST_F(KeeperTest, OneFileHasOneKeeper) {
  const Keeper keeper = open();
  const auto second = try_open(path_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::Conflict);
}

TEST_F(KeeperTest, AFileOfSomethingElseIsRefused) {
  folder_.write("journal.db", "not a journal, but long enough to be one, one would think");
  const auto keeper = try_open(path_);
  ASSERT_FALSE(keeper);
  EXPECT_EQ(keeper.error().code, ErrorCode::BadData);
  EXPECT_THAT(keeper.error().message, HasSubstr(path_));
}

// ---- Snapshots -------------------------------------------------------------------------------

TEST_F(KeeperTest, ASnapshotIsWrittenWhenThereIsEnough) {
  Keeper keeper = open();
  finish_snapshot(keeper);
  const auto snapshots = [&] { return keeper.store().snapshots()->size(); };
  step(keeper, 1, of({job()}));
  ASSERT_TRUE(keeper.snapshot_if_due());
  EXPECT_EQ(snapshots(), 1U);
  step(keeper, 2, of({Reported{JobId(1), std::string(17 << 20, 'x'), 1}}));
  ASSERT_TRUE(keeper.snapshot_if_due());
  finish_snapshot(keeper);
  EXPECT_EQ(snapshots(), 2U);
  ASSERT_TRUE(keeper.snapshot_if_due());
  EXPECT_EQ(keeper.store().snapshots()->back().after, 2);
  expect_same(keeper, open(crash()));
}

/// More than one part's worth of jobs that wait.
std::vector<Submission> many_jobs() { return std::vector<Submission>(12'000, job(1, "")); }

TEST_F(KeeperTest, ASnapshotIsOfTheMomentItBeganWhateverHappensMeanwhile) {
  Keeper keeper = open();
  finish_snapshot(keeper);
  step(keeper, 1, of(many_jobs()));
  const std::string then = keeper.engine().save();
  ASSERT_GT(then.size(), std::size_t{1} << 19) << "it must come in parts";
  ASSERT_TRUE(keeper.begin_snapshot());
  step(keeper, 2, of({CancelAsked{JobId(7)}}));
  std::uint64_t steps = 0;
  finish_snapshot(keeper, [&] { step(keeper, 3, of({CancelAsked{JobId(100 + ++steps)}})); });
  EXPECT_GT(steps, 2) << "steps come between the parts";
  const auto last = keeper.store().snapshots()->back();
  EXPECT_EQ(last.after, 1);
  EXPECT_EQ(keeper.store().snapshot(1)->state, then);
  EXPECT_TRUE(journal::verify(path_)) << journal::verify(path_).error().message;
  const Keeper again = open(crash());
  expect_same(again, keeper);
}

TEST_F(KeeperTest, AKillBetweenTwoPartsCostsNothing) {
  Keeper keeper = open();
  finish_snapshot(keeper);
  step(keeper, 1, of(many_jobs()));
  ASSERT_TRUE(keeper.begin_snapshot());
  std::vector<std::string> crashes;
  std::uint64_t steps = 0;
  finish_snapshot(keeper, [&] {
    step(keeper, 3, of({CancelAsked{JobId(100 + ++steps)}}));
    crashes.push_back(crash());
    Keeper again = open(crashes.back());
    expect_same(again, keeper);
    finish_snapshot(again);  // what was begun is gone
    ASSERT_TRUE(again.begin_snapshot());
    finish_snapshot(again);
    EXPECT_TRUE(journal::verify(crashes.back())) << journal::verify(crashes.back()).error().message;
  });
  EXPECT_GT(crashes.size(), 2U);
}

TEST_F(KeeperTest, TwoSnapshotsStayAndTheEntriesSinceTheOlder) {
  Keeper keeper = open();
  for (int i = 1; i <= 3; ++i) {
    finish_snapshot(keeper);
    for (int k = 0; k < 300; ++k) submit(keeper, i, job());
    ASSERT_TRUE(keeper.begin_snapshot());
  }
  finish_snapshot(keeper);
  const auto snapshots = *keeper.store().snapshots();
  ASSERT_EQ(snapshots.size(), 2U);
  EXPECT_EQ(snapshots[0].after, 600);
  EXPECT_EQ(snapshots[1].after, 900);
  EXPECT_EQ(keeper.store().entries(0, 10'000)->front().number, 601);
  EXPECT_FALSE(keeper.store().snapshot(300));
}

TEST_F(KeeperTest, AFullDiskEndsASnapshotAndNothingElse) {
  Keeper keeper = open();
  finish_snapshot(keeper);
  step(keeper, 1, of(many_jobs()));
  ASSERT_TRUE(keeper.begin_snapshot());
  auto work = keeper.work_on_snapshot();
  while (work && *work == Keeper::SnapshotWork::Waiting) work = keeper.work_on_snapshot();
  {
    const FullDisk full;
    EXPECT_FALSE(keeper.work_on_snapshot());
  }
  finish_snapshot(keeper);
  EXPECT_EQ(keeper.store().snapshots()->size(), 1U);
  submit(keeper, 3, job());
  const Keeper again = open(crash());
  expect_same(again, keeper);
}

TEST_F(KeeperTest, AnEndWithNothingNewWritesNone) {
  Keeper keeper = open();
  ASSERT_TRUE(keeper.snapshot_at_end());
  EXPECT_EQ(keeper.store().snapshots()->size(), 1U);
  step(keeper, 1, of({job()}));
  ASSERT_TRUE(keeper.snapshot_at_end());
  ASSERT_TRUE(keeper.snapshot_at_end());
  EXPECT_EQ(keeper.store().snapshots()->size(), 2U);
}

// ---- Changes ---------------------------------------------------------------------------------

TEST_F(KeeperTest, AnotherPolicyGoesOnWithTheSameJobs) {
  {
    Keeper keeper = open();
    step(keeper, 1, of({job(2), job(2), job(1)}));
  }
  {
    Keeper keeper = open(path_, gpus(2), {.policy = "sjf", .place = "first-fit", .settings = {}});
    EXPECT_EQ(keeper.engine().view().job_count(), 3U);
    EXPECT_EQ(keeper.store().snapshots()->back().policy, "sjf");
    finish(keeper, 2, JobId(1));
    EXPECT_EQ(keeper.engine().view().find(JobId(2))->state, JobState::Starting);
    expect_same(keeper,
                open(crash(), gpus(2), {.policy = "sjf", .place = "first-fit", .settings = {}}));
  }
  const auto verified = journal::verify(path_);
  EXPECT_TRUE(verified) << verified.error().message;
}

/// As another build may have written it: a policy or a key that this one does not know, and a
/// memory that it cannot read.
TEST_F(KeeperTest, APolicyThatWasAnotherBeginsWithoutMemory) {
  const Rules other{.policy = "multifactor", .place = "first-fit", .settings = {}};
  {
    Keeper keeper = open(path_, gpus(2), other);
    step(keeper, 1, of({job(2), job(2), job(1)}));
  }
  for (const char* const was : {"headroom", "headroom:ageing=2h", "gone"}) {
    {
      auto store = journal::Store::open(path_, journal::Access::ReadWrite);
      auto recovered = store->recover();
      Keeper keeper = open(crash(), gpus(2), other);
      recovered->snapshot->policy = was;
      const auto& entries = recovered->entries;
      if (!entries.empty()) recovered->snapshot->after = entries.back().number;
      recovered->snapshot->state = keeper.engine().save();
      ASSERT_TRUE(store->begin());
      ASSERT_TRUE(store->add_snapshot(*recovered->snapshot));
      ASSERT_TRUE(store->commit());
    }
    Keeper keeper = open(path_, gpus(2), {.policy = "headroom", .place = "first-fit"});
    EXPECT_EQ(keeper.engine().view().job_count(), 3U) << was;
    EXPECT_EQ(keeper.store().snapshots()->back().policy, "headroom") << was;
  }
}

TEST_F(KeeperTest, OtherSettingsAreTakenOver) {
  Rules limited;
  limited.settings.limits.jobs = 1;
  {
    Keeper keeper = open(path_, gpus(2), limited);
    step(keeper, 1, of({job(), job()}));
    EXPECT_EQ(keeper.engine().view().running().size(), 1U);
  }
  {
    const Keeper keeper = open();  // without the limit
    EXPECT_EQ(keeper.engine().view().settings().limits.jobs, 0);
    EXPECT_EQ(keeper.engine().view().running().size(), 2U);  // to be launched by its opener
    EXPECT_EQ(keeper.store().attempts(JobId(2))->size(), 1U);
  }
  const auto verified = journal::verify(path_);
  EXPECT_TRUE(verified) << verified.error().message;
}

TEST_F(KeeperTest, WeightsAreJournaledAndStayUntilTheyAreOthers) {
  const auto weight_of = [](const Keeper& keeper, std::uint32_t user) {
    return keeper.engine().view().account(UserId(user)).weight_milli;
  };
  Rules weighed;
  weighed.weights = {{UserId(7), 3000}, {UserId(8), kUsualWeight}};
  std::string state;
  {
    const Keeper keeper = open(path_, gpus(2), weighed);
    EXPECT_EQ(weight_of(keeper, 7), 3000);
    EXPECT_EQ(weight_of(keeper, 9), kUsualWeight);
    state = keeper.engine().save();
  }
  EXPECT_EQ(open(path_, gpus(2), weighed).engine().save(), state) << "nothing changed";
  EXPECT_EQ(weight_of(open(path_, gpus(3), weighed), 7), 3000) << "of other GPUs";
  EXPECT_EQ(weight_of(open(path_, gpus(3)), 7), kUsualWeight) << "no longer said";
  const auto verified = journal::verify(path_);
  EXPECT_TRUE(verified) << verified.error().message;
}

TEST_F(KeeperTest, OtherGpusAreRefusedUnderJobs) {
  {
    Keeper keeper = open();
    submit(keeper, 1, job());
  }
  const auto refused = try_open(path_, gpus(3));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("now has 3 GPUs"));
  EXPECT_THAT(refused.error().message, HasSubstr("job 1 holds a place there: start berthd as"));
  Keeper keeper = open();  // as before: all is as it was
  finish(keeper, 2, JobId(1));
}

/// As on one machine, whose berthd must come back whatever became of a GPU.
TEST_F(KeeperTest, OtherGpusWaitForTheEndOfTheJobsThere) {
  const auto open_waiting = [&](const Cluster& cluster, bool has_lost_gpus = false) {
    auto keeper = Keeper::open(
        host_, {.path = path_, .change = Opening::Change::Waits, .has_lost_gpus = has_lost_gpus},
        cluster, {});
    if (!keeper) throw std::runtime_error(keeper.error().message);
    return std::move(*keeper);
  };
  {
    Keeper keeper = open_waiting(gpus(2));
    submit(keeper, 1, job(1));
    submit(keeper, 2, job(2));
    step(keeper, 3, of({Drained{GpuId(0), Drain{.reason = "noise"}}}));
  }
  for (const std::uint32_t others : {1U, 3U, 0U}) {
    Keeper keeper = open_waiting(gpus(others));
    EXPECT_EQ(keeper.engine().view().cluster(), gpus(2)) << others;
    EXPECT_THAT(keeper.engine().view().running(), ElementsAre(JobId(1)));
    EXPECT_THAT(keeper.kept_cluster(), HasSubstr("now has " + std::to_string(others) + " GPUs, "));
    EXPECT_THAT(keeper.kept_cluster(), HasSubstr("for 2, and job 1 holds a place there: berthd"));
  }
  {
    Keeper keeper = open_waiting(gpus(2));
    EXPECT_EQ(keeper.kept_cluster(), "") << "it is back";
    finish(keeper, 4, JobId(1));
  }
  {
    Keeper keeper = open_waiting(gpus(1), true);
    EXPECT_EQ(keeper.engine().view().cluster(), gpus(2));
    EXPECT_THAT(keeper.kept_cluster(), HasSubstr("and job 2 waits for what is gone: berthd"));
    EXPECT_EQ(keeper.engine().view().find(JobId(2))->state, JobState::Queued);
  }
  Keeper keeper = open_waiting(gpus(1));  // others instead: what is gone does not come back
  EXPECT_EQ(keeper.kept_cluster(), "");
  EXPECT_EQ(keeper.engine().view().cluster(), gpus(1));
  EXPECT_EQ(keeper.engine().view().find(JobId(2))->state, JobState::Held);
  EXPECT_EQ(keeper.engine().view().drains().at(GpuId(0)).reason, "noise");
  EXPECT_EQ(keeper.engine().check(), std::nullopt);
}

/// What is known of users, their programs and the queue goes along.
TEST_F(KeeperTest, OtherGpusForgetNothing) {
  const Instant later = at(5000);
  std::uint64_t finished = 0;
  std::map<UserId, Account> accounts;
  {
    Keeper keeper = open();
    submit(keeper, 1, job(2, "past"));
    finish(keeper, 100, JobId(1));
    submit(keeper, 101, job(2, "runs"));
    submit(keeper, 102, job(1, "waits"));
    step(keeper, 103,
         of({Reserved{ReservationId(1),
                      {.gpus = {GpuId(0), GpuId(1)}, .users = {UserId(7)}, .from = later}}}));
    step(keeper, 200, of({Exited{JobId(2), Attempt(1), Outcome::Done, 0}}));
    finished = keeper.engine().view().finished();
    accounts = keeper.engine().view().accounts();
  }
  host_.remains[JobId(2)] = {.trace = Trace::Over,
                             .ending = {.outcome = Outcome::Done, .at = at(200)}};
  Keeper keeper = open(path_, gpus(1));
  const ClusterView view = keeper.engine().view();
  EXPECT_EQ(view.cluster(), gpus(1));
  EXPECT_GE(view.finished(), finished);
  EXPECT_EQ(view.accounts().size(), accounts.size());
  EXPECT_EQ(view.find(JobId(3))->submitted, at(102)) << "it keeps its place in the queue";
  ASSERT_TRUE(view.calendar().contains(ReservationId(1)));
  EXPECT_THAT(view.calendar().at(ReservationId(1)).gpus, ElementsAre(GpuId(0)));
  EXPECT_EQ(keeper.engine().check(), std::nullopt);
}

/// A machine that began anew, with a GPU less: nothing of the jobs that held its GPUs is there.
TEST_F(KeeperTest, WhatIsGoneEndsBeforeGpusAreCompared) {
  {
    Keeper keeper = open(path_, gpus(3));
    for (int i = 0; i < 4; ++i) submit(keeper, 1 + i, job());
    for (const std::uint64_t id : {1U, 2U}) step(keeper, 5, of({Started{JobId(id), Attempt(1)}}));
    EXPECT_EQ(keeper.engine().view().running().size(), 3U);
  }
  host_.remains[JobId(1)] = {.trace = Trace::Over,
                             .ending = {.outcome = Outcome::Lost, .at = at(9), .note = "gone"}};
  host_.remains[JobId(2)] = {.trace = Trace::Over,
                             .ending = {.outcome = Outcome::Done, .at = at(4)}};
  host_.remains[JobId(3)] = {.trace = Trace::Lives, .ending = {}};
  const auto refused = try_open(path_, gpus(1));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("and job 3 holds a place there: start"));
  host_.remains[JobId(3)] = {.trace = Trace::None, .ending = {}};  // nothing of it ran
  Keeper keeper = open(path_, gpus(1));
  EXPECT_EQ(row(keeper, JobId(1)).end.value().outcome, Outcome::Lost);
  EXPECT_EQ(row(keeper, JobId(1)).end.value().note, "gone");
  EXPECT_EQ(row(keeper, JobId(2)).end.value().outcome, Outcome::Done);
  EXPECT_FALSE(row(keeper, JobId(3)).end);
  EXPECT_THAT(keeper.engine().view().running(), ElementsAre(JobId(3))) << "it begins, as one does";
  EXPECT_EQ(keeper.engine().view().find(JobId(4))->state, JobState::Queued);
  EXPECT_EQ(keeper.engine().check(), std::nullopt);
  host_.remains.clear();
  expect_same(keeper, open(crash(), gpus(1)));
}

TEST_F(KeeperTest, WhatEndsWhileItComesBackIsToldOnce) {
  {
    Keeper keeper = open(path_, gpus(2));
    EXPECT_THAT(keeper.take_ended_early(), IsEmpty());
    for (int i = 0; i < 2; ++i) submit(keeper, 1 + i, job());
    for (const std::uint64_t id : {1U, 2U}) step(keeper, 5, of({Started{JobId(id), Attempt(1)}}));
  }
  host_.remains[JobId(1)] = {.trace = Trace::Over,
                             .ending = {.outcome = Outcome::Lost, .at = at(9), .note = "gone"}};
  host_.remains[JobId(2)] = {.trace = Trace::Over,
                             .ending = {.outcome = Outcome::Done, .at = at(4)}};
  Keeper keeper = open(path_, gpus(1));
  EXPECT_THAT(keeper.take_ended_early(), ElementsAre(JobId(1), JobId(2)));
  EXPECT_THAT(keeper.take_ended_early(), IsEmpty());
}

TEST_F(KeeperTest, WhenAnAttemptBeganStaysThoughItIsFoundRunningLater) {
  Keeper keeper = open(path_, gpus(1));
  submit(keeper, 1, job());
  for (const int now : {5, 70}) step(keeper, now, of({Started{JobId(1), Attempt(1)}}));
  EXPECT_EQ(row(keeper, JobId(1)).started, at(5));
  const auto attempts = keeper.store().attempts(JobId(1));
  ASSERT_TRUE(attempts);
  EXPECT_EQ(attempts->front().started, at(5));
}

/// A state as another build might have left it.
TEST_F(KeeperTest, ABadJobIsPutAsideByNameAndTheRestGoesOn) {
  const auto begins = [](Instant begin) {
    Submission later = job(1, "later");
    later.spec.conditions = Conditions{.begin = begin};
    return later;
  };
  journal::Snapshot snapshot;
  {
    Keeper keeper = open();
    submit(keeper, 1, job(1, "good"));
    submit(keeper, 2, begins(at(1000)));
    submit(keeper, 3, begins(at(2000)));
    snapshot = {.after = 4,
                .policy = Rules().policy,
                .place = Rules().place,
                .build = "0",
                .state = keeper.engine().save()};
  }
  {
    // The begin of job 2 becomes one that no snapshot may have.
    ByteWriter good;
    ByteWriter bad;
    good.integer(micros(at(1000)));
    bad.integer(micros(limits::kLastInstant) + 7);
    const std::string is = good.take();
    const std::size_t where = snapshot.state.find(is);
    ASSERT_NE(where, std::string::npos);
    snapshot.state.replace(where, is.size(), bad.take());
    auto store = journal::Store::open(path_);
    ASSERT_TRUE(store) << store.error().message;
    const auto recovered = store->recover();
    ASSERT_TRUE(recovered);
    snapshot.after =
        recovered->entries.empty() ? recovered->snapshot->after : recovered->entries.back().number;
    ASSERT_TRUE(store->begin());
    ASSERT_TRUE(store->add_snapshot(snapshot));
    ASSERT_TRUE(store->commit());
  }
  {
    Keeper keeper = open();
    ASSERT_EQ(keeper.put_aside().size(), 1U);
    EXPECT_EQ(keeper.put_aside()[0].job, JobId(2));
    EXPECT_EQ(keeper.put_aside()[0].why,
              "begins at 7258118400.000007, the last is 7258118400 (2200-01-01)");
    EXPECT_THAT(host_.aside.at("job-2"), HasSubstr("name: later"));
    const auto end = row(keeper, JobId(2)).end;
    ASSERT_TRUE(end);
    EXPECT_EQ(end->outcome, Outcome::Rejected);
    EXPECT_THAT(end->note, HasSubstr("put aside when berthd started: begins at"));
    EXPECT_EQ(keeper.engine().view().find(JobId(1))->state, JobState::Starting);
    EXPECT_EQ(keeper.engine().view().find(JobId(3))->state, JobState::Deferred);
    EXPECT_EQ(keeper.engine().check(), std::nullopt);
    finish(keeper, 5, JobId(1));
  }
  Keeper keeper = open();
  EXPECT_TRUE(keeper.put_aside().empty()) << "once";
  EXPECT_EQ(keeper.engine().view().job_count(), 1U);
}

TEST_F(KeeperTest, AClockThatIsTrustedSetsTimeBack) {
  constexpr std::int64_t kYears = std::int64_t{14} * 365 * 86400;
  {
    Keeper keeper = open();
    Submission later = job(1, "later");
    later.spec.conditions = Conditions{.begin = at(5000)};
    submit(keeper, 10, later);
    submit(keeper, kYears, job(1, "runs"));  // its time to begin has come, too
    step(keeper, kYears + 5, of({Started{JobId(2), Attempt(1)}}));
    EXPECT_EQ(keeper.engine().view().find(JobId(1))->state, JobState::Starting);
    step(keeper, kYears + 6, of({StartFailed{JobId(1), Attempt(1)}, HoldAsked{JobId(1)}}));
    Submission last = job(1, "last");
    last.spec.conditions = Conditions{.begin = at(kYears - 5)};
    last.spec.request.gpu.count = GpuCount(2);
    submit(keeper, kYears + 7, last);
    EXPECT_EQ(keeper.engine().view().find(JobId(3))->state, JobState::Queued);
  }
  const Opening opening{.path = path_, .trusted_clock = at(100)};
  {
    auto keeper = Keeper::open(host_, opening, gpus(2), {});
    ASSERT_TRUE(keeper) << keeper.error().message;
    EXPECT_EQ(keeper->last(), at(100));
    EXPECT_EQ(keeper->set_back(), seconds(kYears + 7 - 100));
    const ClusterView view = keeper->engine().view();
    EXPECT_EQ(view.find(JobId(2))->state, JobState::Running);
    EXPECT_EQ(view.find(JobId(2))->since, at(93)) << "as long ago as it was";
    EXPECT_EQ(view.find(JobId(3))->state, JobState::Deferred) << "its time is to come again";
    EXPECT_EQ(view.find(JobId(1))->submitted, at(10)) << "from before the clock was wrong";
    EXPECT_EQ(keeper->engine().check(), std::nullopt);
    finish(*keeper, 101, JobId(2));
  }
  auto keeper = Keeper::open(host_, opening, gpus(2), {});
  ASSERT_TRUE(keeper);
  EXPECT_EQ(keeper->last(), at(100)) << "one second is set back as well as years";
}

TEST_F(KeeperTest, WhatIsOtherwiseIsNamedWithBothValues) {
  const NodeShape before{.name = "n", .gpus = 2, .vram = kGib * 24, .context = kGib};
  const auto of_shape = [](const NodeShape& shape) {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node(shape);
    return cluster;
  };
  {
    Keeper keeper = open(path_, of_shape(before));
    submit(keeper, 1, job());
  }
  const auto refusal = [&](auto change) {
    NodeShape now = before;
    change(now);
    const auto refused = try_open(path_, of_shape(now));
    return refused ? "taken" : refused.error().message;
  };
  EXPECT_THAT(refusal([](NodeShape& shape) { shape.slots = 2; }),
              HasSubstr("now has `slots` 2, its state was written for 4, and job 1 holds"));
  EXPECT_THAT(refusal([](NodeShape& shape) { shape.context = kGib * 2; }),
              HasSubstr("now has `context` 2 GiB, its state was written for 1 GiB"));
  EXPECT_THAT(
      refusal([](NodeShape& shape) { shape.vram = kGib * 12; }),
      HasSubstr("now has GPUs of 12 GiB, 12 GiB, its state was written for 24 GiB, 24 GiB"));
  EXPECT_THAT(refusal([](NodeShape& shape) { shape.cpu = CpuMilli(1500); }),
              HasSubstr("now has `cores` 1.5, its state was written for "));
}

/// A driver may tell otherwise after every start: that changes no GPU under a job.
TEST_F(KeeperTest, OtherLinksAreTakenOverUnderJobs) {
  {
    Keeper keeper = open();
    submit(keeper, 1, job());
  }
  const auto node = NodeId(0);
  Cluster linked = gpus(2);
  linked.set_links(node, {{.one = 0, .other = 1, .nvlinks = 4}});
  {
    Keeper keeper = open(path_, linked);
    EXPECT_EQ(keeper.engine().view().cluster(), linked);
    EXPECT_EQ(keeper.engine().view().running().size(), 1U);
  }
  Keeper keeper = open(path_, linked);
  EXPECT_EQ(keeper.engine().view().cluster(), linked) << "by the journal";
  finish(keeper, 2, JobId(1));
  EXPECT_TRUE(journal::verify(path_)) << "the input is journaled";
}

TEST_F(KeeperTest, MoreNodesAreTakenOverUnderJobs) {
  EXPECT_EQ(Keeper::cluster_held(path_, journal::Loss::Refused).value(), std::nullopt) << "no file";
  Cluster more = gpus(2);
  more.add_node({.name = "m", .gpus = 1, .vram = kGib * 24, .context = Bytes(0)});
  {
    Keeper keeper = open();
    EXPECT_EQ(Keeper::cluster_held(path_, journal::Loss::Refused).error().code, ErrorCode::Conflict)
        << "it is open";
    submit(keeper, 1, job(2, "first"));
    submit(keeper, 2, job(1, "second"));
  }
  EXPECT_EQ(Keeper::cluster_held(path_, journal::Loss::Refused).value(), gpus(2));
  {
    Keeper keeper = open(path_, more);
    EXPECT_EQ(keeper.engine().check(), std::nullopt);
    EXPECT_EQ(keeper.engine().view().find(JobId(1))->state, JobState::Starting);
    EXPECT_EQ(keeper.engine().view().find(JobId(2))->state, JobState::Queued);
    step(keeper, 3, of({Ticked{}}));
    ASSERT_EQ(keeper.engine().view().find(JobId(2))->state, JobState::Starting);
    EXPECT_EQ(keeper.engine().view().find(JobId(2))->grant.shares.at(0).gpu, GpuId(2));
    finish(keeper, 4, JobId(1));
  }
  EXPECT_EQ(try_open(path_).error().code, ErrorCode::Conflict) << "a node less, and a job there";
  {
    Keeper keeper = open(path_, more);
    finish(keeper, 5, JobId(2));
  }
  EXPECT_EQ(Keeper::cluster_held(path_, journal::Loss::Refused).value(), std::nullopt);
  const auto verified = journal::verify(path_);
  EXPECT_TRUE(verified) << verified.error().message;
}

TEST_F(KeeperTest, OtherGpusWithoutJobsAreTakenOver) {
  {
    Keeper keeper = open();
    Submission held = job(1, "held");
    held.held = true;
    step(keeper, 1, of({held}));
  }
  Keeper keeper = open(path_, gpus(1));
  EXPECT_EQ(keeper.engine().view().find(JobId(1))->state, JobState::Held);
  EXPECT_EQ(row(keeper, JobId(1)).name, "held");
  step(keeper, 2, of({ReleaseAsked{JobId(1)}}));
  finish(keeper, 3, JobId(1));
  EXPECT_TRUE(row(keeper, JobId(1)).end);
}

/// Jobs that wait may start, or have become impossible, with the very first look at the new GPUs:
/// these are held, for GPUs may come back, and their users may ask for something else.
TEST_F(KeeperTest, WhatOtherGpusMeanForJobsThatWaitIsWritten) {
  const auto wait_unhealthy = [&] {
    Keeper keeper = open();
    step(keeper, 1, of({GpuHealth{GpuId(0), false}, GpuHealth{GpuId(1), false}}));
    step(keeper, 2, of({job(1), job(2)}));
    EXPECT_THAT(keeper.engine().view().running(), IsEmpty());
  };
  wait_unhealthy();
  Keeper keeper = open(path_, gpus(1));
  EXPECT_THAT(keeper.engine().view().running(), ElementsAre(JobId(1)));
  EXPECT_EQ(keeper.store().attempts(JobId(1))->size(), 1U);
  const auto second = [&](const Keeper& of) { return of.engine().view().find(JobId(2)); };
  EXPECT_EQ(second(keeper)->state, JobState::Held);
  EXPECT_FALSE(row(keeper, JobId(2)).end);
  EXPECT_THAT(keeper.note_of(JobId(2)), HasSubstr("because it asks 2 GPUs, the cluster has 1, "));
  finish(keeper, 3, JobId(1));
  EXPECT_TRUE(row(keeper, JobId(1)).end);
  expect_same(keeper, open(crash(), gpus(1)));
  step(keeper, 4, of({ReleaseAsked{JobId(2)}}));
  EXPECT_EQ(second(keeper)->state, JobState::Held) << "it would wait for ever";
  Updated smaller{.job = JobId(2), .spec = second(keeper)->spec};
  smaller.spec.request.gpu.count = GpuCount(1);
  step(keeper, 5, of({smaller, ReleaseAsked{JobId(2)}}));
  EXPECT_EQ(second(keeper)->state, JobState::Starting);
  EXPECT_TRUE(journal::verify(path_));
}

/// Attempts are counted again there: the next one may have the number of one long over.
TEST_F(KeeperTest, AJobThatWasTriedBeforeRunsOnOtherGpus) {
  {
    Keeper keeper = open();
    const JobId id = submit(keeper, 1, job());
    step(keeper, 2,
         of({GpuHealth{GpuId(0), false}, GpuHealth{GpuId(1), false}, StartFailed{id, Attempt(1)}}));
    EXPECT_EQ(keeper.engine().view().find(id)->state, JobState::Queued);
  }
  Keeper keeper = open(path_, gpus(1));
  EXPECT_EQ(keeper.engine().view().find(JobId(1))->state, JobState::Starting);
  finish(keeper, 3, JobId(1));
  EXPECT_FALSE(keeper.is_broken());
  EXPECT_TRUE(row(keeper, JobId(1)).end);
}

TEST_F(KeeperTest, APolicyThatIsNoneChangesNothing) {
  {
    Keeper keeper = open();
    submit(keeper, 1, job());
  }
  EXPECT_FALSE(try_open(path_, gpus(2), {.policy = "luck", .place = "best-fit", .settings = {}}));
  EXPECT_TRUE(open().engine().view().knows(JobId(1)));
}

// ---- Writes that fail ------------------------------------------------------------------------

TEST_F(KeeperTest, ABatchThatCouldNotBeWrittenCanBeTriedAgain) {
  Keeper keeper = open();
  submit(keeper, 1, job());
  const std::string before = keeper.engine().save();
  Batch batch = of({job(1, "again")});
  batch.inputs.emplace_back(Started{JobId(1), Attempt(1)});
  for (int tries = 0; tries < 3; ++tries) {
    const FullDisk full;
    const auto refused = keeper.step(at(2), batch);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Io);
    EXPECT_THAT(refused.error().message, HasSubstr(path_));
    EXPECT_FALSE(keeper.is_broken());
    EXPECT_EQ(keeper.engine().save(), before);
    EXPECT_EQ(keeper.last(), at(1));
    EXPECT_FALSE(*keeper.store().job(JobId(2)));
  }
  const Stepped stepped = step(keeper, 3, batch);
  EXPECT_THAT(stepped.submitted, ElementsAre(JobId(2)));
  EXPECT_EQ(keeper.engine().view().find(JobId(1))->state, JobState::Running);
  expect_same(keeper, open(crash()));
}

TEST_F(KeeperTest, DeferredDecisionsOutliveAFailedWrite) {
  Keeper keeper = open();
  step(keeper, 1, of({job(2)}));
  step(keeper, 2, of({job(2)}));  // no effects: its decisions wait
  {
    const FullDisk full;
    EXPECT_FALSE(keeper.step(at(3), of({Ticked{}})));
  }
  step(keeper, 4, of({Ticked{}}));
  expect_same(keeper, open(crash()));
  const auto entries = keeper.store().entries(0, 99);
  ASSERT_EQ(entries->size(), 3U);
  EXPECT_TRUE((*entries)[1].decisions);
}

TEST_F(KeeperTest, AFailedSnapshotIsTriedAgain) {
  Keeper keeper = open();
  step(keeper, 1, of({job()}));
  {
    const FullDisk full;
    EXPECT_FALSE(keeper.snapshot_at_end());
  }
  step(keeper, 2, of({job()}));
  EXPECT_TRUE(keeper.snapshot_at_end());
  EXPECT_EQ(keeper.store().snapshots()->size(), 2U);
  expect_same(keeper, open(crash()));
}

/// The disk fills up after each possible number of bytes: within the inputs (nothing happened) or
/// after them (then the journal says more than was done, and the next daemon does it).
TEST_F(KeeperTest, TheDiskMayFillUpAtAnyByte) {
  std::set<std::string> seen;
  for (rlim_t room = 0; room < 60'000 && !seen.contains("done"); room += 2048) {
    std::filesystem::remove_all(folder_.path() / "journal.db-wal");
    for (const char* const beside : {"-shm", "-mark"}) std::filesystem::remove(path_ + beside);
    std::filesystem::remove(path_);
    std::optional<Keeper> keeper = open();
    const rlim_t size = std::filesystem::file_size(path_ + "-wal");
    {
      const FullDisk full(size + room);
      const auto stepped = keeper->step(at(1), of({job(1, "one")}));
      seen.insert(stepped ? "done" : keeper->is_broken() ? "broken" : "refused");
    }
    const bool was_taken_in = keeper->is_broken() || keeper->engine().view().job_count() > 0;
    keeper.reset();
    Keeper back = open();
    EXPECT_EQ(back.engine().view().knows(JobId(1)), was_taken_in) << room;
    if (was_taken_in) {
      EXPECT_EQ(back.engine().view().find(JobId(1))->state, JobState::Starting) << room;
      EXPECT_EQ(back.store().attempts(JobId(1))->size(), 1U) << room;
    }
    EXPECT_EQ(submit(back, 2, job()), JobId(was_taken_in ? 2 : 1)) << room;
  }
  EXPECT_EQ(seen, (std::set<std::string>{"refused", "broken", "done"}));
}

}  // namespace
}  // namespace berth::live
