// Goal: whatever the parser of requests lets in survives a stop and a start, whatever is beyond is
// refused with the key and the limit, and no request keeps others waiting. Method: each key at both
// ends of its range and beyond, through the engine, its snapshot and a journal; then all of them
// through one real berthd that is stopped and started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/limits.hpp"
#include "core/text/job_fields.hpp"
#include "daemon/requests/admit.hpp"
#include "daemon/requests/requests.hpp"
#include "daemon/rig.hpp"
#include "live/host.hpp"
#include "policy/registry.hpp"

namespace berth::daemon {
namespace {

using test::Json;
using test::Rig;
using testing::HasSubstr;

const http::Peer kSomebody{.pid = 7, .user = 1000, .group = 100, .groups = {100, 27}};
constexpr Bytes kLarge{std::int64_t{1} << 51};

Json smallest_job() {
  return {{"command", {"true"}}, {"directory", "/"}, {"environment", Json::array()}};
}

Json job_with(const std::string& key, const Json& value) {
  Json json = smallest_job();
  json[key] = value;
  if (key == "warning_seconds") json["warning_signal"] = "USR1";
  if (key == "warning_signal" || key == "warning_seconds") {
    json["time_limit_seconds"] = limits::kLongestTime / seconds(1);
  }
  if (key == "min_gpus") json["gpus"] = value;
  if (key == "batch") json["model"] = "resnet50";
  if (key == "gpu_processes") json["vram_bytes"] = 1 << 20;
  if (key == "notify_on") json["notify"] = "ann@example.org";
  return json;
}

/// Large enough for the most that may be asked for.
Cluster large_cluster() {
  Cluster cluster;
  cluster.add_switch();
  for (int n = 0; n < 4; ++n) {
    cluster.add_node({.name = "n" + std::to_string(n),
                      .gpus = limits::kMostGpusOfNode,
                      .vram = Bytes(std::int64_t{24} << 30),
                      .context = Bytes(1 << 20),
                      .cpu = limits::kMostCores,
                      .host = kLarge});
  }
  cluster.add_node({.name = "large",
                    .gpus = 1,
                    .vram = kLarge,
                    .context = Bytes(1 << 20),
                    .cpu = limits::kMostCores,
                    .host = kLarge});
  return cluster;
}

std::string long_text(std::size_t size) { return std::string(size, 'x'); }
Json many_of(std::size_t count, const Json& one) {
  Json list = Json::array();
  for (std::size_t i = 0; i < count; ++i) list.push_back(one);
  return list;
}
Json first_indices(std::int64_t count) {
  Json list = Json::array();
  for (std::int64_t i = 0; i < count; ++i) list.push_back(i);
  return list;
}
Json codes_up_to(std::size_t count) {
  Json list = Json::array();
  for (std::size_t i = 0; i < count; ++i) list.push_back(255 - i);
  return list;
}
/// The ends of a field that is a number, as requests state it.
struct NumberRange {
  std::string key;
  double least = 0;
  double most = 0;
  bool is_whole = false;
};
std::vector<NumberRange> number_ranges() {
  std::vector<NumberRange> ranges;
  for (const JobField& field : kJobFields) {
    const auto one = static_cast<double>(counted_of_one(field.kind));
    const bool is_whole = field.kind == FieldKind::Count || field.kind == FieldKind::Size;
    if (!is_whole && one == 1) continue;
    ranges.push_back({.key = std::string(field.name),
                      .least = static_cast<double>(field.range.least) / one,
                      .most = static_cast<double>(field.range.most) / one,
                      .is_whole = is_whole});
  }
  return ranges;
}
Json number_of(const NumberRange& range, double value) {
  return range.is_whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

struct Ends {
  std::string key;
  std::vector<Json> taken;
  std::vector<Json> refused;
};

/// Every key that a submission may have, at its ends and beyond; those with numbers come from the
/// table of fields.
std::vector<Ends> all_ends() {
  std::vector<Ends> all;
  for (const NumberRange& range : number_ranges()) {
    const bool is_before_limit = range.key == "warning_seconds";
    const double top = is_before_limit ? range.most - 1 : range.most;
    const double step = range.is_whole ? 1 : std::max(1e-3, range.most * 1e-9);
    std::vector<Json> beyond = {number_of(range, range.most + step), number_of(range, -1), 1e300};
    if (range.least > 0) beyond.push_back(number_of(range, range.is_whole ? range.least - 1 : 0));
    all.push_back({range.key, {number_of(range, range.least), number_of(range, top)}, beyond});
  }
  const Json task = {{"job", 1}, {"when", "after-any"}};
  const std::vector<Ends> others = {
      {"name", {"", long_text(limits::kMostName)}, {long_text(limits::kMostName + 1)}},
      {"job_group", {"", long_text(limits::kMostLabel)}, {long_text(limits::kMostLabel + 1)}},
      {"model", {"", long_text(limits::kMostLabel)}, {long_text(limits::kMostLabel + 1)}},
      {"comment", {"", long_text(limits::kMostComment)}, {long_text(limits::kMostComment + 1)}},
      {"unique", {"a", long_text(limits::kMostUnique)}, {long_text(limits::kMostUnique + 1)}},
      {"directory",
       {"/", "/" + long_text(limits::kMostPath - 1)},
       {"/" + long_text(limits::kMostPath), "x"}},
      {"output", {"o", long_text(limits::kMostPath)}, {long_text(limits::kMostPath + 1)}},
      {"notify", {"a@b", long_text(limits::kMostPath)}, {long_text(limits::kMostPath + 1)}},
      {"notify_on", {"start", "start,end,fail,idle"}, {"", "never"}},
      {"command",
       {{"x"}, {long_text(limits::kMostWord)}, many_of(1000, "x")},
       {Json::array(), {long_text(limits::kMostWord + 1)}}},
      {"environment",
       {Json::array(),
        {"A=" + long_text(limits::kMostWord - 2)},
        many_of(limits::kMostVariables, "A=")},
       {{"A=" + long_text(limits::kMostWord)},
        {"=x"},
        many_of(limits::kMostVariables + 1, "A="),
        many_of(17, "A=" + long_text(limits::kMostWord - 2))}},
      {"program_words",
       {Json::array(), {long_text(limits::kMostProgramWords - 1)}},
       {{long_text(limits::kMostProgramWords)}, {1}}},
      {"requeue_on",
       {{1}, {255, "gpu-failure"}, codes_up_to(limits::kMostCodes)},
       {{0}, {256}, Json::array(), codes_up_to(limits::kMostCodes + 1)}},
      {"on_preempt",
       {{{"signal", "HUP"}, {"grace_seconds", 1e-6}},
        {{"signal", "TERM"}, {"grace_seconds", 86400}}},
       {{{"signal", "KILL"}}, {{"signal", "USR1"}, {"grace_seconds", 86401}}}},
      {"warning_signal", {"HUP", "31"}, {"KILL", "64", "0"}},
      {"gpu_indices", {{0}, first_indices(64)}, {Json::array(), first_indices(65), {-1}, {9999}}},
      {"class", {"short", "service"}, {"huge"}},
      {"share",
       {"exclusive", "timeslice", "now", "patient", "timeslice,never"},
       {"mig:", "half", "", "now,", "now,never", "mps,timeslice"}},
      {"held", {false, true}, {1}},
      {"exclusive", {false, true}, {"yes"}},
      {"vram_shrink", {false, true}, {"yes"}},
      {"suspend", {false, true}, {"yes"}},
      {"after",
       {Json::array(), Json::array({task})},  // {task} is task itself where clang reads it
       {{{{"job", 0}}}, many_of(limits::kMostDependencies + 1, task)}},
      {"attach",
       {{{"socket", "/s"}, {"terminal", true}, {"rows", 0}, {"columns", 65535}},
        {{"socket", "/" + long_text(limits::kMostPath - 1)}, {"terminal", false}}},
       {{{"socket", "s"}, {"terminal", true}}, {{"socket", "/s"}, {"rows", 65536}}}},
      {"snapshot",
       {"/a/berth/snapshots/x"},
       {"/a/x", "/berth/snapshots/" + long_text(limits::kMostPath)}},
      {"array",
       {"0", "1000000000", "0-4095", "1-4096%4096", "0-3%1"},
       {"1000000001", "0-4096", "3-1", "", "0-3%0", "0-3%4097", "0,0"}},
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

/// A keeper on a journal of its own.
class DoorsTest : public testing::Test {
 protected:
  live::Keeper open() {
    auto keeper = live::Keeper::open(host_, {.path = folder_ / "journal.db"}, large_cluster(),
                                     {.policy = "fifo", .place = "first-fit"});
    if (!keeper) throw std::runtime_error(keeper.error().message);  // fails the test
    return std::move(*keeper);
  }
  /// It is taken in at this instant. Returns: its first job.
  static JobId submit(live::Keeper& keeper, live::Submission job) {
    if (auto done = accept_gpus(job, keeper.engine().view().cluster()); !done) {
      ADD_FAILURE() << done.error().message;
    }
    const auto stepped =
        keeper.step(keeper.last() + Duration(1), {.inputs = {}, .submissions = {std::move(job)}});
    EXPECT_TRUE(stepped) << stepped.error().message;
    return stepped ? stepped->submitted.front() : JobId(0);
  }
  /// Saved and restored it is the same.
  static void expect_kept(const Engine& engine, const std::string& what) {
    const std::string bytes = engine.save();
    const auto restored = Engine::restore(bytes, *make_policy("fifo", "first-fit"));
    ASSERT_TRUE(restored) << what << ": " << restored.error().message;
    EXPECT_TRUE(restored->save() == bytes) << what;
  }

  test::Host host_;
  const test::ScratchFolder folder_;
};

std::string told_of(const Expected<live::Submission>& job) {
  return job ? "taken" : job.error().message;
}

TEST_F(DoorsTest, EveryNumberAtBothEndsIsKeptAndBeyondRefused) {
  std::string state;
  std::vector<JobId> live;
  {
    live::Keeper keeper = open();
    for (const Ends& ends : all_ends()) {
      for (const Json& value : ends.refused) {
        auto job = parse_submission(job_with(ends.key, value).dump(), kSomebody);
        if (job) {  // an index beyond the machine is refused by the machine
          EXPECT_FALSE(accept_gpus(*job, keeper.engine().view().cluster()))
              << ends.key << ": " << value.dump().substr(0, 60);
          continue;
        }
        const std::string key = ends.key == "command" || ends.key == "environment" ? "" : ends.key;
        EXPECT_THAT(job.error().message, HasSubstr(key == "min_gpus" ? "gpus" : key));
      }
      for (const Json& value : ends.taken) {
        const std::string what = ends.key + ": " + value.dump().substr(0, 60);
        auto job = parse_submission(job_with(ends.key, value).dump(), kSomebody);
        ASSERT_TRUE(job) << what << ": " << told_of(job);
        EXPECT_EQ(live::decode_command(encode(job->command)).value(), job->command) << what;
        job->after.clear();  // found by its own search
        const JobId id = submit(keeper, *job);
        const auto row = keeper.store().job(id);
        ASSERT_TRUE(row && *row) << what;
        const bool is_rejected = (*row)->end && (*row)->end->outcome == Outcome::Rejected;
        EXPECT_FALSE(is_rejected) << what << ": " << (*row)->end->note;
        expect_kept(keeper.engine(), what);
        live.push_back(id);
      }
    }
    state = keeper.engine().save();
    ASSERT_TRUE(keeper.snapshot_at_end());
  }
  live::Keeper keeper = open();
  EXPECT_TRUE(keeper.engine().save() == state);
  EXPECT_TRUE(keeper.put_aside().empty());
  EXPECT_GT(live.size(), 60U);
}

/// All keys together, each at the same end.
TEST_F(DoorsTest, AllEndsTogetherAreKept) {
  live::Keeper keeper = open();
  for (const bool is_most : {false, true}) {
    Json json = smallest_job();
    json["model"] = "m";
    for (const NumberRange& range : number_ranges()) {
      json[range.key] = number_of(range, is_most ? range.most : range.least);
    }
    json["vram_bytes"] = is_most ? std::int64_t{16} << 30 : 1 << 20;  // on each of many
    json["gpu_processes"] = 1;
    json["gpus"] = is_most ? limits::kMostGpus : 1;
    json["min_gpus"] = 1;
    json["max_gpus"] = json["gpus"];
    json["warning_signal"] = "USR1";
    json["warning_seconds"] = 1;
    json["time_limit_seconds"] = limits::kLongestTime / seconds(1);
    json["on_preempt"] = {{"signal", "TERM"}, {"grace_seconds", 86400}};
    const auto job = parse_submission(json.dump(), kSomebody);
    ASSERT_TRUE(job) << told_of(job);
    submit(keeper, *job);
    expect_kept(keeper.engine(), is_most ? "most" : "least");
  }
}

/// What came another way is rejected by the engine, and never kept.
TEST_F(DoorsTest, TheEngineRefusesWhatASnapshotCannotHold) {
  live::Keeper keeper = open();
  for (const auto& spoil : std::vector<std::function<void(JobSpec&)>>{
           [](JobSpec& s) { s.conditions.edit().begin = limits::kLastInstant + Duration(1); },
           [](JobSpec& s) { s.conditions.edit().begin = kNever; },
           [](JobSpec& s) { s.conditions.edit().begin = kStart - Duration(1); },
           [](JobSpec& s) { s.conditions.edit().array.at_once = -1; },
           [](JobSpec& s) { s.conditions.edit().requeues = -1; },
           [](JobSpec& s) { s.conditions.edit().on_preempt = {.signal = 65}; },
           [](JobSpec& s) { s.conditions.edit().on_preempt = {.signal = 9, .grace = kForever}; }}) {
    live::Submission job = parse_submission(smallest_job().dump(), kSomebody).value();
    spoil(job.spec);
    const JobId id = submit(keeper, job);
    EXPECT_FALSE(keeper.engine().view().knows(id));
    const auto row = keeper.store().job(id);
    ASSERT_TRUE(row && *row && (*row)->end);
    EXPECT_EQ((*row)->end->outcome, Outcome::Rejected);
    expect_kept(keeper.engine(), (*row)->end->note);
  }
}

// ---- Through a real berthd -------------------------------------------------------------------

TEST(DoorsOfBerthd, AllThatIsTakenInIsThereAfterAStopAndAStart) {
  Rig rig;
  rig.start();
  std::vector<int> ids;
  for (const Ends& ends : all_ends()) {
    if (ends.key == "attach" || ends.key == "snapshot" || ends.key == "array") continue;
    for (const Json& value : ends.taken) {
      Json body = job_with(ends.key, value);
      body["held"] = true;
      body["umask"] = 022;
      const auto answer = rig.request("POST", "/v1/jobs", body);
      EXPECT_TRUE(answer.status == 201 || answer.status == 422 ||
                  (answer.status == 400 && ends.key == "gpu_indices"))
          << ends.key << ": " << answer.body;
      if (answer.status == 201) ids.push_back(answer.body["id"]);
    }
  }
  EXPECT_EQ(rig.request("POST", "/v1/jobs", job_with("begin_at", 9782899200)).body["error"],
            "begin_at: 9782899200, the most is 7258118400 (2200-01-01)");
  EXPECT_EQ(rig.stop(), 0);
  rig.start();
  for (const int id : ids) EXPECT_EQ(rig.job(id)["state"], "held");
  EXPECT_GT(ids.size(), 40U);
}

TEST(DoorsOfBerthd, AnArrayAfterAnArrayIsBounded) {
  Rig rig;
  rig.start();
  Json first = smallest_job();
  first.update({{"gpus", 0}, {"held", true}, {"array", "1-1000"}});
  const auto array = rig.request("POST", "/v1/jobs", first);
  ASSERT_EQ(array.status, 201) << array.body;
  Json second = first;
  second["after"] = {{{"job", array.body["id"]}}};
  const auto refused = rig.request("POST", "/v1/jobs", second);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(
      refused.body["error"].get<std::string>(),
      HasSubstr("after: 1000 jobs for each of 1000 of the array, 1000000 in all, the most is "
                "16384; submit a job with 0 GPUs"));
  second["array"] = "1-16";
  EXPECT_EQ(rig.request("POST", "/v1/jobs", second).status, 201);
}

/// Its machine began anew with a GPU less: nothing of its jobs is there.
TEST(DoorsOfBerthd, AMachineThatLostAGpuStarts) {
  const test::ScratchFolder state;
  const std::string told = state / "told";
  int running = 0;
  int waiting = 0;
  {
    Rig rig({.gpus = "2x24GiB", .state = state / "s"});
    rig.start();
    running = rig.submit("sleep 100", {{"exclusive", true},
                                       {"vram_bytes", nullptr},
                                       {"notify", "echo $BERTH_JOB_STATE >" + told}});
    const int other = rig.submit("sleep 100", {{"exclusive", true}, {"vram_bytes", nullptr}});
    waiting = rig.submit("true", {{"exclusive", true}, {"vram_bytes", nullptr}});
    rig.wait_for(running, "running");
    rig.wait_for(other, "running");
    const pid_t shims[] = {rig.shim_of(running), rig.shim_of(other)};
    rig.kill();
    for (const pid_t shim : shims) {
      ::kill(shim, SIGKILL);
      test::eventually("the shim is gone", [&] { return !test::is_alive(shim); });
    }
    std::filesystem::remove(state / "s/emulated-gpus");  // another machine, as far as that goes
  }
  Rig rig({.gpus = "1x24GiB", .state = state / "s"});
  rig.start();
  EXPECT_EQ(rig.job(running)["state"], "lost");
  test::eventually("its user is told", [&] { return test::slurp(told) == "lost\n"; });
  EXPECT_EQ(rig.wait_end(waiting)["attempts"].size(), 1U) << "it ran, where its folder is gone";
  EXPECT_EQ(rig.request("GET", "/v1/gpus").body["gpus"].size(), 1U);
}

}  // namespace
}  // namespace berth::daemon
