// `gavel/gandiva` against the artefact of Gavel (Narayanan et al., OSDI 2020), whose Gandiva pairs
// jobs at random.
//
// Source: oracles/gandiva, two runs of the artefact on its own trace of 96 jobs: every placement of
// every round and every completion time. Method: the pairing of the policy in a loop of whole steps
// like the artefact's simulator, which ranks claims by doubles: where two are alike, the last bits
// of its sums decide, and a plan in whole microseconds does not have them. Tolerance: none. Skipped
// without the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
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
    bool is_booked = false;
  };
  /// What the artefact knows of one or two jobs on a type.
  struct Unit {
    double x = 0;
    double time = 0;
    double deficit = 0;
  };
  struct Books {
    std::map<Combination, Unit> units;
    double total = 0;
  };
  static constexpr double kHalf = 180;

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
    bool is_changed = !ended_.empty();
    while (arrived_ < jobs_.size() && jobs_[arrived_].arrival <= now_) {
      JobSpec spec{.model = jobs_[arrived_].model};
      spec.request.gpu = {.count = GpuCount(jobs_[arrived_++].gpus), .vram = kLittle};
      present_.push_back(scene_.wait(spec));
      is_changed = true;
      open_books(present_.back());
    }
    changed_ = changed_ || is_changed;
    scene_.at(kStart + seconds(static_cast<std::int64_t>(now_)));
    for (auto& books : ledger_) {
      std::erase_if(books.units, [&](const auto& unit) {
        return std::ranges::any_of(
            unit.first, [&](JobId id) { return std::ranges::find(ended_, id) != ended_.end(); });
      });
    }
    ended_.clear();
  }

  bool is_due() const {
    const bool is_idle = arrived_ == jobs_.size() && running_ == 0;
    return is_idle || (changed_ && (now_ - allocated_ >= 1920 || allocated_ == 0));
  }

  void open_books(JobId id) {
    for (auto& books : ledger_) {
      books.units[{id}].time = kHalf;
      for (const JobId other : present_) {
        if (other < id && of(other).gpus == of(id).gpus) books.units[{other, id}];
      }
    }
  }

  void allocate() {
    const Proposal proposal = rule_->propose(scene_.view(), present_, TimePlan());
    std::set<Combination> chosen;
    for (std::size_t i = 0; i < proposal.options.size(); ++i) {
      if (proposal.shares[i].part > 0) chosen.insert(proposal.options[i].jobs);
    }
    // Two that cannot run beside each other on any type were drawn all the same, and wait.
    std::size_t shown = 0;
    for (const Combination& unit : chosen) shown += unit.size();
    const std::size_t units = chosen.size() + (present_.size() - shown) / 2;
    for (std::size_t type = 0; type < ledger_.size(); ++type) {
      Books& books = ledger_[type];
      books.total = 0;
      for (auto& [jobs, unit] : books.units) {
        unit.deficit += unit.x * (now_ - allocated_) - (unit.time - kHalf);  // 180 of a new pair
        unit.time = kHalf;
        books.total += kHalf;
        unit.x = chosen.contains(jobs) ? part_of(jobs, type, units) : 0;
      }
    }
    for (const JobId id : present_) of(id).is_planned = true;
    allocated_ = now_;
    changed_ = false;
  }

  /// Of the time, as one of so many.
  double part_of(const Combination& jobs, std::size_t type, std::size_t all) {
    const auto even = [&](std::size_t at) {
      return gpus_[at] / static_cast<double>(all) / of(jobs.front()).gpus;
    };
    const double sum = even(2) + even(1) + even(0);
    return sum > 1 ? even(type) / sum : even(type);
  }

  /// The largest claim first; of equal ones that of the job that came first, alone before in pairs.
  std::vector<Combination> by_claim(std::size_t type) {
    const Books& books = ledger_[type];
    using Claim = std::tuple<double, double, double>;
    std::vector<std::pair<Claim, Combination>> claims;
    const auto add = [&](const Combination& jobs) {
      const Unit& unit = books.units.at(jobs);
      const bool is_new = unit.time == 0 || books.total == 0;
      const double claim = is_new ? unit.x * 1e9 : unit.x / (unit.time / books.total);
      claims.push_back({{unit.x == 0 ? 0 : claim, unit.deficit, unit.x}, jobs});
    };
    for (const JobId id : present_) {
      add({id});
      for (const JobId other : present_) {
        if (other < id && of(other).gpus == of(id).gpus) add({other, id});
      }
    }
    std::ranges::stable_sort(claims, std::greater(), &std::pair<Claim, Combination>::first);
    std::vector<Combination> order;
    for (auto& [claim, jobs] : claims) order.push_back(std::move(jobs));
    return order;
  }

  /// Places combinations by their claims, and runs each for so many whole steps.
  void round() {
    std::set<JobId> taken;
    std::vector<Booking> booked;
    for (std::size_t type = 0; type < kGavelTypes.size(); ++type) {
      int left = gpus_[type];
      for (const Combination& jobs : by_claim(type)) {
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
      one.is_booked = true;
      end = std::max(end, one.finish);
      ++running_;
      for (std::size_t i = 0; i < one.jobs.size(); ++i) of(one.jobs[i]).left -= steps[i];
    }
    std::ranges::stable_sort(booked, [](const Booking& one, const Booking& other) {
      return std::tuple(-one.finish, one.jobs.size(), one.jobs) <
             std::tuple(-other.finish, other.jobs.size(), other.jobs);
    });
    for (const Booking& one : booked) {
      if (!one.is_booked) continue;
      Books& books = ledger_[one.type];
      books.units[one.jobs].time += one.finish - last_end_;
      books.total += one.finish - last_end_;
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
  std::unique_ptr<Allocator> rule_ = random_pairs();
  std::array<Books, 3> ledger_;
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

class GavelGandiva : public testing::TestWithParam<std::tuple<const char*, std::array<int, 3>>> {
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

TEST_P(GavelGandiva, ByItsRulesGivesEveryPlacementAndEveryCompletionTime) {
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
  EXPECT_EQ(ours.placings.size(), theirs.placings.size());
  std::vector<Placing> other;
  std::ranges::set_symmetric_difference(ours.placings, theirs.placings, std::back_inserter(other));
  if (!other.empty())
    ADD_FAILURE() << other.size() << " differ, the first at " << std::get<0>(other[0]);
  ASSERT_EQ(ours.jobs.size(), theirs.jobs.size());
  std::size_t equal = 0;
  for (std::size_t i = 0; i < theirs.jobs.size(); ++i)
    equal += ours.jobs[i] == theirs.jobs[i] ? 1 : 0;
  EXPECT_EQ(equal, theirs.jobs.size());
}

INSTANTIATE_TEST_SUITE_P(Runs, GavelGandiva,
                         testing::Values(std::tuple("mmf", std::array{8, 16, 24}),
                                         std::tuple("mmf18", std::array{4, 6, 8})));

}  // namespace
}  // namespace berth::test
