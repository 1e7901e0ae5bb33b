// Goal: a restored engine is the saved one, and bytes that no engine saved are refused.
//
// Method: random pasts under policies with and without a memory; then the bytes cut, turned, and
// parts of them replaced one by one so that they disagree with the rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "core/base/codec.hpp"
#include "engine/engine.hpp"
#include "engine/frame.hpp"
#include "engine/history.hpp"
#include "engine/journal.hpp"
#include "engine/rig.hpp"
#include "policy/registry.hpp"

namespace berth::test {
namespace {

std::unique_ptr<Policy> fifo() { return std::move(*make_policy("fifo-skip", "first-fit")); }

// ---- Saved and restored ----------------------------------------------------------------------

class Snapshots : public testing::TestWithParam<std::string_view> {};

TEST_P(Snapshots, AreTheSameAfterARestore) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    History history(GetParam(), seed);
    for (int part = 0; part < 8; ++part) {
      history.go_on(15);
      const std::string bytes = history.engine().save();
      const auto restored = Engine::restore(bytes, history.fresh_policy());
      ASSERT_TRUE(restored.has_value()) << seed << ": " << restored.error().message;
      ASSERT_EQ(restored->save(), bytes) << seed;
      ASSERT_EQ(restored->check(), std::nullopt) << seed;
      ASSERT_EQ(restored->now(), history.now()) << seed;
    }
  }
}

TEST_P(Snapshots, GoOnAsTheSavedEngineWould) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    History history(GetParam(), seed);
    history.go_on(60);
    auto restored = Engine::restore(history.engine().save(), history.fresh_policy());
    ASSERT_TRUE(restored.has_value()) << seed;
    for (int step = 0; step < 40; ++step) {
      const std::vector<Input> inputs = history.next();
      const Effects& got = restored->step(history.now(), inputs);
      const Effects& wanted = history.step(inputs);
      ASSERT_EQ(encode_decisions(got.decisions), encode_decisions(wanted.decisions)) << seed;
      ASSERT_EQ(got.wake_at, wanted.wake_at) << seed;
      ASSERT_EQ(got.list.size(), wanted.list.size()) << seed;
    }
    ASSERT_EQ(restored->save(), history.engine().save()) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Policies, Snapshots,
    testing::Values("fifo-skip", "easy", "srtf", "las", "fair-share", "tiresias/shortest",
                    "tiresias/dlas-gpu:promote=2", "gavel/isolated"),
    [](const auto& test) {
      std::string name(test.param);
      std::ranges::replace_if(
          name, [](char c) { return c == '-' || c == '/' || c == ':' || c == '='; }, '_');
      return name;
    });

TEST(Snapshot, HoldsAnEmptyEngine) {
  const Engine engine(Cluster(), {}, fifo());
  const auto restored = Engine::restore(engine.save(), fifo());
  ASSERT_TRUE(restored.has_value()) << restored.error().message;
  EXPECT_EQ(restored->save(), engine.save());
}

TEST(Snapshot, HoldsEverySettingAndTheSeed) {
  Settings settings;
  settings.admission = {
      .mode = AdmissionMode::Declared, .guard_floor = Bytes(5), .guard_ppm = 30'000};
  settings.limits = {.gpus = GpuCount(3), .jobs = 2};
  settings.user_limits[UserId(7)] = {.gpus = GpuCount(1), .jobs = 4};
  settings.service_half_life = kForever;
  settings.max_failed_starts = 7;
  settings.own_priority = true;
  const Engine engine(Cluster(), {.settings = settings, .seed = 99}, fifo());
  const auto restored = Engine::restore(engine.save(), fifo());
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->view().settings(), settings);
  EXPECT_EQ(restored->view().rng().next(), engine.view().rng().next());
}

TEST(Snapshot, HoldsEveryTypeOfGpu) {
  Cluster cluster;
  cluster.add_switch();
  for (int type = 0; type < 64; ++type) {
    cluster.add_node({.name = "n", .gpus = 1, .type = "type " + std::to_string(type)});
  }
  cluster.add_node({.name = "n", .gpus = 1, .type = "type 0"});
  const Engine engine(std::move(cluster), {}, fifo());
  const auto restored = Engine::restore(engine.save(), fifo());
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->view().cluster(), engine.view().cluster());
}

TEST(Snapshot, HoldsTheRunsOfAUsersPrograms) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = 1});
  Engine engine(cluster, {}, fifo());
  JobSpec spec{.user = UserId(7)};
  spec.request.gpu.count = GpuCount(1);
  engine.step(kStart, std::vector<Input>{Submitted{.job = JobId(1), .spec = spec},
                                         Identified{JobId(1), Fingerprint(9)}});
  engine.step(kStart + seconds(5),
              std::vector<Input>{Exited{JobId(1), Attempt(1)}, Released{JobId(1), Attempt(1)}});
  const auto restored = Engine::restore(engine.save(), fifo());
  ASSERT_TRUE(restored.has_value()) << restored.error().message;
  const auto runs = restored->view().past_runs().of(UserId(7), Fingerprint(9));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs.front(), (PastRun{GpuCount(1), seconds(5)}));
}

TEST(Snapshot, HoldsTheBoundsOfPreemption) {
  const EngineOptions options{.bounds = {.most = 7, .lost = minutes(2)}};
  Engine engine(Cluster(), options, fifo());
  auto restored = Engine::restore(engine.save(), fifo());
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->view().preemption_bounds(), options.bounds);
  restored->step(kStart, std::vector<Input>{Bounded{{.most = -1, .lost = minutes(9)}}});
  EXPECT_EQ(restored->view().preemption_bounds(), options.bounds)
      << "senseless ones change nothing";
  restored->step(kStart, std::vector<Input>{Bounded{{.most = 0, .lost = minutes(9)}}});
  EXPECT_EQ(restored->view().preemption_bounds().lost, minutes(9));
}

// ---- Damage ----------------------------------------------------------------------------------

std::set<JobState> states_of(const Engine& engine) {
  std::set<JobState> states;
  engine.view().for_each_job([&](const Job& job) { states.insert(job.state); });
  return states;
}

/// An engine with a job in every state.
Engine rich_engine() {
  for (std::uint64_t seed = 1;; ++seed) {
    History history("srtf", seed);
    history.go_on(89);
    auto engine = Engine::restore(history.engine().save(), history.fresh_policy());
    EXPECT_TRUE(engine.has_value());
    if (states_of(*engine).size() == static_cast<std::size_t>(last_of(JobState{})) + 1) {
      return std::move(*engine);
    }
  }
}
std::string rich_snapshot() { return rich_engine().save(); }

/// Restores and goes on, or refuses; never anything else.
void expect_refused_or_sound(const std::string& bytes) {
  auto engine = Engine::restore(bytes, fifo());
  if (!engine) {
    EXPECT_EQ(engine.error().code, ErrorCode::BadData);
    return;
  }
  const std::string saved = engine->save();
  EXPECT_EQ(engine->check(), std::nullopt);
  EXPECT_TRUE(Engine::restore(saved, fifo()).has_value());
  engine->step(engine->now() + seconds(1), std::vector<Input>{Ticked{}});
  EXPECT_EQ(engine->check(), std::nullopt);
}

TEST(SnapshotDamage, EveryPrefixIsRefused) {
  const std::string bytes = rich_snapshot();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto engine = Engine::restore(std::string_view(bytes).substr(0, size), fifo());
    ASSERT_FALSE(engine.has_value()) << size;
    ASSERT_EQ(engine.error().code, ErrorCode::BadData) << size;
  }
}

TEST(SnapshotDamage, AByteTooManyIsRefused) {
  EXPECT_EQ(Engine::restore(rich_snapshot() + '\0', fifo()).error().message, "snapshot: cut short");
}

TEST(SnapshotDamage, AnotherLayoutIsRefused) {
  std::string bytes = rich_snapshot();
  for (const int layout : {kOldestLayout - 1, kLayout + 1}) {
    bytes[0] = static_cast<char>(2 * layout);
    const auto restored = Engine::restore(bytes, fifo());
    ASSERT_FALSE(restored.has_value());
    EXPECT_EQ(restored.error().message, "snapshot: layout " + std::to_string(layout) +
                                            ", this berth reads " + std::to_string(kLayout));
  }
}

TEST(SnapshotDamage, ATurnedBitInEveryByteIsRefusedOrSound) {
  const std::string whole = rich_snapshot();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
    expect_refused_or_sound(bytes);
  }
}

TEST(SnapshotDamage, RandomBytesAreRefusedOrSound) {
  const std::string whole = rich_snapshot();
  Rng rng(1);
  for (int round = 0; round < 5'000; ++round) {
    std::string bytes = whole;
    for (std::int64_t left = rng.between(1, 3); left > 0; --left) {
      const auto at = static_cast<std::size_t>(rng.between(1, std::ssize(bytes) - 1));
      bytes[at] = static_cast<char>(rng.between(0, 127));
    }
    expect_refused_or_sound(bytes);
  }
}

// ---- Parts that disagree ---------------------------------------------------------------------

struct Disagreement {
  const char* name;
  std::function<void(Frame&)> tamper;
  const char* fault;
};
void PrintTo(const Disagreement& disagreement, std::ostream* out) { *out << disagreement.name; }

/// Two nodes of two GPUs; job 1 runs on two, job 2 waits with a place kept, job 3 is held.
Frame small_frame() {
  Cluster cluster;
  cluster.add_switch();
  for (int n = 0; n < 2; ++n) {
    cluster.add_node({.name = "n", .gpus = 2, .vram = Bytes(std::int64_t{24} << 30)});
  }
  Engine engine(std::move(cluster), {}, std::move(*make_policy("easy", "first-fit")));
  JobSpec spec{.user = UserId(7)};
  spec.request.gpu.count = GpuCount(2);
  JobSpec large = spec;
  large.request.gpu.count = GpuCount(4);
  engine.step(kStart + seconds(5),
              std::vector<Input>{Submitted{.job = JobId(1), .spec = spec},
                                 Submitted{.job = JobId(2), .spec = large},
                                 Submitted{.job = JobId(3), .spec = spec, .held = true}});
  const std::string bytes = engine.save();
  ByteReader in(bytes);
  in.integer();
  Frame frame;
  codec::get(in, frame);
  EXPECT_TRUE(in.at_end() && !in.failed());
  EXPECT_EQ(frame.jobs.size(), 3U);
  EXPECT_EQ(frame.holds.size(), 1U);
  return frame;
}

std::string bytes_of(const Frame& frame) {
  ByteWriter out;
  out.integer(kLayout);
  codec::put(out, frame);
  return out.take();
}

Expected<Engine> restore(const Frame& frame) {
  return Engine::restore(bytes_of(frame), std::move(*make_policy("easy", "first-fit")));
}

constexpr std::int64_t kHuge = std::int64_t{1} << 61;

const Disagreement kDisagreements[] = {
    {"fewer_gpus", [](Frame& f) { f.gpus.pop_back(); }, "figures of other GPUs"},
    {"fewer_nodes", [](Frame& f) { f.nodes.pop_back(); }, "health of other nodes"},
    {"no_switch", [](Frame& f) { f.cluster[0].new_switch = false; }, "a node of no switch"},
    {"huge_gpu", [](Frame& f) { f.cluster[0].shape.vram = Bytes(kHuge); }, "a node"},
    {"huge_gpus", [](Frame& f) { f.cluster[0].shape.gpus = ~0U; }, "a node"},
    {"shape_of_no_gpus",
     [](Frame& f) {
       f.cluster.push_back({false, {.name = "x", .vram = Bytes(1)}});
       f.nodes.push_back(1);
     },
     "a node"},
    {"link_to_no_gpu", [](Frame& f) { f.cluster[0].shape.links = {{.one = 0, .other = 9}}; },
     "a node"},
    {"link_twice",
     [](Frame& f) { f.cluster[0].shape.links = {{.one = 0, .other = 1}, {.one = 0, .other = 1}}; },
     "a node"},
    {"charged_gpu", [](Frame& f) { f.gpus[0].charged = Bytes(1); }, "a GPU's use"},
    {"tenants", [](Frame& f) { f.gpus[0].tenants = 1; }, "a GPU's use"},
    {"negative_use", [](Frame& f) { f.gpus[0].used = Bytes(-1); }, "a GPU's use"},
    {"utilisation", [](Frame& f) { f.gpus[0].utilisation = 101; }, "a GPU's use"},
    {"node_health", [](Frame& f) { f.nodes[0] = 2; }, "the health of a node"},
    {"time", [](Frame& f) { f.now = kNever; }, "the time"},
    {"drained_gpu", [](Frame& f) { f.drains[GpuId(99)] = {}; }, "a drained GPU"},
    {"reservation", [](Frame& f) { f.calendar[ReservationId(1)] = {}; }, "a reservation"},
    {"past_reservation",
     [](Frame& f) { f.past_terms.calendar[ReservationId(1)] = {.gpus = {GpuId(0)}}; },
     "a past reservation"},
    {"gpu_drained_once", [](Frame& f) { f.past_terms.drains[GpuId(99)] = {}; },
     "a GPU drained once"},
    {"waits_for_nothing", [](Frame& f) { f.jobs[2].state = JobState::Deferred; },
     "job 3: what it waits for"},
    {"waits_for_a_later_job",
     [](Frame& f) { f.jobs[2].spec.conditions = Conditions{.after = {{.job = JobId(9)}}}; },
     "job 3: what it waits for"},
    {"negative_array",
     [](Frame& f) { f.jobs[2].spec.conditions = Conditions{.array = {.at_once = -1}}; },
     "job 3: has no place in an array that could be"},
    {"no_such_signal",
     [](Frame& f) { f.jobs[2].spec.conditions = Conditions{.on_preempt = {.signal = 65}}; },
     "job 3: saves its state at a signal, or for a time, that there is not"},
    {"begins_after_all_time",
     [](Frame& f) {
       f.jobs[2].spec.conditions = Conditions{.begin = limits::kLastInstant + Duration(1)};
     },
     "job 3: begins at 7258118400.000001, the last is 7258118400 (2200-01-01)"},
    {"negative_limit_of_a_user", [](Frame& f) { f.settings.user_limits[UserId(7)].jobs = -1; },
     "the settings"},
    {"no_half_life", [](Frame& f) { f.settings.service_half_life = Duration(0); }, "the settings"},
    {"guard", [](Frame& f) { f.settings.admission.guard_ppm = -1; }, "the settings"},
    {"weight", [](Frame& f) { f.accounts[UserId(7)].weight_milli = 0; }, "an account"},
    {"account_of_the_future", [](Frame& f) { f.accounts[UserId(7)].as_of = kStart + hours(1); },
     "an account"},
    {"account", [](Frame& f) { f.accounts[UserId(7)].gpus = GpuCount(1); },
     "user 7: the account is not the sum of its jobs"},
    {"share", [](Frame& f) { f.accounts[UserId(7)].share_ppb = 1; },
     "user 7: the share is not that of the account"},
    {"jobs_of_the_account", [](Frame& f) { f.accounts[UserId(7)].jobs = 2; },
     "user 7: the account is not the sum of its jobs"},
    {"no_account", [](Frame& f) { f.accounts.clear(); },
     "user 7: holds a berth without an account"},
    {"order_of_jobs", [](Frame& f) { std::swap(f.jobs[0], f.jobs[1]); }, "job 1 out of order"},
    {"job_twice", [](Frame& f) { f.jobs[1].id = JobId(1); }, "job 1 out of order"},
    {"job_0", [](Frame& f) { f.jobs[0].id = JobId(0); }, "job 0 out of order"},
    {"huge_number", [](Frame& f) { f.jobs[2].id = JobId(kHuge); },
     "job 2305843009213693952 out of order"},
    {"impossible", [](Frame& f) { f.jobs[1].spec.request.gpu.count = GpuCount(5); },
     "job 2: its request"},
    {"future", [](Frame& f) { f.jobs[1].since = kStart + hours(1); }, "job 2: its counts or times"},
    {"negative_time", [](Frame& f) { f.jobs[0].ran = Duration(-1); }, "job 1: its counts or times"},
    {"negative_limit", [](Frame& f) { f.jobs[0].spec.time_limit = Duration(-1); },
     "job 1: its amounts"},
    {"ending_without_stopping", [](Frame& f) { f.jobs[0].ending = true; },
     "job 1: its counts or times"},
    {"next_state", [](Frame& f) { f.jobs[0].after_stop = JobState::Running; },
     "job 1: its counts or times"},
    {"grant_of_a_waiting_job", [](Frame& f) { f.jobs[1].grant = f.jobs[0].grant; },
     "job 2: its grant"},
    {"berth_without_grant", [](Frame& f) { f.jobs[0].grant = {}; }, "job 1: its grant"},
    {"half_a_gang", [](Frame& f) { f.jobs[0].grant.shares.pop_back(); }, "job 1: its grant"},
    {"gpu_twice", [](Frame& f) { f.jobs[0].grant.shares[1].gpu = GpuId(0); }, "job 1: its grant"},
    {"unknown_gpu", [](Frame& f) { f.jobs[0].grant.shares[1].gpu = GpuId(4); }, "job 1: its grant"},
    {"other_host", [](Frame& f) { f.jobs[0].grant.host = NodeId(1); }, "job 1: its grant"},
    {"unknown_host", [](Frame& f) { f.jobs[0].grant.host = NodeId(2); }, "job 1: its grant"},
    {"other_cores", [](Frame& f) { f.jobs[0].grant.cpu = CpuMilli(1); }, "job 1: its grant"},
    {"negative_charge", [](Frame& f) { f.jobs[0].grant.shares[0].charge = Bytes(-1); },
     "job 1: its grant"},
    {"granted_more", [](Frame& f) { f.jobs[0].grant.shares[0].granted += Bytes(1); },
     "job 1: its grant"},
    {"huge_charge", [](Frame& f) { f.jobs[0].grant.shares[0].charge = Bytes(kHuge); },
     "job 1: its grant"},
    {"hold_of_nobody", [](Frame& f) { f.holds[0].job = JobId(99); }, "a place kept"},
    {"hold_of_a_running_job", [](Frame& f) { f.holds[0].job = JobId(1); }, "a place kept"},
    {"fingerprint_of_nobody", [](Frame& f) { f.company.jobs = {{JobId(9), Fingerprint(1)}}; },
     "a job's fingerprint"},
    {"company_of_nobody", [](Frame& f) { f.company.meetings[JobId(9)] = {}; }, "a job's company"},
    {"negative_meeting",
     [](Frame& f) { f.company.meetings[JobId(1)] = {{Fingerprint(1), Duration(-1)}}; },
     "a job's company"},
    {"lesson", [](Frame& f) { f.company.lessons[Fingerprint(1)].alone = Duration(-1); },
     "a lesson"},
    {"pair", [](Frame& f) { f.company.lessons[Fingerprint(1)].beside[Fingerprint(2)].ppm = -1; },
     "a lesson"},
    {"spread_of_a_pair",
     [](Frame& f) { f.company.lessons[Fingerprint(1)].beside[Fingerprint(2)].spread = -1; },
     "a lesson"},
    {"busier_than_always", [](Frame& f) { f.company.lessons[Fingerprint(1)].busy = 101; },
     "a lesson"},
    {"neighbours_of_nobody", [](Frame& f) { f.company.stints[JobId(9)] = {}; },
     "a job's neighbours"},
    {"neighbours_of_the_future",
     [](Frame& f) { f.company.stints[JobId(1)].since = kStart + hours(1); }, "a job's neighbours"},
    {"negative_progress", [](Frame& f) { f.company.stints[JobId(1)].alone.done = -1; },
     "a job's neighbours"},
    {"no_such_duty", [](Frame& f) { f.company.by_duty[{5, 0}] = {}; }, "a speed by duty"},
    {"past_run",
     [](Frame& f) {
       f.past_runs[UserId(7)][Fingerprint(1)] = {.latest = 1,
                                                 .runs = {{GpuCount(1), Duration(-1)}}};
     },
     "a past run"},
    {"program_without_runs", [](Frame& f) { f.past_runs[UserId(7)][Fingerprint(1)] = {}; },
     "the past runs"},
    {"hold_of_another_size", [](Frame& f) { f.holds[0].placement.gpus.pop_back(); },
     "a place kept"},
};

class Disagreements : public testing::TestWithParam<Disagreement> {};

TEST_P(Disagreements, AreNamed) {
  Frame frame = small_frame();
  ASSERT_TRUE(restore(frame).has_value()) << restore(frame).error().message;
  GetParam().tamper(frame);
  const auto engine = restore(frame);
  ASSERT_FALSE(engine.has_value());
  EXPECT_EQ(engine.error().code, ErrorCode::BadData);
  EXPECT_EQ(engine.error().message,
            std::string("snapshot: its parts disagree: ") + GetParam().fault);
}

/// A fault of one job takes that job alone along.
TEST_P(Disagreements, OfOneJobKeepTheRest) {
  Frame frame = small_frame();
  GetParam().tamper(frame);
  const auto salvaged =
      Engine::salvage(bytes_of(frame), std::move(*make_policy("easy", "first-fit")));
  const std::string fault = GetParam().fault;
  if (!fault.starts_with("job ")) {
    EXPECT_FALSE(salvaged.has_value());
    return;
  }
  ASSERT_TRUE(salvaged.has_value()) << salvaged.error().message;
  ASSERT_EQ(salvaged->aside.size(), 1U);
  EXPECT_FALSE(salvaged->aside[0].why.empty());
  EXPECT_EQ(salvaged->engine.view().job_count(), 2U);
  EXPECT_EQ(salvaged->engine.check(), std::nullopt);
  const std::string saved = salvaged->engine.save();
  EXPECT_TRUE(Engine::restore_state(saved, fifo()).has_value());
}

INSTANTIATE_TEST_SUITE_P(Snapshot, Disagreements, testing::ValuesIn(kDisagreements),
                         [](const auto& test) { return test.param.name; });

/// Those that wait for a job which is put aside: as after one that was lost.
TEST(SnapshotDamage, WhoWaitsForAJobThatIsPutAsideHearsThatItIsLost) {
  Frame frame = small_frame();
  Job bad = frame.jobs[2];
  bad.spec.conditions = Conditions{.begin = kNever};
  frame.jobs[2] = bad;
  for (const After when : {After::Any, After::Ok, After::NotOk}) {
    Job follower = bad;
    follower.id = JobId(frame.jobs.back().id.value() + 1);
    follower.state = JobState::Deferred;
    follower.spec.conditions = Conditions{.after = {{.job = JobId(3), .when = when}}};
    frame.jobs.push_back(follower);
  }
  auto salvaged = Engine::salvage(bytes_of(frame), fifo());
  ASSERT_TRUE(salvaged.has_value()) << salvaged.error().message;
  ASSERT_EQ(salvaged->aside.size(), 2U);
  EXPECT_EQ(salvaged->aside[0].job.id, JobId(3));
  EXPECT_EQ(salvaged->aside[1].job.id, JobId(5));
  EXPECT_EQ(salvaged->aside[1].why, "it waits for job 3, which is put aside");
  const ClusterView view = salvaged->engine.view();
  EXPECT_EQ(view.find(JobId(4))->state, JobState::Queued);
  EXPECT_EQ(view.find(JobId(6))->state, JobState::Queued);
}

/// One of an array was lost; the others have only to end.
TEST(SnapshotDamage, OfAnArrayOneThatIsPutAsideIsOneThatDidNotEndWell) {
  Frame frame = small_frame();
  Job bad = frame.jobs[2];
  bad.spec.conditions = Conditions{.begin = kNever};
  frame.jobs[2] = bad;
  Job follower = bad;
  follower.id = JobId(frame.jobs.back().id.value() + 1);
  follower.state = JobState::Deferred;
  follower.spec.conditions =
      Conditions{.after = {{.job = JobId(2), .when = After::NotOk, .array = JobId(2)},
                           {.job = JobId(3), .when = After::NotOk, .array = JobId(2)}}};
  frame.jobs.push_back(follower);
  auto salvaged = Engine::salvage(bytes_of(frame), fifo());
  ASSERT_TRUE(salvaged.has_value()) << salvaged.error().message;
  const std::vector<Dependency> left = {{.job = JobId(2), .when = After::Any, .array = JobId(2)}};
  EXPECT_EQ(salvaged->engine.view().find(follower.id)->spec.conditions->after, left);
}

}  // namespace
}  // namespace berth::test
