// Goal: the order in which a conductor does things: it looks before it starts, writes before it
// does, answers when the disk has it, and stops where it can no longer be believed. Method: the
// real keeper on a file, hands that only write down what they are asked for; a test says when
// things happen.
#include "live/conductor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/host.hpp"
#include "support/process.hpp"

namespace berth::live {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// All the hands at once: what was asked of them, in order.
class Record : public Executor,
               public Eyes,
               public Clock,
               public Alarms,
               public Syncs,
               public Audience {
 public:
  Expected<void> launch(const Assignment& assigned) override {
    done.push_back("launch " + assigned.command.arguments.front());
    if (fails_to_launch) return fail(ErrorCode::Io, "no shim");
    return {};
  }
  Trace adopt(JobId, Attempt) override { return found; }
  void stop(JobId job, Attempt, Manner) override {
    done.push_back("stop " + std::to_string(job.value()));
  }
  void forget(JobId job, Attempt) override {
    done.push_back("forget " + std::to_string(job.value()));
  }
  std::vector<std::string> sweep(const StandingOf&, JobId) override { return {"swept"}; }

  void look_at(const std::set<GpuId>&) override { done.push_back("look"); }
  Instant now() const override { return time; }
  void set(Alarm alarm, Duration from_now) override { alarms[alarm] = from_now; }
  void post(std::function<void()> task) override { posted.push_back(std::move(task)); }
  void after_sync(Promise promise) override { promises.push_back(std::move(promise)); }
  void on_changed(const std::vector<JobId>&) override { done.push_back("changed"); }

  void do_posted() {
    for (const auto& task : std::exchange(posted, {})) task();
  }
  void sync(const Expected<void>& how) {
    for (const Promise& promise : std::exchange(promises, {})) promise(how);
  }
  std::vector<std::string> take() { return std::exchange(done, {}); }

  std::vector<std::string> done;
  std::vector<std::function<void()>> posted;
  std::vector<Promise> promises;
  std::map<Alarm, Duration> alarms;
  Instant time = kStart + seconds(100);
  Trace found = Trace::None;
  bool fails_to_launch = false;
};

class ConductorTest : public testing::Test {
 protected:
  void SetUp() override { open(&record_); }
  void open(Eyes* eyes, const Rules& rules = {}) {
    reopen(eyes, rules);
    EXPECT_THAT(conductor_->recover(), ElementsAre("swept"));
    conductor_->turn();
    record_.take();
  }
  /// As far as before the recovery.
  void reopen(Eyes* eyes, const Rules& rules = {}) {
    conductor_.reset();
    keeper_.reset();
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n", .gpus = 1, .vram = Bytes(std::int64_t{24} << 30)});
    auto keeper = Keeper::open(host_, {.path = folder_ / "journal.db"}, cluster, rules);
    ASSERT_TRUE(keeper) << keeper.error().message;
    keeper_.emplace(std::move(*keeper));
    conductor_.emplace(*keeper_, live::Setup{.problems = {""}},
                       Hands{.executor = record_,
                             .eyes = eyes,
                             .clock = record_,
                             .alarms = record_,
                             .syncs = record_,
                             .audience = record_});
  }

  /// A job of one GPU that runs this program, or an array.
  void submit(const std::string& program, std::int64_t tasks = 0, Conditions asked = {},
              UserId user = UserId(1)) {
    Submission job;
    for (std::int64_t task = 0; task < tasks; ++task) job.tasks.push_back(task);
    job.spec.user = user;
    job.spec.conditions = std::move(asked);
    job.spec.request.gpu = {.count = GpuCount(1), .sharing = Sharing::Alone};
    job.command.arguments = {program};
    job.environment = encode_environment({});
    conductor_->ask({.user = user,
                     .submission = std::move(job),
                     .inputs = {},
                     .answer = [this](JobId id) -> Send {
                       record_.done.push_back("answer");
                       id_ = id;
                       return [this] { record_.done.push_back("send"); };
                     },
                     .fail =
                         [this](Setback setback, const Error& error) {
                           setback_ = setback;
                           error_ = error.message;
                         }});
  }
  /// A look that begins now and shows nothing.
  void look() {
    record_.time += Duration(1);
    conductor_->on_look({.gpu = GpuId(0),
                         .began = record_.time,
                         .sample = Sample{.total = Bytes(std::int64_t{24} << 30),
                                          .processes = std::vector<GpuProcess>()},
                         .owners = {}});
  }

  test::Host host_;
  const test::ScratchFolder folder_;
  Record record_;
  std::optional<Keeper> keeper_;
  std::optional<Conductor> conductor_;
  JobId id_;
  std::optional<Setback> setback_;
  std::string error_;
};

/// No step takes more of it than a few milliseconds.
TEST_F(ConductorTest, ALargeArrayComesInSeveralStepsAndOthersGoBetween) {
  open(nullptr);
  submit("task", 600);
  submit("other");
  conductor_->turn();
  EXPECT_EQ(keeper_->engine().view().job_count(), kMostInStep);
  EXPECT_EQ(id_, JobId()) << "nobody is answered yet";
  conductor_->turn();
  EXPECT_EQ(id_, JobId(601));
  for (int turn = 0; turn < 4; ++turn) conductor_->turn();
  EXPECT_EQ(id_, JobId(1));
  const ClusterView view = keeper_->engine().view();
  EXPECT_EQ(view.job_count(), 601U);
  EXPECT_EQ(view.find(JobId(600))->spec.conditions->array,
            (ArrayPlace{.first = JobId(1), .task = 599, .tasks = 600}));
}

/// Each of its jobs has a list of those that it waits for.
TEST_F(ConductorTest, OfAnArrayThatWaitsForThousandsAStepTakesFewJobs) {
  open(nullptr);
  std::vector<Dependency> after;
  for (std::uint64_t job = 1; job <= 300; ++job) after.push_back({.job = JobId(job)});
  submit("task", 300);
  for (int turn = 0; turn < 3; ++turn) conductor_->turn();
  ASSERT_EQ(id_, JobId(1));
  submit("next", 30, {.after = after});
  conductor_->turn();
  const std::size_t came = keeper_->engine().view().job_count() - 300;
  EXPECT_EQ(came, kMostInStep / (1 + 300 / kDependenciesAsAJob));
  conductor_->turn();
  EXPECT_EQ(keeper_->engine().view().job_count(), 300 + 2 * came);
  conductor_->turn();
  EXPECT_EQ(id_, JobId(301));
  EXPECT_EQ(keeper_->engine().view().find(JobId(330))->spec.conditions->after, after);
}

/// However much one of them asks for.
TEST_F(ConductorTest, UsersHaveTheirTurns) {
  open(nullptr);
  for (int i = 0; i < 20; ++i) submit("task", 100);
  submit("other", 0, {}, UserId(2));
  conductor_->turn();
  EXPECT_EQ(id_, JobId(101)) << "the step took an array and this";
  EXPECT_EQ(keeper_->engine().view().job_count(), 101U);
}

TEST_F(ConductorTest, AnArrayThatACrashCutOffIsCancelled) {
  open(nullptr);
  submit("task", 600);
  conductor_->turn();
  reopen(nullptr);
  EXPECT_THAT(conductor_->recover(),
              testing::Contains("array 1: berthd ended before all of its jobs were taken in; the "
                                "128 that are left are cancelled"));
  conductor_->turn();
  EXPECT_EQ(keeper_->engine().view().job_count(), 1U) << "the one that had its place";
  EXPECT_TRUE(keeper_->engine().view().find(JobId(1))->ending);
  const auto row = keeper_->store().job(JobId(2));
  ASSERT_TRUE(row && *row && (*row)->end);
  EXPECT_EQ((*row)->end->note, "ended, because berthd ended before all of its array was taken in");
  submit("again");
  conductor_->turn();
  EXPECT_EQ(id_, JobId(601)) << "no number of the array is used again";
}

TEST_F(ConductorTest, ACancelThatACrashCutOffGoesOn) {
  open(nullptr);
  submit("task", 100);
  conductor_->turn();
  // The cancel was of 1, which has its place, to 99.
  std::vector<Input> holds;
  std::vector<JobId> jobs = {JobId(1)};
  for (std::uint64_t id = 2; id <= 99; ++id) {
    jobs.emplace_back(id);
    holds.emplace_back(HoldAsked{JobId(id)});
  }
  keeper_->note_for_good(JobId(99), wish_note("ada (uid 7)", jobs));
  conductor_->tell(holds);
  conductor_->turn();
  reopen(nullptr);
  EXPECT_THAT(conductor_->recover(),
              testing::Contains("berthd ended while ada (uid 7) cancelled jobs; the 99 that are "
                                "left are cancelled"));
  conductor_->turn();
  EXPECT_EQ(keeper_->engine().view().job_count(), 2U) << "the one that waits, and";
  EXPECT_TRUE(keeper_->engine().view().find(JobId(1))->ending);
  const auto row = keeper_->store().job(JobId(99));
  ASSERT_TRUE(row && *row && (*row)->end);
  EXPECT_EQ((*row)->end->note, "cancelled, because ada (uid 7) asked for that");
  conductor_->turn();
  EXPECT_TRUE(keeper_->cut_off_cancels().empty());
}

TEST_F(ConductorTest, LooksThenStartsAndAnswersWhenTheDiskHasIt) {
  submit("train");
  conductor_->turn();
  EXPECT_TRUE(conductor_->waits_for_look());
  EXPECT_THAT(record_.take(), IsEmpty());  // one is under way since the start
  look();
  conductor_->turn();
  EXPECT_FALSE(conductor_->waits_for_look());
  EXPECT_THAT(record_.take(), ElementsAre("answer", "launch train", "changed"));
  record_.sync({});
  EXPECT_THAT(record_.take(), ElementsAre("send"));
}

/// It may end well because it was told to: a berthd that forgot that would call it done.
TEST_F(ConductorTest, TellsAJobToEndWhenTheDiskHasThatItWasTo) {
  look();
  submit("train");
  conductor_->turn();
  conductor_->on_started(JobId(1), Attempt(1));
  conductor_->turn();
  record_.sync({});
  conductor_->tell({CancelAsked{.job = JobId(1)}});
  conductor_->turn();
  record_.take();
  record_.do_posted();
  EXPECT_THAT(record_.take(), IsEmpty());
  record_.sync({});
  record_.do_posted();
  EXPECT_THAT(record_.take(), ElementsAre("stop 1"));
}

TEST_F(ConductorTest, LooksSoonAfterAStartAndNotWhereNobodyIs) {
  look();
  conductor_->turn();
  EXPECT_FALSE(record_.alarms.contains(Alarm::Watch)) << "a quiet machine";
  submit("train");
  conductor_->turn();
  ASSERT_TRUE(record_.alarms.contains(Alarm::Watch));
  EXPECT_EQ(record_.alarms[Alarm::Watch], Duration(50'000));
  record_.take();
  record_.time += Duration(50'000);
  conductor_->on_alarm(Alarm::Watch);
  EXPECT_THAT(record_.take(), ElementsAre("look"));
}

TEST_F(ConductorTest, WithoutEyesStartsAndGivesBackAtOnce) {
  open(nullptr);
  submit("train");
  conductor_->turn();
  EXPECT_THAT(record_.take(), ElementsAre("answer", "launch train", "changed"));
  conductor_->on_started(id_, Attempt(1));
  conductor_->on_ended(id_, Attempt(1), {.outcome = Outcome::Done, .at = record_.time});
  conductor_->turn();
  EXPECT_FALSE(keeper_->engine().view().knows(id_));
}

TEST_F(ConductorTest, TellsJobsThatWaitWhatIsLearnedAtTheSameInstant) {
  open(nullptr, {.learn_run_times_after = 1});
  submit("train");
  conductor_->turn();
  const JobId first = id_;
  for (int more = 0; more < 2; ++more) submit("train");
  conductor_->turn();
  record_.time += seconds(9);
  conductor_->on_ended(first, Attempt(1), {.outcome = Outcome::Done, .at = record_.time});
  EXPECT_EQ(keeper_->engine().view().find(id_)->spec.estimate, kForever);
  conductor_->turn();
  EXPECT_EQ(keeper_->engine().view().find(id_)->spec.estimate, seconds(9));
  EXPECT_EQ(keeper_->last(), record_.time);
}

TEST_F(ConductorTest, RefusesJobsThatCouldNotBeWrittenToTheirEnd) {
  host_.free = Bytes(1);
  submit("train");
  conductor_->turn();
  EXPECT_THAT(record_.take(), IsEmpty());
  EXPECT_EQ(setback_, Setback::NothingChanged);
  EXPECT_THAT(error_, HasSubstr("jobs are taken in from"));
}

TEST_F(ConductorTest, SaysWhatMayBeLostAndEnds) {
  look();
  submit("train");
  conductor_->turn();
  record_.take();
  record_.sync(fail(ErrorCode::Io, "the disk is gone"));
  EXPECT_EQ(setback_, Setback::MayBeLost);
  EXPECT_THAT(record_.take(), IsEmpty());
  conductor_->on_sync_failed({ErrorCode::Io, "the disk is gone"});
  submit("more");
  conductor_->turn();
  EXPECT_THAT(record_.take(), IsEmpty());
  ASSERT_TRUE(conductor_->failure());
}

TEST_F(ConductorTest, TriesAStartThatFailedAgain) {
  record_.fails_to_launch = true;
  look();
  submit("train");
  conductor_->turn();
  EXPECT_THAT(keeper_->note_of(id_), HasSubstr("could not be started: no shim (try 1 of 24"));
  record_.fails_to_launch = false;
  record_.time += seconds(1);
  conductor_->on_alarm(Alarm::StartAgain);
  conductor_->turn();
  look();
  record_.take();
  conductor_->turn();
  EXPECT_THAT(record_.take(), ElementsAre("forget 1", "launch train", "changed"));
}

TEST_F(ConductorTest, RecoversWhatIsThere) {
  look();
  submit("train");
  conductor_->turn();
  conductor_->on_started(id_, Attempt(1));
  conductor_->turn();
  record_.found = Trace::Lives;
  open(&record_);
  conductor_->turn();
  EXPECT_EQ(keeper_->engine().view().find(id_)->state, JobState::Running);
  record_.found = Trace::None;
  open(&record_);
  conductor_->turn();
  EXPECT_EQ(keeper_->engine().view().find(id_)->state, JobState::Stopping);
  EXPECT_EQ(keeper_->note_of(id_), "its attempt file is gone");
}

TEST_F(ConductorTest, ForgetsAJobAfterItsLastStep) {
  look();
  submit("train");
  conductor_->turn();
  conductor_->on_started(id_, Attempt(1));
  conductor_->turn();
  record_.time += seconds(1);
  conductor_->on_ended(id_, Attempt(1),
                       {.outcome = Outcome::Failed, .code = 3, .at = record_.time});
  look();
  record_.take();
  conductor_->turn();
  EXPECT_FALSE(keeper_->engine().view().knows(id_));
  EXPECT_THAT(record_.take(), ElementsAre("changed"));
  record_.do_posted();
  EXPECT_THAT(record_.take(), ElementsAre("forget 1"));
}

}  // namespace
}  // namespace berth::live
