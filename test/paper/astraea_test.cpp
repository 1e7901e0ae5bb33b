// `astraea/...` against the artifact of ASTRAEA (Ye et al., TPDS 2021).
//
// Source: oracles/astraea, twelve runs of the artifact: its own 500 made-up jobs on 384 GPUs, and
// 12 h of Philly on 64. Method: first the rule alone, which decides live too, at the artifact's
// passes, where a job whose lease is taken back loses the work of that lease: it must give every
// row, to the second, and each tenant's fairness. Then the policies in our simulator, where jobs
// lose nothing: the runs in which no lease is taken back must be the same to the second, the others
// must have smaller means, by up to 35 %. Tolerance:
// fairness has four printed decimals, and ours rounds what a job deserved at each pass, so 1e-6
// more. Skipped without the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "paper/rows.hpp"
#include "policy/registry.hpp"
#include "policy/whole/leases.hpp"
#include "sim/simulator.hpp"
#include "trace/formats.hpp"

namespace berth::test {
namespace {

struct AstraeaRun {
  std::string name;
  std::string policy;  ///< Ours, with its keys.
  LeaseRules rules;
  double mean;  ///< Completion time in seconds, as the oracle's page has it.

  bool is_philly() const { return name.starts_with("pha"); }
  std::string data() const { return is_philly() ? "pha" : "fake"; }
  std::int64_t gpus() const { return is_philly() ? 64 : 384; }
};

/// A file of the oracle.
Rows astraea_rows(const std::string& name) {
  return Rows(std::filesystem::path("oracles") / "astraea" / name);
}

enum class TakesBack : std::uint8_t { No, Yes };

LeaseRules astraea_rules(decltype(LeaseRules::rank) rank, TakesBack takes_back) {
  const bool takes = takes_back == TakesBack::Yes;
  return {.period = seconds(10),
          .lease = seconds(900),
          .starvation = seconds(6000),
          .rank = rank,
          .young = takes ? seconds(300) : Duration::zero(),
          .tried = takes ? seconds(120) : Duration::zero(),
          .form = LeaseRules::Form::Artifact};
}

std::vector<AstraeaRun> astraea_runs() {
  using enum TakesBack;
  const LeaseRules fair = astraea_rules(by_fairness, Yes);
  LeaseRules fixed = fair;
  fixed.quotas = LeaseRules::Quotas::Fixed;
  LeaseRules block = fair;
  block.behind = LeaseRules::Behind::Wait;
  LeaseRules philly = block;
  philly.starvation = seconds(21'600);
  LeaseRules philly_themis = philly;
  philly_themis.rank = by_rho;
  return {
      {"fake_fairness", "fairness", fair, 11'070.11},
      {"fake_disc_fairness", "disc-fairness", astraea_rules(by_fairness_class, Yes), 11'100.97},
      {"fake_job_reward", "job-reward", astraea_rules(by_reward, Yes), 9'478.23},
      {"fake_themis", "themis", astraea_rules(by_rho, Yes), 9'990.07},
      {"fake_2das", "2das", astraea_rules(by_executed, No), 7'419.31},
      {"fake_fifo", "fifo", astraea_rules(by_submission, No), 7'279.81},
      {"fake_shortestremainfirst", "shortest-remain-first", astraea_rules(by_left, No), 6'240.17},
      {"fake_smallestfirst", "smallest-first", astraea_rules(by_size, No), 6'717.73},
      {"fake_static", "fairness:fixed_quotas=1", fixed, 8'406.61},
      {"fake_block", "fairness:block=1", block, 9'652.57},
      {"pha_fairness", "fairness:block=1", philly, 22'310.69},
      {"pha_themis", "themis:block=1", philly_themis, 15'068.89},
  };
}

std::string astraea_run_name(const testing::TestParamInfo<std::size_t>& info) {
  return astraea_runs()[info.param].name;
}

struct AstraeaJob {
  int id = 0;
  UserId tenant;
  std::int64_t gpus = 0;
  std::int64_t submitted = 0;  ///< All times in seconds.
  std::int64_t duration = 0;

  // What became of it.
  std::int64_t end = 0;
  int taken_back = 0;
  int lapsed = 0;
  int resumes = 0;  ///< Leases after one that was over before, which were not taken back.
  std::int64_t pending = 0;
  double fairness = 0;

  // Of the run under way.
  std::int64_t executed = 0;  ///< Before its lease.
  std::int64_t since = 0;     ///< It runs, or waits.
  std::int64_t last_lapse = -1;
  bool resumed = false;
};

/// The workload of a run, without the jobs that are larger than their tenant's quota, which the
/// artifact drops.
struct AstraeaLoad {
  std::map<std::string, UserId> tenants;
  std::map<UserId, std::int64_t> weights;
  std::map<UserId, GpuCount> quotas;
  std::vector<AstraeaJob> jobs;  ///< By submission.

  explicit AstraeaLoad(const AstraeaRun& run) {
    for (Rows rows = astraea_rows("tenants.csv"); rows.next();) {
      if (rows.text("run") != run.name) continue;
      tenants.emplace(rows.text("tenant"), UserId(static_cast<std::uint32_t>(tenants.size() + 1)));
    }
    constexpr std::array<std::int64_t, 5> kPhillyWeights = {5, 3, 2, 1, 1};
    std::int64_t all = 0;
    for (const auto& [name, user] : tenants) {
      weights[user] = run.is_philly() ? kPhillyWeights[user.value() - 1] : 1;
      all += weights[user];
    }
    for (const auto& [user, weight] : weights) quotas[user] = GpuCount(run.gpus() * weight / all);
    for (Rows rows = astraea_rows("jobs_" + run.data() + ".csv.gz"); rows.next();) {
      const AstraeaJob job{.id = rows.whole("job_id"),
                           .tenant = tenants.at(rows.text("user")),
                           .gpus = rows.whole("num_gpu"),
                           .submitted = rows.whole("submit_time"),
                           .duration = rows.whole("duration")};
      if (GpuCount(job.gpus) <= quotas.at(job.tenant)) jobs.push_back(job);
    }
    std::ranges::stable_sort(jobs, {}, &AstraeaJob::submitted);
  }
};

// ---- The rule at the artifact's passes ---------------------------------------------------------

class GpusByNumber final : public LeaseRoom {
 public:
  explicit GpusByNumber(std::int64_t gpus) : free_(gpus) {}
  GpuCount free() override { return free_; }
  bool take(const LeasedJob& job) override {
    if (job.gpus > free_) return false;
    free_ -= job.gpus;
    return true;
  }
  void release(const LeasedJob& job) override { free_ += job.gpus; }

 private:
  GpuCount free_;
};

/// The artifact's own loop, as the page of the oracle tells it.
class AstraeaLoop {
 public:
  AstraeaLoop(const AstraeaRun& run, AstraeaLoad& load)
      : rules_(run.rules), load_(load), rule_(run.rules), room_(run.gpus()) {}

  void run() {
    std::size_t next = 0;
    for (now_ = 0; next < load_.jobs.size() || !rule_.empty(); now_ += 10) {
      rule_.for_each_job([&](LeasedJob& leased) { look_at(leased); });
      std::vector<LeasedJob> arrivals;
      while (next < load_.jobs.size() && load_.jobs[next].submitted <= now_) {
        arrivals.push_back(arrival(next++));
      }
      note(rule_.pass(at(now_), load_.quotas, arrivals, room_));
    }
  }
  const Leases& rule() const { return rule_; }

 private:
  static Instant at(std::int64_t time) { return kStart + seconds(time); }
  AstraeaJob& job(JobId id) { return load_.jobs[id.value() - 1]; }

  void look_at(LeasedJob& leased) {
    const AstraeaJob& known = job(leased.id);
    const std::int64_t executed = known.executed + (leased.has_lease ? now_ - known.since : 0);
    leased.executed = seconds(executed);
    leased.left = seconds(known.duration - executed);
    leased.fate = executed >= known.duration ? LeasedJob::Fate::Ended : LeasedJob::Fate::GoesOn;
  }
  LeasedJob arrival(std::size_t i) {
    AstraeaJob& known = load_.jobs[i];
    known.since = known.submitted;
    return {.id = JobId(static_cast<std::uint32_t>(i + 1)),
            .user = known.tenant,
            .gpus = GpuCount(known.gpus),
            .submitted = at(known.submitted),
            .left = seconds(known.duration),
            .since = at(known.submitted)};
  }

  void note(const LeasePass& pass) {
    for (const LeasedJob& leased : pass.ended) {
      AstraeaJob& known = job(leased.id);
      known.end = known.since + known.duration - known.executed;
      known.resumes += known.resumed ? 1 : 0;
      known.fairness = static_cast<double>((leased.gpus * leased.executed).raw()) /
                       static_cast<double>(leased.deserved.raw());
    }
    for (const JobId id : pass.lapsed) {
      AstraeaJob& known = job(id);
      known.executed += now_ - known.since;
      known.lapsed += 1;
      known.resumes += std::exchange(known.resumed, false) ? 1 : 0;
      known.since = known.last_lapse = now_;
    }
    for (const JobId id : pass.taken_back) {
      AstraeaJob& known = job(id);
      known.pending += now_ - known.since;
      known.taken_back += 1;
      known.resumed = false;
      known.since = now_;
    }
    for (const JobId id : pass.started) {
      AstraeaJob& known = job(id);
      known.pending += now_ - known.since;
      known.since = now_;
      known.resumed = known.last_lapse >= 0 && known.last_lapse < now_;
    }
  }

  LeaseRules rules_;
  AstraeaLoad& load_;
  Leases rule_;
  GpusByNumber room_;
  std::int64_t now_ = 0;
};

bool is_printed(double ours, const std::string& theirs) {
  return std::abs(ours - std::stod(theirs)) <= 0.5e-4 + 1e-6;
}

class AstraeaRows : public testing::TestWithParam<std::size_t> {};

TEST_P(AstraeaRows, TheRuleAloneGivesEveryColumnAndEveryTenant) {
  if (const auto absent = absent_shared("oracles/astraea")) GTEST_SKIP() << *absent;
  const AstraeaRun run = astraea_runs()[GetParam()];
  AstraeaLoad load(run);
  AstraeaLoop loop(run, load);
  loop.run();
  std::map<int, const AstraeaJob*> ours;
  for (const AstraeaJob& job : load.jobs) ours[job.id] = &job;
  std::size_t rows = 0;
  for (Rows row = astraea_rows("results_" + run.data() + ".csv.gz"); row.next();) {
    if (row.text("run") != run.name) continue;
    ++rows;
    const AstraeaJob& job = *ours.at(row.whole("job_id"));
    EXPECT_EQ(job.end, row.whole("end")) << "job " << job.id;
    EXPECT_EQ(job.taken_back, row.whole("preempted")) << "job " << job.id;
    EXPECT_EQ(job.lapsed, row.whole("lease_ends")) << "job " << job.id;
    EXPECT_EQ(job.resumes, row.whole("resumes")) << "job " << job.id;
    EXPECT_EQ(job.pending, row.whole("pending")) << "job " << job.id;
    EXPECT_TRUE(is_printed(job.fairness, row.text("fairness")))
        << "job " << job.id << ": " << job.fairness;
  }
  EXPECT_EQ(rows, load.jobs.size());
  EXPECT_EQ(rows, run.is_philly() ? 1164U : 500U);
  for (Rows row = astraea_rows("tenants.csv"); row.next();) {
    if (row.text("run") != run.name) continue;
    const double fairness = loop.rule().long_term_fairness(load.tenants.at(row.text("tenant")));
    EXPECT_TRUE(is_printed(fairness, row.text("long_term_fairness")))
        << row.text("tenant") << ": " << fairness;
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, AstraeaRows, testing::Range(std::size_t{0}, std::size_t{12}),
                         astraea_run_name);

// ---- The policies in our simulator -------------------------------------------------------------

trace::Trace trace_of(const AstraeaLoad& load) {
  trace::Trace trace;
  for (const AstraeaJob& job : load.jobs) {
    trace::TraceJob mine{.name = std::to_string(job.id),
                         .submit = kStart + seconds(job.submitted),
                         .duration = seconds(job.duration),
                         .spec = {}};
    mine.spec.user = job.tenant;
    mine.spec.request.gpu = {.count = GpuCount(job.gpus), .sharing = Sharing::Alone};
    trace.jobs.push_back(std::move(mine));
  }
  return trace;
}

struct AstraeaReplay {
  std::size_t same_ends = 0;
  double mean = 0;  ///< Completion time in seconds.
};

AstraeaReplay replay(const AstraeaRun& run, const std::string& starvation) {
  const AstraeaLoad load(run);
  sim::Options options;
  for (const auto& [user, weight] : load.weights) options.weights[user] = weight * kUsualWeight;
  const std::string cluster = run.is_philly() ? "8x8" : "48x8";
  auto policy = make_policy("astraea/" + run.policy + ":starvation=" + starvation, "");
  EXPECT_TRUE(policy.has_value());
  const auto result =
      sim::simulate(trace_of(load), *trace::parse_cluster(cluster), std::move(*policy), options);
  EXPECT_TRUE(result.has_value());
  EXPECT_EQ(result->dropped, 0U);
  std::map<int, std::int64_t> theirs;
  for (Rows row = astraea_rows("results_" + run.data() + ".csv.gz"); row.next();) {
    if (row.text("run") == run.name) theirs[row.whole("job_id")] = row.whole("end");
  }
  AstraeaReplay replay;
  for (std::size_t i = 0; i < load.jobs.size(); ++i) {
    const Instant end = result->jobs[i].end;
    replay.same_ends += end == kStart + seconds(theirs.at(load.jobs[i].id)) ? 1 : 0;
    replay.mean += static_cast<double>(micros(end - kStart)) / 1e6;
    replay.mean -= static_cast<double>(load.jobs[i].submitted);
  }
  replay.mean /= static_cast<double>(load.jobs.size());
  return replay;
}

class AstraeaReplays : public testing::TestWithParam<std::size_t> {};

TEST_P(AstraeaReplays, EndAsTheArtifactDoesUnlessALeaseIsTakenBack) {
  if (const auto absent = absent_shared("oracles/astraea")) GTEST_SKIP() << *absent;
  const AstraeaRun run = astraea_runs()[GetParam()];
  const AstraeaReplay found = replay(run, run.is_philly() ? "21600s" : "6000s");
  const bool takes_back =
      run.rules.young > Duration::zero() && run.rules.quotas == LeaseRules::Quotas::Lent;
  if (takes_back) {
    EXPECT_LT(found.mean, run.mean) << "no work is lost";
    EXPECT_GT(found.mean, 0.65 * run.mean);
  } else {
    EXPECT_EQ(found.same_ends, 500U);
    EXPECT_NEAR(found.mean, run.mean, 0.005);
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, AstraeaReplays, testing::Range(std::size_t{0}, std::size_t{12}),
                         astraea_run_name);

}  // namespace
}  // namespace berth::test
