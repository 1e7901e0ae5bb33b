// AlloX: jobs of one GPU are matched with places in the queues of GPUs, so that they end soonest in
// the mean.
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/wide.hpp"
#include "core/members.hpp"
#include "policy/allocate/gavel.hpp"
#include "policy/allocate/options.hpp"
#include "policy/allocate/work_left.hpp"
#include "policy/kit/memory.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kGavelAllox{
    .title = "AlloX: waiting jobs of one GPU are matched with places in the queues of free GPUs.",
    .rule =
        "A plan gives each job that has no GPU of its own a place in the queue of a GPU that no "
        "job has, so that the sum of place x time of the job on that type is least; the last place "
        "of a queue counts 1, the one before 2. The first of each queue has its GPU all the time, "
        "until it ends; the others are matched again with the next plan. Rounds as in "
        "`gavel/max-min-perf`; jobs of several GPUs get what is idle.",
    .reads =
        "Estimate, speed on each type of GPU (`--speeds`), GPUs asked for, GPUs per type, run "
        "time, arrivals.",
    .source =
        "AlloX (Le et al., EuroSys 2020) as Gavel (Narayanan et al., OSDI 2020) has it: `allox` of "
        "its artefact.",
    .differs =
        "At most 200 waiting jobs are matched, the first that came. The artefact refuses jobs of "
        "several GPUs. Which of several jobs at one place begins a queue is chance there, the one "
        "that came first here. A job without an estimate, or past it, is taken to be half done.",
    .cost =
        "A linear program of waiting jobs x types x places columns per plan, solved beside the "
        "engine; else as `gavel/isolated`.",
    .proof =
        "The means that the artefact prints for 1,000 jobs at several rates of arrival "
        "(doc/results/rounds.md, test/paper/rounds_slow_test.cpp).",
    .needs = {.preemption = true, .estimates = true},
    .keys = kGavelKeys};

namespace {

/// Jobs of a program, whose columns grow with their square: berthd's memory must not.
constexpr std::size_t kMostMatched = 200;

/// A column of the program.
struct QueuePlace {
  Option option;
  std::uint32_t from_end = 1;
};
inline auto members(QueuePlace& v) { return std::tie(v.option, v.from_end); }

struct AlloxMemory {
  std::map<JobId, std::uint8_t> kept;  ///< Jobs with a GPU of their own, and its type.
  std::vector<QueuePlace> asked;
};
inline auto members(AlloxMemory& v) { return std::tie(v.kept, v.asked); }

class Allox final : public Allocator {
 public:
  Proposal propose(const ClusterView& view, std::span<const JobId> jobs,
                   const TimePlan& plan) override {
    const Options options(view, jobs, Speed::Measured);
    const std::vector<std::int64_t> free = free_after(view, options);
    Proposal proposal{.options = options.plain(), .shares = {}};
    memory_.asked.clear();
    std::vector<const Rated*> choices;
    std::set<JobId> waiting;
    for (const Rated& rated : options.all()) {
      const bool is_kept = memory_.kept.contains(rated.option.jobs.front());
      if (is_kept || options.gpus_asked(rated.job) > 1 || free[rated.option.type] == 0) continue;
      if (waiting.size() == kMostMatched && !waiting.contains(rated.option.jobs.front())) break;
      choices.push_back(&rated);
      waiting.insert(rated.option.jobs.front());
    }
    proposal.shares = kept_shares(proposal.options);
    if (choices.empty()) return proposal;
    proposal.question = question(view, plan, choices, free, waiting.size());
    return proposal;
  }

  std::vector<TimeShare> shares(std::span<const Option> options, const Answer& answer) override {
    if (answer.values.size() == memory_.asked.size()) take(answer.values);
    return kept_shares(options);
  }

  Snapshot save() const override { return saved(memory_); }
  Expected<void> restore(const Snapshot& bytes) override {
    return restore_into(memory_, bytes, "AlloX", [](const AlloxMemory&) { return true; });
  }

 private:
  /// GPUs of each type that no job has for itself. A job that is no more, or is on or planned
  /// for another type by now, where it stays, gives back the one that it was to have.
  std::vector<std::int64_t> free_after(const ClusterView& view, const Options& options) {
    std::set<std::pair<JobId, std::uint8_t>> possible;
    for (const Rated& rated : options.all()) {
      possible.emplace(rated.option.jobs.front(), rated.option.type);
    }
    std::erase_if(memory_.kept, [&](const auto& one) { return !possible.contains(one); });
    std::vector<std::int64_t> free;
    for (std::uint8_t type = 0; type < view.cluster().type_names().size(); ++type) {
      free.push_back(options.gpus_of(type));
    }
    for (const auto& [job, type] : memory_.kept) {
      if (type < free.size()) --free[type];
    }
    for (std::int64_t& gpus : free) gpus = std::max<std::int64_t>(0, gpus);
    return free;
  }

  std::vector<TimeShare> kept_shares(std::span<const Option> options) const {
    std::vector<TimeShare> shares;
    for (const Option& option : options) {
      const auto found = memory_.kept.find(option.jobs.front());
      const bool is_own = found != memory_.kept.end() && found->second == option.type;
      shares.push_back({.part = is_own ? 1 : 0, .of = 1});
    }
    return shares;
  }

  /// Each waiting job at one place at least, each place of a type as often as it has free GPUs.
  Question question(const ClusterView& view, const TimePlan& plan,
                    std::span<const Rated* const> choices, std::span<const std::int64_t> free,
                    std::size_t places) {
    LinearProgram program;
    std::map<std::size_t, Row> of_job;
    std::map<std::pair<std::uint8_t, std::size_t>, Row> of_place;
    for (const Rated* const rated : choices) {
      const JobView job = view.job(rated->option.jobs.front());
      const Wide left = micros(work_left(job, plan));
      const auto time = static_cast<std::int64_t>(left * 1'000 / rated->speed.ppm());  // ms
      for (std::size_t place = 1; place <= places; ++place) {
        const std::uint32_t column = program.columns++;
        memory_.asked.push_back({rated->option, static_cast<std::uint32_t>(place)});
        program.gain.push_back({column, -time * static_cast<std::int64_t>(place)});
        of_job[rated->job].terms.push_back({column, -Rate::kWhole});
        of_place[{rated->option.type, place}].terms.push_back({column, Rate::kWhole});
      }
    }
    for (auto& [job, row] : of_job) {
      row.most = -Rate::kWhole;
      program.rows.push_back(std::move(row));
    }
    for (auto& [at, row] : of_place) {
      row.most = free[at.first] * Rate::kWhole;
      program.rows.push_back(std::move(row));
    }
    return {std::move(program)};
  }

  /// The first of each queue have their GPUs from now on. Where jobs are alike the answer is in
  /// between, so each job gets the place that it has most of.
  void take(std::span<const std::int64_t> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return values[i]; });
    std::set<JobId> placed;
    std::map<std::uint8_t, std::map<std::uint32_t, std::vector<std::size_t>>> queues;
    for (const std::size_t i : order) {
      const auto& [option, from_end] = memory_.asked[i];
      if (!placed.insert(option.jobs.front()).second) continue;
      queues[option.type][from_end].push_back(i);
    }
    for (auto& [type, places] : queues) {
      std::size_t longer = 0;  // queues with a job further from the end
      for (auto place = places.rbegin(); place != places.rend(); ++place) {
        std::vector<std::size_t>& columns = place->second;
        std::ranges::sort(columns);  // by arrival
        for (std::size_t i = 0; i + longer < columns.size(); ++i) {
          memory_.kept[memory_.asked[columns[i]].option.jobs.front()] = type;
        }
        longer = std::max(longer, columns.size());
      }
    }
  }

  AlloxMemory memory_;
};

}  // namespace

std::unique_ptr<Policy> gavel_allox(const Keys& keys, std::unique_ptr<Placer> placer,
                                    const Knobs&) {
  const RoundRules rules = gavel_rules(keys, RoundRules::Types::Listed, TimePlan::Unowed::Last);
  return in_rounds("gavel/allox", rules, std::move(placer), std::make_unique<Allox>());
}

}  // namespace berth
