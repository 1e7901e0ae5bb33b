// `lucid` against the simulator of Lucid (Hu et al., ASPLOS 2023).
//
// Source: oracles/lucid, its run of 2,000 jobs on 15 virtual clusters, with the forecast and the
// speeds of pairs that it ships. Method: its profiler and its seconds here; which jobs begin, in
// which order and beside which is the rule of the policy, where they go its placement. Every start,
// end and wait, and every pair with both speeds, must be equal. Tolerance: none. Skipped without
// the files.
//
// Its baselines FIFO and SJF, too: `fifo` and `helios/sjf` in the simulator of berth.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "paper/rows.hpp"
#include "policy/policies.hpp"
#include "policy/registry.hpp"
#include "policy/scene.hpp"
#include "policy/whole/lucid_rule.hpp"
#include "sim/simulator.hpp"

namespace berth::test {
namespace {

constexpr std::uint32_t kLucidNode = 8;        ///< GPUs.
constexpr int kLucidProfile = 200;             ///< Seconds.
constexpr Bytes kLucidGpu(24LL << 30);         ///< Of memory.
constexpr std::int64_t kLucidPerGpu = 4;       ///< GPUs asked for per node of the profiler.
constexpr const char* kLucidLender = "vcYVn";  ///< Its third node is this one's.

Bytes lucid_bytes(double mebibytes) {
  return Bytes(std::llround(mebibytes * static_cast<double>(1 << 20)));
}

/// A job of the run and what became of it; times in seconds.
struct OracleJob {
  int id = 0;
  std::string vc;
  LucidJob rule;
  std::array<std::string, 4> config;  ///< Model, data, batch, precision.
  int submitted = 0;
  int duration = 0;

  bool is_profiled = false;
  int profiler_wait = 0;
  int start = -1;
  int end = -1;
  bool ended_in_profiler = false;

  double left = 0;
  double rate = 1;
  int wait() const { return profiler_wait + (ended_in_profiler ? 0 : start - submitted); }
};

std::vector<OracleJob> lucid_jobs() {
  std::vector<OracleJob> jobs;
  for (Rows rows("oracles/lucid/trace.csv.gz"); rows.next();) {
    OracleJob job{.id = rows.whole("job_id"),
                  .vc = rows.text("vc"),
                  .rule = {.gpus = rows.whole("gpu_num"),
                           .memory = lucid_bytes(rows.number("gmem")),
                           .label = rows.whole("label")},
                  .config = {rows.text("model"), rows.text("dataset"), rows.text("batchsize"),
                             rows.text("amp")},
                  .submitted = rows.whole("submit_time"),
                  .duration = rows.whole("duration")};
    job.rule.key = lucid_key(seconds(rows.whole("predicted")), job.rule.gpus);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

/// What the simulator knows of arrivals to come, a value for every ten minutes.
class LucidForecast {
 public:
  explicit LucidForecast(const char* column) {
    for (Rows rows("traces/lucid-venus/Venus_throughput_pred.csv.gz"); rows.next();) {
      values_.push_back(rows.number(column));
    }
  }
  double at(int second) const {
    constexpr int kRows = 5;
    const auto first = static_cast<std::size_t>(second / 600 + 1);
    double sum = 0;
    for (std::size_t row = first; row < first + kRows; ++row) sum += values_.at(row);
    return sum / kRows;
  }

 private:
  std::vector<double> values_;
};

/// How fast jobs are beside each other, the one and the other.
class LucidPairs {
 public:
  LucidPairs() {
    for (Rows rows("traces/lucid-venus/colocate_info.csv"); rows.next();) {
      const auto side = [&](const std::string& n) {
        return Config{rows.text(("model" + n).c_str()), rows.text(("dataset" + n).c_str()),
                      rows.text(("batchsize" + n).c_str()), rows.text(("amp" + n).c_str())};
      };
      const auto speeds = std::pair(rows.number("speed1"), rows.number("speed2"));
      rates_[{side("1"), side("2")}] = speeds;
    }
  }
  std::pair<double, double> of(const OracleJob& one, const OracleJob& other) const {
    static const std::set<std::string> kAsAlone = {"NeuMF", "ResNet50", "BERT", "Transformer"};
    if (kAsAlone.contains(one.config[0]) || kAsAlone.contains(other.config[0])) return {1, 1};
    if (const auto found = rates_.find({one.config, other.config}); found != rates_.end()) {
      return found->second;
    }
    const auto [second, first] = rates_.at({other.config, one.config});
    return {first, second};
  }

 private:
  using Config = std::array<std::string, 4>;
  std::map<std::pair<Config, Config>, std::pair<double, double>> rates_;
};

/// GPUs of which each has one group of jobs at a time, as placement `lucid` gives them.
class LucidNodes {
 public:
  /// Nodes beyond the first `nodes` are there from when they are lent.
  LucidNodes(std::uint32_t nodes, std::uint32_t spare)
      : cluster_(uniform(nodes + spare, kLucidNode)),
        scratch_{Occupancy(cluster_, {}), {}},
        trial_(cluster_, scratch_),
        placer_(lucid({})),
        nodes_(nodes) {
    for (std::uint32_t node = nodes; node < nodes + spare; ++node) shut(node);
  }

  std::optional<Grant> take(std::int64_t gpus) {
    const Ask ask = ask_for(gpus);
    const Placed place = placer_->place(ask, JobId(1), trial_);
    if (!place) return std::nullopt;
    return trial_.put(ask, *place);
  }
  void release(const Grant& grant) { trial_.take(grant); }

  bool is_idle(std::uint32_t node) const {
    return std::ranges::all_of(cluster_.node(NodeId(node)).gpu_ids(),
                               [&](GpuId gpu) { return trial_.use().gpu(gpu).tenants == 0; });
  }
  /// The idle node with the highest number is there no more; if none is idle all stay.
  void drop_last_idle() {
    for (std::uint32_t node = nodes_; node > 0; --node) {
      if (!is_idle(node - 1)) continue;
      shut(node - 1);
      return;
    }
  }
  void drop(std::uint32_t node) { shut(node); }
  /// The next one at the end of the list.
  void add() { trial_.take(shut_.extract(nodes_++).mapped()); }
  /// One that was dropped is there again.
  void reopen(std::uint32_t node) { trial_.take(shut_.extract(node).mapped()); }

 private:
  static Ask ask_for(std::int64_t gpus) {
    Ask ask;
    ask.request.gpu = {.count = GpuCount(gpus), .sharing = Sharing::Alone};
    return ask;
  }
  void shut(std::uint32_t node) {
    Placement place{.gpus = {}, .host = NodeId(node)};
    for (const GpuId gpu : cluster_.node(NodeId(node)).gpu_ids()) place.gpus.push_back(gpu);
    shut_.emplace(node, trial_.put(ask_for(kLucidNode), place));
  }

  Cluster cluster_;
  Scratch scratch_;
  Trial trial_;
  std::unique_ptr<Placer> placer_;
  std::uint32_t nodes_;
  std::map<std::uint32_t, Grant> shut_;
};

/// When the third node of the profiler comes, and when it goes.
struct LucidLoan {
  std::vector<int> up;
  std::vector<int> down;
};

/// Each job for its first 200 s, the smallest first, on two nodes or three.
class LucidProfiler {
 public:
  explicit LucidProfiler(std::vector<OracleJob>& jobs) : forecast_("pred_gpu_num") {
    for (OracleJob& job : jobs) {
      if (job.rule.gpus <= 2 * kLucidPerGpu) coming_.push_back(&job);
    }
  }

  LucidLoan run() {
    LucidLoan loan;
    bool has_third = false;
    std::size_t next = 0;
    for (int now = 0; next < coming_.size() || !waiting_.empty() || !running_.empty(); ++now) {
      std::erase_if(running_, [&](const Profiled& one) {
        if (one.until > now) return false;
        nodes_.release(one.grant);
        return true;
      });
      for (; next < coming_.size() && coming_[next]->submitted == now; ++next) {
        waiting_.push_back(coming_[next]);
      }
      begin(now);
      if (now % 10 == 0 && waiting_.size() > 10 && !has_third) {
        nodes_.reopen(2);
        loan.up.push_back(now);
        has_third = true;
      } else if (now % 100 == 0 && waiting_.size() < 5 && has_third && nodes_.is_idle(2) &&
                 forecast_.at(now) <= 40) {
        nodes_.drop(2);
        loan.down.push_back(now);
        has_third = false;
      }
    }
    return loan;
  }

 private:
  struct Profiled {
    Grant grant;
    int until;
  };

  void begin(int now) {
    std::ranges::stable_sort(waiting_, {}, [](const OracleJob* job) { return job->rule.gpus; });
    std::size_t begun = 0;
    for (; begun < waiting_.size(); ++begun) {
      OracleJob& job = *waiting_[begun];
      auto grant = nodes_.take(job.rule.gpus);
      if (!grant) break;
      job.is_profiled = true;
      job.profiler_wait = now - job.submitted;
      const int time = std::min(job.duration, kLucidProfile);
      if (job.duration <= kLucidProfile) {
        job.ended_in_profiler = true;
        job.start = now;
        job.end = now + job.duration;
      }
      running_.push_back({.grant = std::move(*grant), .until = now + time});
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(begun));
  }

  LucidForecast forecast_;
  std::vector<OracleJob*> coming_;
  std::vector<OracleJob*> waiting_;
  std::vector<Profiled> running_;
  LucidNodes nodes_{2, 1};
};

/// time, virtual cluster, job, partner, speeds of both.
using LucidPacked = std::tuple<int, std::string, int, int, double, double>;

/// The run of one virtual cluster, second by second.
class LucidRun {
 public:
  LucidRun(std::uint32_t nodes, const LucidLoan& loan, std::vector<OracleJob*> jobs,
           const LucidPairs& pairs, const LucidForecast& forecast)
      : nodes_(nodes, static_cast<std::uint32_t>(loan.down.size())),
        loan_(loan),
        coming_(std::move(jobs)),
        pairs_(pairs),
        forecast_(forecast) {}

  void run(std::multiset<LucidPacked>& packed) {
    std::size_t next = 0;
    for (int now = 0; next < coming_.size() || !waiting_.empty() || !running_.empty(); ++now) {
      bool is_changed = advance(now);
      for (; next < coming_.size() && coming_[next]->submitted == now; ++next) {
        waiting_.push_back(coming_[next]);
        is_changed = true;
      }
      if (now % 100 == 0) {
        const bool packs = forecast_.at(now) > 2;
        is_changed = is_changed || packs != rules_.packs;
        rules_.packs = packs;
      }
      if (is_changed && !waiting_.empty()) begin(now, packed);
      changed_ = false;
      if (std::ranges::find(loan_.up, now) != loan_.up.end()) nodes_.drop_last_idle();
      if (std::ranges::find(loan_.down, now) != loan_.down.end()) {
        nodes_.add();
        changed_ = true;
      }
    }
  }

 private:
  /// Jobs on the same GPUs, the one that came first in front.
  struct Group {
    Grant grant;
    OracleJob* first;
    std::vector<OracleJob*> jobs;
  };
  struct Entry {
    OracleJob* job;
    std::shared_ptr<Group> group;
  };

  /// Ends and progress. Returns: whether a waiting job may have a place that it had not before.
  bool advance(int now) {
    bool is_changed = changed_;
    for (std::size_t i = 0; i < entries_.size();) {
      OracleJob& job = *entries_[i].job;
      if (job.left > 0) {
        job.left -= job.rate;
        ++i;
        continue;
      }
      is_changed = true;
      job.end = now;
      const std::shared_ptr<Group> group = entries_[i].group;
      std::erase(group->jobs, &job);
      if (group->jobs.empty()) {
        nodes_.release(group->grant);
      } else if (group->first != &job) {
        recover(*group->first);
      }  // else the other one never recovers: a slip of the simulator
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return is_changed;
  }
  void recover(OracleJob& job) {
    job.rate = 1;
    const auto at = std::ranges::find(entries_, &job, &Entry::job) - entries_.begin();
    running_[static_cast<std::size_t>(at)].is_packed = false;
  }

  void begin(int now, std::multiset<LucidPacked>& packed) {
    std::vector<LucidJob> jobs;
    for (const OracleJob* job : waiting_) jobs.push_back(job->rule);
    lucid_pass(jobs, running_, rules_,
               [&](std::size_t at, std::optional<std::size_t> host) -> std::optional<Bytes> {
                 OracleJob& job = *waiting_[at];
                 std::shared_ptr<Group> group;
                 if (host) {
                   OracleJob& other = *entries_[*host].job;
                   group = entries_[*host].group;
                   std::tie(job.rate, other.rate) = pairs_.of(job, other);
                   packed.emplace(now, job.vc, job.id, other.id, job.rate, other.rate);
                 } else {
                   auto grant = nodes_.take(job.rule.gpus);
                   if (!grant) return std::nullopt;
                   group = std::make_shared<Group>(
                       Group{.grant = std::move(*grant), .first = &job, .jobs = {}});
                 }
                 group->jobs.push_back(&job);
                 job.start = now;
                 job.left = job.duration;
                 entries_.push_back({.job = &job, .group = std::move(group)});
                 return kLucidGpu;
               });
    std::erase_if(waiting_, [](const OracleJob* job) { return job->start >= 0; });
  }

  LucidNodes nodes_;
  LucidLoan loan_;
  std::vector<OracleJob*> coming_;
  std::vector<OracleJob*> waiting_;    ///< In order of arrival.
  std::vector<Entry> entries_;         ///< In order of start.
  std::vector<LucidRunning> running_;  ///< The same jobs, for the rule.
  const LucidPairs& pairs_;
  const LucidForecast& forecast_;
  LucidRules rules_;
  bool changed_ = false;
};

std::optional<std::string> absent_lucid() {
  const auto absent = absent_shared("oracles/lucid");
  return absent ? absent : absent_shared("traces/lucid-venus");
}

/// The virtual clusters and their nodes, without the two of the profiler.
std::vector<std::pair<std::string, std::uint32_t>> lucid_clusters() {
  std::vector<std::pair<std::string, std::uint32_t>> clusters;
  for (Rows rows("traces/lucid-venus/vc_config.csv"); rows.next();) {
    const std::string vc = rows.text("");
    const bool lent_one = vc == "vc8Gr" || vc == "vcefl";
    clusters.emplace_back(vc, static_cast<std::uint32_t>(rows.whole("num") - (lent_one ? 1 : 0)));
  }
  return clusters;
}

std::vector<OracleJob*> lucid_jobs_of(const std::string& vc, std::vector<OracleJob>& jobs) {
  std::vector<OracleJob*> its;
  for (OracleJob& job : jobs) {
    if (job.vc == vc && !job.ended_in_profiler) its.push_back(&job);
  }
  return its;
}

TEST(LucidOracle, EveryJobAndEveryPairIsAsInItsSimulator) {
  if (const auto absent = absent_lucid()) GTEST_SKIP() << *absent;
  std::vector<OracleJob> jobs = lucid_jobs();
  ASSERT_EQ(jobs.size(), 2000U);
  const LucidLoan loan = LucidProfiler(jobs).run();
  EXPECT_EQ(loan.up, (std::vector{21'270, 26'730}));
  EXPECT_EQ(loan.down, (std::vector{22'800, 28'800}));

  const LucidPairs pairs;
  const LucidForecast forecast("pred_gpu_job");
  std::multiset<LucidPacked> packed;
  for (const auto& [vc, nodes] : lucid_clusters()) {
    LucidRun(nodes, vc == kLucidLender ? loan : LucidLoan{}, lucid_jobs_of(vc, jobs), pairs,
             forecast)
        .run(packed);
  }

  std::multiset<LucidPacked> their_pairs;
  for (Rows rows("oracles/lucid/pairs.csv.gz"); rows.next();) {
    their_pairs.emplace(rows.whole("time"), rows.text("vc"), rows.whole("job"),
                        rows.whole("partner"), rows.number("rate_job"),
                        rows.number("rate_partner"));
  }
  EXPECT_EQ(their_pairs.size(), 619U);
  EXPECT_EQ(packed, their_pairs);
  std::size_t equal = 0;
  Rows rows("oracles/lucid/jobs.csv.gz");
  for (const OracleJob& job : jobs) {
    ASSERT_TRUE(rows.next());
    ASSERT_EQ(rows.whole("job_id"), job.id);
    const bool is_same = rows.whole("lucid_start") == job.start &&
                         rows.whole("lucid_end") == job.end &&
                         rows.whole("lucid_queue") == job.wait() &&
                         (rows.whole("lucid_profiled") != 0) == job.is_profiled &&
                         rows.whole("lucid_profqueue") == job.profiler_wait &&
                         (rows.whole("lucid_ended_in_profiler") != 0) == job.ended_in_profiler;
    equal += is_same ? 1 : 0;
  }
  EXPECT_EQ(equal, jobs.size());
}

/// Under a policy of berth in its simulator, each job alone on its GPUs.
void run_exclusive(const char* policy, std::vector<OracleJob>& jobs) {
  for (const auto& [vc, nodes] : lucid_clusters()) {
    const std::vector<OracleJob*> its = lucid_jobs_of(vc, jobs);
    trace::Trace trace;
    for (const OracleJob* job : its) {
      trace.jobs.push_back({.name = std::to_string(job->id),
                            .submit = kStart + seconds(job->submitted),
                            .duration = seconds(job->duration),
                            .spec = whole(job->rule.gpus, kForever)});
    }
    const auto result =
        sim::simulate(trace, uniform(nodes, kLucidNode), *make_policy(policy, "lucid"), {});
    ASSERT_TRUE(result.has_value());
    for (std::size_t i = 0; i < its.size(); ++i) {
      its[i]->start = static_cast<int>((result->jobs[i].start - kStart) / seconds(1));
      its[i]->end = static_cast<int>((result->jobs[i].end - kStart) / seconds(1));
    }
  }
}

TEST(LucidOracle, ItsBaselinesFifoAndSjfAreOursJobByJob) {
  if (const auto absent = absent_lucid()) GTEST_SKIP() << *absent;
  for (const auto& [policy, theirs] : {std::pair("fifo", "fifo"), {"helios/sjf", "sjf"}}) {
    std::vector<OracleJob> jobs = lucid_jobs();
    run_exclusive(policy, jobs);
    std::size_t equal = 0;
    Rows rows("oracles/lucid/jobs.csv.gz");
    for (const OracleJob& job : jobs) {
      ASSERT_TRUE(rows.next());
      const std::string name(theirs);
      equal += rows.whole((name + "_start").c_str()) == job.start &&
                       rows.whole((name + "_end").c_str()) == job.end
                   ? 1
                   : 0;
    }
    EXPECT_EQ(equal, jobs.size()) << policy;
  }
}

}  // namespace
}  // namespace berth::test
