// `edf` and `elasticflow` against the logs of ElasticFlow's artifact (Gu et al., ASPLOS 2023).
//
// Source: oracles/elasticflow, the runs of figure 10: 100 jobs on 16 nodes of 8 GPUs. Method: first
// the rules alone in a loop like the artifact's, with passes four minutes apart at least and times
// in whole seconds, which must give the GPUs of each job at every pass, and each start and end.
// Then the policies in our simulator, whose ends are exact and where a job on other GPUs than
// before loses nothing. No job has more GPUs there than make it faster, which the artifact's EDF
// overlooks: so `edf` is compared with its rule in the artifact's loop under the same bound.
// Tolerance of mean completion times: 0.2 %; 3 % under `elasticflow`, whose jobs lose 2 to 16 s at
// each pass of the artifact and end with a slot. Skipped without the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "paper/rows.hpp"
#include "policy/registry.hpp"
#include "policy/whole/deadline_plan.hpp"
#include "sim/simulator.hpp"
#include "support/paths.hpp"
#include "trace/formats.hpp"

namespace berth::test {
namespace {

constexpr int kFlowGpus = 128;
constexpr int kFlowNode = 8;
constexpr int kFlowSlot = 240;  ///< Seconds.

// ---- The artifact's jobs -----------------------------------------------------------------------

Rows flow_rows(const std::string& name) {
  return Rows(std::filesystem::path("oracles/elasticflow") / name);
}

int level_of(std::int64_t gpus) { return std::countr_zero(static_cast<std::uint64_t>(gpus)); }

/// How fast a model with a batch is, on up to the most GPUs that a job may have: powers of two.
struct FlowPace {
  std::vector<double> rates;  ///< Iterations per second by level.
  double full = 0;            ///< Full speed of the rule: so that the speed with most is exact.
  std::vector<Rate> speeds;   ///< By number of GPUs.

  FlowPace() = default;
  FlowPace(std::vector<double> all, std::size_t levels) : rates(std::move(all)) {
    rates.resize(levels);
    full = rates.back() / 64;
    for (const double rate : rates) {
      const Rate speed(std::llround(rate / full * Rate::kWhole));
      speeds.resize(std::max<std::size_t>(1, 2 * speeds.size()), speed);
    }
  }
  std::int64_t most() const { return std::ssize(speeds); }
  double rate(std::int64_t gpus) const { return rates[static_cast<std::size_t>(level_of(gpus))]; }
};

struct FlowModel {
  std::string name;
  FlowPace measured;  ///< Up to the most GPUs that were measured.
  FlowPace fastest;   ///< Up to the number on which it is fastest.
};

struct FlowJob {
  int id = 0;
  int submitted = 0;
  int deadline = 0;
  double iterations = 0;
  const FlowModel* model = nullptr;
};

struct FlowOracle {
  std::map<std::pair<std::string, int>, FlowModel> models;
  std::vector<FlowJob> jobs;

  FlowOracle() {
    for (Rows rows = flow_rows("jobs.csv"); rows.next();) {
      jobs.push_back({.id = rows.whole("job_id"),
                      .submitted = rows.whole("submit_time"),
                      .deadline = rows.whole("ddl"),
                      .iterations = rows.number("iteration"),
                      .model = &model_of(rows.text("model_name"), rows.whole("batch_size"))});
    }
  }

 private:
  const FlowModel& model_of(const std::string& name, int batch) {
    const auto [known, is_new] = models.try_emplace({name, batch});
    if (!is_new) return known->second;
    std::vector<double> rates;
    Rows rows(std::filesystem::path("traces/elasticflow-itp/throughputs_A100") / (name + ".csv"));
    while (rows.next()) {
      if (rows.whole("global_batch_size") != batch) continue;
      for (int gpus = 1; gpus <= std::min(64, batch); gpus *= 2) {
        const std::string rate = rows.text(std::to_string(gpus).c_str());
        if (!rate.empty()) rates.push_back(std::stod(rate));
      }
    }
    const auto fastest = std::ranges::max_element(rates) - rates.begin() + 1;
    return known->second = {.name = name + " " + std::to_string(batch),
                            .measured = FlowPace(rates, rates.size()),
                            .fastest = FlowPace(rates, static_cast<std::size_t>(fastest))};
  }
};

/// The GPUs of each job that has any.
using FlowGpus = std::map<int, std::int64_t>;

struct FlowTimes {
  int start = -1;
  int end = 0;
  bool operator==(const FlowTimes&) const = default;
};

std::map<int, FlowTimes> oracle_flow_times(const std::string& policy) {
  std::map<int, FlowTimes> times;
  for (Rows rows = flow_rows(policy + ".csv"); rows.next();) {
    times[rows.whole("job_id")] = {.start = rows.whole("start"), .end = rows.whole("end")};
  }
  return times;
}

std::map<int, FlowGpus> oracle_passes(const std::string& policy) {
  std::map<int, FlowGpus> passes;
  for (Rows rows = flow_rows(policy + ".schedule.csv.gz"); rows.next();) {
    FlowGpus& gpus = passes[rows.whole("time")];
    std::istringstream words(rows.text("job:gpus"));
    for (std::string word; words >> word;) {
      const std::size_t colon = word.find(':');
      gpus[std::stoi(word.substr(0, colon))] = std::stoi(word.substr(colon + 1));
    }
  }
  return passes;
}

// ---- The artifact's loop -----------------------------------------------------------------------

/// As the page of the oracle tells it. A pass is what a policy does at one time.
class FlowLoop {
 public:
  struct Active {
    const FlowJob* job;
    const FlowPace* pace;
    double left = job->iterations;
    std::int64_t gpus = 0;
    int end = 0;       ///< As expected, at last as it was.
    int works_to = 0;  ///< Makes no iterations from then on.
    int overhead = 0;  ///< Nor in so many seconds from the pass on.
    int start = -1;

    SizedJob for_rule() const {
      const double work = left / pace->full * 1e6;
      return {.least = 1,
              .most = pace->most(),
              .left = Duration(std::max(std::int64_t{1}, std::int64_t{std::llround(work)})),
              .speeds = pace->speeds,
              .deadline = kStart + seconds(job->deadline)};
    }
  };
  using Arrivals = std::vector<const FlowJob*>;

  explicit FlowLoop(const FlowOracle& oracle) {
    for (const FlowJob& job : oracle.jobs) events_[job.submitted].arrivals.push_back(&job);
  }

  template <class Pass>
  void run(Pass pass) {
    while (!events_.empty()) {
      const int before = std::exchange(now_, events_.begin()->first);
      work(now_ - before);
      const Event event = std::move(events_.extract(events_.begin()).mapped());
      std::erase_if(active_, [&](const Active& one) {
        if (!event.ends.contains(one.job->id)) return false;
        times_[one.job->id] = {.start = one.start, .end = one.end};
        return true;
      });
      pass(*this, event.arrivals);
      note_pass();
      merge();
    }
  }

  /// The jobs that are there, which a pass adds to.
  std::list<Active>& active() { return active_; }
  int now() const { return now_; }
  FreeGpus free_gpus() const { return {kStart + seconds(now_), seconds(kFlowSlot), kFlowGpus}; }
  void expect_end(Active& one, int end) {
    move_end(one, end);
    one.end = end;
  }
  /// There is to be a pass then, if nothing happens before.
  void pass_at(int time) {
    if (events_.empty() || time < events_.begin()->first) events_[time];
  }

  const std::map<int, FlowTimes>& times() const { return times_; }
  const std::map<int, FlowGpus>& passes() const { return passes_; }

 private:
  struct Event {
    Arrivals arrivals;
    std::set<int> ends;
  };

  void work(int lasted) {
    for (Active& one : active_) {
      if (one.gpus == 0) continue;
      const double rate = one.pace->rate(one.gpus);
      const int idle = std::max(0, now_ - one.works_to) + std::exchange(one.overhead, 0);
      const double done = std::max(0, lasted - idle) * rate;
      if (one.left <= done && one.end > now_) {
        move_end(one, now_);
        one.end = now_ - lasted + static_cast<int>(std::ceil(one.left / rate));
      }
      one.left -= done;
    }
  }
  void move_end(const Active& one, int to) {
    for (auto& [time, event] : events_) {
      if (event.ends.erase(one.job->id) == 0) continue;
      if (event.ends.empty() && event.arrivals.empty()) events_.erase(time);
      break;
    }
    events_[to].ends.insert(one.job->id);
  }
  void note_pass() {
    FlowGpus& gpus = passes_[now_];
    for (Active& one : active_) {
      if (one.gpus == 0) continue;
      gpus[one.job->id] = one.gpus;
      if (one.start < 0) one.start = now_;
    }
  }
  /// What happens within a slot from now happens at its end; the last event does when it does.
  void merge() {
    const int slot_end = now_ + kFlowSlot;
    while (events_.size() >= 2 && events_.begin()->first <= slot_end) {
      Event first = std::move(events_.extract(events_.begin()).mapped());
      const bool is_all = events_.begin()->first > slot_end;
      Event& next = is_all ? events_[slot_end] : events_.begin()->second;
      first.arrivals.insert(first.arrivals.end(), next.arrivals.begin(), next.arrivals.end());
      next.arrivals = std::move(first.arrivals);
      next.ends.merge(first.ends);
      if (is_all) return;
      auto moved = events_.extract(events_.begin());
      moved.key() = slot_end;
      events_.insert(std::move(moved));
    }
  }

  int now_ = 0;
  std::map<int, Event> events_;
  std::list<Active> active_;
  std::map<int, FlowTimes> times_;
  std::map<int, FlowGpus> passes_;
};

int flow_seconds(Instant time) { return static_cast<int>((time - kStart) / seconds(1)); }

/// What a rule is asked, and whose it is.
struct FlowQuestion {
  std::vector<SizedJob> jobs;
  std::vector<SizedJob*> all;
  std::map<const SizedJob*, FlowLoop::Active*> active;

  explicit FlowQuestion(FlowLoop& loop) {
    jobs.reserve(loop.active().size());
    for (FlowLoop::Active& one : loop.active()) {
      jobs.push_back(one.for_rule());
      all.push_back(&jobs.back());
      active[all.back()] = &one;
    }
  }
};

// ---- EDF ---------------------------------------------------------------------------------------

/// With up to this most GPUs for each job.
auto edf_pass(FlowPace FlowModel::* pace) {
  return [pace](FlowLoop& loop, const FlowLoop::Arrivals& arrivals) {
    for (const FlowJob* job : arrivals) {
      loop.active().push_back({.job = job, .pace = &(job->model->*pace)});
    }
    FlowQuestion question(loop);
    edf_sizes(question.jobs, kFlowGpus);
    FreeGpus free = loop.free_gpus();
    std::ranges::stable_sort(question.all, {}, &SizedJob::deadline);
    for (const SizedJob* const job : question.all) {
      FlowLoop::Active& one = *question.active[job];
      const DeadlinePlan plan = free.take_soonest(*job);
      EXPECT_EQ(plan.now(), job->gpus) << "the policy has numbers, and no timetable";
      one.gpus = job->gpus;
      one.works_to = flow_seconds(plan.end);
      loop.expect_end(one, one.works_to);
    }
  };
}

// ---- ElasticFlow -------------------------------------------------------------------------------

/// The first GPUs of jobs on nodes of eight: a job that was there before begins sooner.
class FlowPlaces {
 public:
  int place(int gpus) {
    if (gpus >= kFlowNode) return kFlowNode * std::exchange(fresh_, fresh_ + gpus / kFlowNode);
    std::vector<int> kinds{gpus};  // its own, then the larger ones, the largest first
    for (int kind = 4; kind > gpus; kind /= 2) kinds.push_back(kind);
    for (const int kind : kinds) {
      if (by_kind_[kind].empty()) continue;
      const Node node = by_kind_[kind].front();
      by_kind_[kind].erase(by_kind_[kind].begin());
      if (node.used + gpus <= kFlowNode) return put(node, gpus);
      by_kind_[kind].push_back(node);
    }
    return put({.index = fresh_++}, gpus);
  }

 private:
  struct Node {
    int index = 0;
    int used = 0;
  };
  /// By the largest of 4, 2 and 1 that divides the GPUs left; full ones by what filled them.
  int put(Node node, int gpus) {
    const int first = kFlowNode * node.index + node.used;
    node.used += gpus;
    const int left = kFlowNode - node.used;
    std::vector<Node>& nodes = by_kind_[left == 0 ? gpus : 1 << level_of(left)];
    nodes.push_back(node);
    std::ranges::stable_sort(nodes, {}, &Node::used);
    return first;
  }

  int fresh_ = 0;  ///< The first empty node.
  std::map<int, std::vector<Node>> by_kind_;
};

class ElasticFlowPass {
 public:
  void operator()(FlowLoop& loop, const FlowLoop::Arrivals& arrivals) {
    for (const FlowJob* job : arrivals) {
      loop.active().push_back({.job = job, .pace = &job->model->fastest});
    }
    FlowQuestion question(loop);
    FreeGpus free = loop.free_gpus();
    for (const PlannedJob& one : plan_fewest(question.all, free)) {
      question.active[one.job]->works_to = flow_seconds(one.plan.end);
    }
    auto planned = elasticflow_plans(question.jobs, loop.free_gpus());
    EXPECT_EQ(planned.size(), question.jobs.size()) << "all are admitted";
    int next = std::numeric_limits<int>::max();
    for (const PlannedJob& one : planned) {
      question.active[one.job]->gpus = one.job->gpus;
      loop.expect_end(*question.active[one.job], flow_seconds(one.plan.until));
      if (one.plan.gpus.size() < 2) continue;
      next = std::min(next, flow_seconds(std::next(one.plan.gpus.begin())->first));
    }
    if (next < std::numeric_limits<int>::max()) loop.pass_at(next);
    std::ranges::stable_sort(planned, std::greater(),
                             [](const PlannedJob& one) { return one.job->gpus; });
    FlowPlaces places;
    for (const PlannedJob& one : planned) {
      if (one.job->gpus == 0) break;
      FlowLoop::Active& active = *question.active[one.job];
      const int first = places.place(static_cast<int>(one.job->gpus));
      const bool is_known = !seen_.insert({first, one.job->gpus}).second;
      active.overhead = is_known ? 2 : 4 + 2 * level_of(one.job->gpus);
      loop.expect_end(active, active.end + active.overhead);
    }
  }

 private:
  std::set<std::pair<int, std::int64_t>> seen_;  ///< First GPU, GPUs.
};

// ---- The rules alone ---------------------------------------------------------------------------

template <class Pass>
void expect_every_pass(const std::string& policy, Pass pass) {
  const FlowOracle oracle;
  FlowLoop ours(oracle);
  ours.run(pass);
  const auto theirs = oracle_passes(policy);
  const auto differs = std::ranges::mismatch(ours.passes(), theirs);
  const auto print = [](auto at, const auto& in) {
    return at == in.end() ? "none" : testing::PrintToString(*at);
  };
  EXPECT_TRUE(ours.passes() == theirs)
      << "from pass " << std::distance(ours.passes().begin(), differs.in1) << " of "
      << theirs.size() << " on: ours " << print(differs.in1, ours.passes()) << ", theirs "
      << print(differs.in2, theirs);
  const auto times = oracle_flow_times(policy);
  EXPECT_EQ(times.size(), 100U);
  for (const auto& [id, start_and_end] : times) {
    ASSERT_TRUE(ours.times().contains(id)) << "job " << id;
    EXPECT_EQ(ours.times().at(id), start_and_end) << "job " << id;
  }
}

TEST(ElasticFlowRules, EdfGivesTheGpusOfEveryPassAndEveryStartAndEnd) {
  if (const auto absent = absent_shared("oracles/elasticflow")) GTEST_SKIP() << *absent;
  expect_every_pass("edf", edf_pass(&FlowModel::measured));
}

TEST(ElasticFlowRules, GiveTheGpusOfEveryPassAndEveryStartAndEnd) {
  if (const auto absent = absent_shared("oracles/elasticflow")) GTEST_SKIP() << *absent;
  expect_every_pass("ef-accessctrl", ElasticFlowPass());
}

// ---- The policies in our simulator -------------------------------------------------------------

trace::Trace flow_trace(const FlowOracle& oracle) {
  trace::Trace trace;
  for (const FlowJob& job : oracle.jobs) {
    const double work = job.iterations / job.model->measured.rates.front() * 1e6;
    trace::TraceJob mine{.name = std::to_string(job.id),
                         .submit = kStart + seconds(job.submitted),
                         .duration = Duration(std::llround(work)),
                         .spec = {}};
    mine.spec.deadline = kStart + seconds(job.deadline);
    mine.model = job.model->name;
    mine.spec.request.gpu = {.count = GpuCount(1),
                             .sharing = Sharing::Alone,
                             .min = GpuCount(1),
                             .max = GpuCount(job.model->measured.most())};
    mine.spec.conditions.edit().on_preempt.signal = 15;
    trace.jobs.push_back(std::move(mine));
  }
  return trace;
}

struct FlowAgreement {
  double mean = 0;  ///< Completion time, in seconds.
  double their_mean = 0;
  int met = 0;
  int within_1_percent = 0;  ///< Of the completion time.
};

FlowAgreement flow_agreement(const FlowOracle& oracle, const std::string& policy,
                             const std::map<int, FlowTimes>& theirs) {
  sim::Options options;
  for (const auto& [key, model] : oracle.models) {
    for (std::size_t level = 0; level < model.measured.rates.size(); ++level) {
      options.rates.speeds.scaling().add(model.name, std::int64_t{1} << level, 0,
                                         std::llround(1e9 / model.measured.rates[level]));
    }
  }
  const auto result = sim::simulate(flow_trace(oracle), *trace::parse_cluster("16x8"),
                                    *make_policy(policy, ""), options);
  EXPECT_TRUE(result.has_value());
  EXPECT_EQ(result->dropped, 0U);
  FlowAgreement found;
  for (std::size_t i = 0; i < oracle.jobs.size(); ++i) {
    const FlowJob& job = oracle.jobs[i];
    const double end = static_cast<double>(micros(result->jobs[i].end - kStart)) / 1e6;
    const double time = end - job.submitted;
    const int their_end = theirs.at(job.id).end;
    const double difference = std::abs(end - their_end);
    found.mean += time / static_cast<double>(oracle.jobs.size());
    found.their_mean += (their_end - job.submitted) / static_cast<double>(oracle.jobs.size());
    found.met += end <= job.deadline ? 1 : 0;
    found.within_1_percent += difference <= 0.01 * time ? 1 : 0;
  }
  return found;
}

TEST(ElasticFlow, PoliciesMeetTheDeadlinesAndNearlyTheMeansOfTheirRules) {
  if (const auto absent = absent_shared("oracles/elasticflow")) GTEST_SKIP() << *absent;
  const FlowOracle oracle;
  FlowLoop loop(oracle);
  loop.run(edf_pass(&FlowModel::fastest));
  const auto edf = flow_agreement(oracle, "edf:apart=4m", loop.times());
  EXPECT_NEAR(edf.mean, edf.their_mean, 0.002 * edf.their_mean);
  EXPECT_GE(edf.within_1_percent, 99);
  EXPECT_EQ(edf.met, 100);
  const auto flow =
      flow_agreement(oracle, "elasticflow:apart=4m", oracle_flow_times("ef-accessctrl"));
  EXPECT_NEAR(flow.mean, flow.their_mean, 0.03 * flow.their_mean);
  EXPECT_EQ(flow.met, 100);
}

}  // namespace
}  // namespace berth::test
