// `gavel/gandiva` against the artefact of Gavel (Narayanan et al., OSDI 2020), whose Gandiva pairs
// jobs at random.
//
// Source: oracles/gandiva, two runs of the artefact on its own trace of 96 jobs: every placement of
// every round and every completion time. Method: the rules alone, the pairing of the policy and the
// claims of its plan, in a loop of whole steps like the artefact's simulator. Tolerance: none, for
// the first 80 rounds of one run and 48 of the other. Then a tie of two claims is broken otherwise,
// for a reason not found yet, and all that follows differs. Skipped without the files.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "paper/gavel_oracle.hpp"
#include "policy/allocate/gavel.hpp"
#include "policy/policies.hpp"
#include "policy/scene.hpp"
#include "trace/rows.hpp"

namespace berth::test {
namespace {

constexpr std::array<const char*, 3> kGavelTypes = {"v100", "p100", "k80"};
constexpr double kGavelRound = 360;
constexpr Bytes kLittle{std::int64_t{1} << 30};  ///< Any number of jobs have room on a GPU.

/// Whole microseconds, as a plan counts.
Duration micros_of(double seconds) { return Duration(std::llround(seconds * 1e6)); }

/// A placement: time, type, job, partner or -1.
using Placing = std::tuple<double, std::string, int, int>;

struct GandivaRun {
  std::vector<std::pair<double, double>> jobs;  ///< Arrival and completion time.
  std::multiset<Placing> placings;
};

GandivaRun gandiva_oracle(const std::string& run) {
  const auto text = [&](const std::string& name) {
    const auto path = shared_dir() / "oracles" / "gandiva" / (run + name);
    return *trace::unpacked(read_file(path), name);
  };
  GandivaRun read;
  const std::string jobs = text("_jobs.csv.gz");
  auto csv = trace::Csv::open(jobs, "jobs");
  const auto number = [&](const char* column) {
    return std::stod(std::string(csv->field(*csv->column(column))));
  };
  while (csv->next().value_or(false)) read.jobs.emplace_back(number("arrival"), number("jct"));
  const std::string rounds = text("_rounds.csv.gz");
  csv = trace::Csv::open(rounds, "rounds");
  while (csv->next().value_or(false)) {
    const std::string partner(csv->field(*csv->column("partner")));
    read.placings.emplace(number("time"), csv->field(*csv->column("type")),
                          static_cast<int>(number("job")),
                          partner.empty() ? -1 : std::stoi(partner));
  }
  return read;
}

/// The artefact's simulator, but for the pairs that are drawn and the order of claims.
class GandivaLoop {
 public:
  GandivaLoop(const GavelRun& run, const std::string& rates)
      : scene_(run.cluster), rates_(nlohmann::json::parse(rates)) {
    scene_.state().speeds = run.options.rates.speeds;
    for (const GpuSpec& gpu : run.cluster.gpus()) ++gpus_.at(gpu.type);
  }

  /// Requires: of no earlier arrival than those before.
  void add(const std::string& model, int gpus, double steps, double arrival) {
    jobs_.push_back({.model = model, .gpus = gpus, .left = steps, .arrival = arrival});
  }

  GandivaRun run() {
    while (present_.size() + (jobs_.size() - arrived_) > 0) {
      const bool is_idle = running_ == 0 && arrived_ < jobs_.size();
      if (is_idle) now_ = std::max(now_, jobs_[arrived_].arrival);
      arrive();
      if (is_due()) allocate();
      round();
    }
    for (const StepJob& job : jobs_) done_.jobs.emplace_back(job.arrival, job.end - job.arrival);
    return std::move(done_);
  }

 private:
  struct StepJob {
    std::string model;
    int gpus = 1;
    double left = 0;
    double arrival = 0;
    double end = 0;
    bool is_planned = false;
  };
  struct Booking {
    Combination jobs;
    std::size_t type;
    double finish;
  };

  StepJob& of(JobId id) { return jobs_[id.value() - 1]; }
  static int number(JobId id) { return static_cast<int>(id.value()) - 1; }

  std::string key(const StepJob& job) const {
    return "('" + job.model + "', " + std::to_string(job.gpus) + ")";
  }
  /// Steps a second of each of these jobs, which share their GPUs.
  std::vector<double> rates(const Combination& jobs, std::size_t type) {
    const auto& of_first = rates_[kGavelTypes[type]][key(of(jobs[0]))];
    if (jobs.size() == 1) return {of_first["null"].get<double>()};
    const auto& pair = of_first[key(of(jobs[1]))];
    return {pair[0].get<double>(), pair[1].get<double>()};
  }

  void arrive() {
    std::vector<Event> events;
    for (const JobId id : ended_) events.push_back({EventKind::Ended, id});
    while (arrived_ < jobs_.size() && jobs_[arrived_].arrival <= now_) {
      JobSpec spec{.model = jobs_[arrived_].model};
      spec.request.gpu = {.count = GpuCount(jobs_[arrived_++].gpus), .vram = kLittle};
      present_.push_back(scene_.wait(spec));
      events.push_back({EventKind::Submitted, present_.back()});
    }
    changed_ = changed_ || !events.empty();
    scene_.at(kStart + micros_of(now_));
    ended_.clear();
    list_.update(scene_.view(), events, *placer_);
    plan_.follow(scene_.view(), list_);
    add_pairs(list_.arrived());
  }

  /// The artefact books half a round for a new job, and takes it off each pair of it as well, for
  /// which it was never booked.
  void add_pairs(std::span<const JobId> arrived) {
    TimePlan::Memory memory = plan_.memory();
    for (const JobId id : arrived) {
      for (const JobId other : present_) {
        if (other >= id || of(other).gpus != of(id).gpus) continue;
        // Above zero with the half round that claims add: what received nothing at all comes first.
        const TimePlan::OnType never{.owed = {}, .ran = Duration(1) - seconds(180)};
        memory.standings.at(id).beside[{other}].assign(kGavelTypes.size(), never);
      }
    }
    plan_.remember(std::move(memory));
    plan_.follow(scene_.view(), list_);
  }

  bool is_due() const {
    const bool is_idle = arrived_ == jobs_.size() && running_ == 0;
    return is_idle || (changed_ && (now_ - allocated_ >= 1920 || allocated_ == 0));
  }

  void allocate() {
    const Proposal proposal = rule_->propose(scene_.view(), present_, plan_);
    TimePlan::Owed owed;
    for (const JobId id : present_) {
      of(id).is_planned = true;
      owed[id][{}].resize(kGavelTypes.size());
      for (const JobId other : present_) {
        if (other < id && of(other).gpus == of(id).gpus) owed[id][{other}].resize(3);
      }
    }
    for (std::size_t i = 0; i < proposal.options.size(); ++i) {
      const auto& [jobs, type] = proposal.options[i];
      owed[jobs.back()][{jobs.begin(), std::prev(jobs.end())}][type] = proposal.shares[i];
    }
    plan_.make(scene_.view().now(), owed);
    allocated_ = now_;
    changed_ = false;
  }

  /// Places combinations by their claims, and runs each for so many whole steps.
  void round() {
    std::set<JobId> taken;
    std::vector<Booking> booked;
    for (std::size_t type = 0; type < kGavelTypes.size(); ++type) {
      int left = gpus_[type];
      const TimePlan::Ranking by{.half = seconds(180), .unowed = TimePlan::Unowed::Last};
      for (const auto& [last, others] : plan_.by_claim(present_, type, by)) {
        Combination jobs = *others;
        jobs.push_back(present_[last]);
        const int gpus = of(jobs[0]).gpus;
        const auto is_taken = [&](JobId id) { return taken.contains(id); };
        if (gpus > left || std::ranges::any_of(jobs, is_taken)) continue;
        const auto speeds = rates(jobs, type);
        if (std::ranges::find(speeds, 0.0) != speeds.end()) continue;
        taken.insert(jobs.begin(), jobs.end());
        left -= gpus;
        const auto is_planned = [&](JobId id) { return of(id).is_planned; };
        if (!std::ranges::all_of(jobs, is_planned)) continue;
        booked.push_back({jobs, type, now_});
      }
    }
    book(booked);
  }

  void book(std::vector<Booking>& booked) {
    double end = now_;
    running_ = 0;
    for (Booking& one : booked) {
      const auto speeds = rates(one.jobs, one.type);
      std::vector<double> steps;
      double longest = 0;
      bool fails = false;
      for (std::size_t i = 0; i < one.jobs.size(); ++i) {
        StepJob& job = of(one.jobs[i]);
        steps.push_back(std::min(std::floor(speeds[i] * kGavelRound), job.left));
        longest = std::max(longest, steps[i] / speeds[i]);
        fails = fails || (job.gpus > 1 && std::floor(steps[i] / job.gpus) == 0);
      }
      if (fails) {  // fewer steps than GPUs: it is not booked
        changed_ = true;
        continue;
      }
      done_.placings.emplace(now_, kGavelTypes[one.type], number(one.jobs.front()),
                             one.jobs.size() > 1 ? number(one.jobs.back()) : -1);
      one.finish = now_ + longest;
      end = std::max(end, one.finish);
      ++running_;
      for (std::size_t i = 0; i < one.jobs.size(); ++i) of(one.jobs[i]).left -= steps[i];
      plan_.add(one.jobs, one.type, micros_of(one.finish - last_end_));
    }
    for (const Booking& one : booked) {
      for (const JobId id : one.jobs) {
        if (of(id).left > 0) continue;
        of(id).end = one.finish;
        std::erase(present_, id);
        scene_.job(id).state = JobState::Held;  // as one that is gone
        ended_.push_back(id);
      }
    }
    last_end_ = now_ = end;
  }

  Scene scene_;
  nlohmann::json rates_;
  std::array<int, 3> gpus_{};
  std::unique_ptr<Placer> placer_ =
      (*std::ranges::find(placers(), "first-fit", &PlacerEntry::name)).make();
  std::unique_ptr<Allocator> rule_ = random_pairs();
  TimePlan plan_;
  JobList list_;
  std::vector<StepJob> jobs_;
  std::vector<JobId> present_;
  std::vector<JobId> ended_;
  std::size_t arrived_ = 0;
  std::size_t running_ = 0;
  bool changed_ = false;
  double now_ = 0;
  double allocated_ = 0;
  double last_end_ = 0;
  GandivaRun done_;
};

class GavelGandiva
    : public testing::TestWithParam<std::tuple<const char*, std::array<int, 3>, double>> {
 protected:
  static Cluster cluster() {
    Cluster cluster;
    cluster.add_switch();
    for (std::size_t type = 0; type < kGavelTypes.size(); ++type) {
      cluster.add_node({.name = kGavelTypes[type],
                        .gpus = static_cast<std::uint32_t>(std::get<1>(GetParam())[type]),
                        .vram = Bytes(std::int64_t{16} << 30),
                        .type = kGavelTypes[type]});
    }
    return cluster;
  }
  static std::string trace_text() {
    return read_file(shared_dir() / "traces" / "gavel" / "physical" / "max_min_fairness.trace");
  }
};

TEST_P(GavelGandiva, ByItsRulesGivesThePlacementsOfTheFirstHours) {
  if (const auto absent = absent_shared("oracles/gandiva")) GTEST_SKIP() << *absent;
  const std::string name = std::get<0>(GetParam());
  const GavelRun inputs(trace_text(), cluster());
  GandivaLoop loop(inputs, gavel_profiles().front().text);
  std::istringstream lines(trace_text());
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> words;
    std::istringstream fields(line);
    for (std::string word; std::getline(fields, word, '\t');) words.push_back(word);
    loop.add(words[0], std::stoi(words[6]), std::stod(words[5]), std::stod(words[9]));
  }
  const GandivaRun ours = loop.run();
  const GandivaRun theirs = gandiva_oracle(name);
  const auto before = [&](const GandivaRun& run) {
    const Placing end{std::get<2>(GetParam()), "", -1, -1};
    return std::vector(run.placings.begin(), run.placings.lower_bound(end));
  };
  EXPECT_GT(before(theirs).size(), 100U);
  EXPECT_EQ(before(ours), before(theirs));
  for (std::size_t i = 0; i < theirs.jobs.size(); ++i) {
    const auto [arrival, time] = theirs.jobs[i];
    if (arrival + time < std::get<2>(GetParam())) {
      EXPECT_EQ(ours.jobs.at(i), theirs.jobs[i]) << "job " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, GavelGandiva,
                         testing::Values(std::tuple("mmf", std::array{8, 16, 24}, 28'799.0),
                                         std::tuple("mmf18", std::array{4, 6, 8}, 17'279.0)));

}  // namespace
}  // namespace berth::test
