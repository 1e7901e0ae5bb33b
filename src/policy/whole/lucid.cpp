// Lucid: short jobs first, two to a GPU where neither feels much of the other.
#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/members.hpp"
#include "policy/kit/diff.hpp"
#include "policy/kit/filler.hpp"
#include "policy/kit/job_list.hpp"
#include "policy/kit/memory.hpp"
#include "policy/kit/tally.hpp"
#include "policy/policies.hpp"
#include "policy/whole/lucid_rule.hpp"

namespace berth {

constexpr auto kLucidPackingKeys = std::to_array<Key>({
    {.name = "pack_above",
     .type = KeyType::Factor,
     .usual = "2",
     .least = 0,
     .most = 1'000'000'000,
     .what = "Jobs are packed while more than so many arrive in ten minutes, by the mean of the "
             "last fifty. 0: one is enough."},
});

constexpr About kLucidPacking{
    .title = "Lucid: the least GPU time first, in pairs on GPUs where neither feels the other.",
    .rule =
        "Jobs in order of key = estimate x GPUs. The label of a job is 0 if its model runs at 95 % "
        "of its speed alone or more, on average over the neighbours beside which it was measured "
        "(without a table of pairs: over those beside which its program's speed was learned), "
        "1 from 85 % on, else 2. A job of up to a node's GPUs goes on those of the first running "
        "job, in order of start, that shares with nobody and has as many, if their memory is more "
        "than both need, both labels make up 2 at most, and its key is at most twice the other's. "
        "Without such a job it goes to GPUs that nobody is on, by placement `lucid`. What finds no "
        "place is passed over. While no more than `pack_above` jobs arrive in ten minutes none is "
        "packed, and a job without a place blocks all behind it. No job is preempted.",
    .reads =
        "Estimate or time limit, GPUs asked for, GPU memory, speeds of models beside each other "
        "(`--speeds`, else as learned), arrivals.",
    .source = "Lucid (Hu et al., ASPLOS 2023), simulator 63685a3.",
    .differs =
        "There jobs first run for 200 s on nodes of a profiler, which measures memory and "
        "labels; here jobs state their memory, and speeds of pairs are a table's, or learned from "
        "runs that shared a GPU under another policy: without any, this one packs nothing. Labels "
        "there are made by hand, and arrivals are forecast by a model; here those of the last "
        "fifty minutes count. There a job that joined another which leaves first never recovers "
        "its "
        "speed, a slip. Admission has its guard band, and a job without a memory shares with "
        "nobody. A job without estimate and limit goes last.",
    .cost =
        "O(jobs + waiting x running jobs with as many GPUs) per pass, and a placement per start.",
    .proof =
        "The start, end and wait of each of the simulator's 2,000 jobs and its 619 pairs, with its "
        "profiler, labels and forecast (test/paper/lucid_test.cpp).",
    .needs = {.estimates = true},
    .keys = kLucidPackingKeys};

namespace {

constexpr Duration kLucidPast = minutes(50);  ///< Arrivals in it are counted.

struct LucidMemory {
  Snapshot jobs;
  std::vector<Instant> arrivals;
};
inline auto members(LucidMemory& v) { return std::tie(v.jobs, v.arrivals); }

class LucidPacking final : public Policy {
 public:
  explicit LucidPacking(const Keys& keys)
      : pack_above_(keys.number("pack_above")), placer_(lucid({})) {}

  Decisions decide(const ClusterView& view, std::span<const Event> events) override {
    jobs_.update(view, events, *placer_);
    count_arrivals(view);
    Decisions decisions;
    begin_jobs(view, decisions);
    jobs_.reject_impossible(decisions);
    return decisions;
  }

  std::optional<Refused> refused(JobId id, const ClusterView& view) const override {
    if (!packs_) return std::nullopt;
    Refused refused = waits_its_turn(id, view, GateWord::What::Ahead);
    if (*packs_ && refused.refusal.why != Why::Limit) {
      refused = {.ask = unshared(refused.ask), .refusal = {}};
    }
    return refused;
  }

  Snapshot save() const override {
    return saved(LucidMemory{.jobs = jobs_.save(), .arrivals = arrivals_});
  }
  Expected<void> restore(const Snapshot& bytes) override {
    LucidMemory memory;
    const auto sane = [](const LucidMemory& read) { return std::ranges::is_sorted(read.arrivals); };
    if (auto done = restore_into(memory, bytes, "lucid", sane); !done) return done;
    if (auto done = jobs_.restore(memory.jobs); !done) return done;
    arrivals_ = std::move(memory.arrivals);
    return {};
  }

 private:
  void count_arrivals(const ClusterView& view) {
    for (const JobId id : jobs_.arrived()) arrivals_.push_back(view.job(id).submitted());
    std::ranges::sort(arrivals_);
    std::erase_if(arrivals_, [&](Instant at) { return later(at, kLucidPast) <= view.now(); });
    packs_ = std::ssize(arrivals_) * 1000 > pack_above_ * (kLucidPast / minutes(10));
  }

  /// On GPUs that nobody is on.
  static Ask unshared(Ask ask) {
    if (ask.gpus() > GpuCount(0)) ask.request.gpu.sharing = Sharing::Alone;
    return ask;
  }

  static LucidJob for_rule(const JobView& job, const ClusterView& view) {
    return {.gpus = job.gpus().raw(),
            .memory = job.request().gpu.vram,
            .label = lucid_label(view.mean_beside(job)),
            .key = lucid_key(job.estimate(), job.gpus().raw())};
  }

  static Bytes smallest(const Cluster& cluster, const Placement& place) {
    Bytes least = kMostBytes;
    for (const GpuId gpu : place.gpus) least = std::min(least, cluster.gpu(gpu).capacity);
    return least;
  }

  void begin_jobs(const ClusterView& view, Decisions& decisions) const {
    std::vector<JobView> waiting;
    std::vector<LucidJob> jobs;
    std::vector<JobView> hosts;
    for (const JobId id : jobs_.ids()) {
      const JobView job = view.job(id);
      if (is_waiting(job.state())) {
        waiting.push_back(job);
        jobs.push_back(for_rule(job, view));
      } else if (is_running(job.state()) && job.gpus() > GpuCount(0)) {
        hosts.push_back(job);
      }
    }
    std::ranges::sort(hosts, {}, [](const JobView& job) { return job.grant_number(); });
    std::vector<LucidRunning> running;
    std::vector<Placement> places;
    for (const JobView& job : hosts) {
      places.push_back(placement_of(job.grant()));
      const auto shares = [&](GpuId gpu) { return view.tenants_of(gpu).size() > 1; };
      running.push_back({.job = for_rule(job, view),
                         .gpu_memory = smallest(view.cluster(), places.back()),
                         .is_packed = std::ranges::any_of(places.back().gpus, shares)});
    }
    Trial trial = view.trial();
    Filler filler(*placer_, trial);
    Tally tally(view, Tally::From::Now);
    const LucidRules rules{.packs = *packs_,
                           .most_gpus = static_cast<std::int64_t>(view.cluster().largest_node())};
    lucid_pass(jobs, running, rules,
               [&](std::size_t at, std::optional<std::size_t> host) -> std::optional<Bytes> {
                 const JobId id = waiting[at].id();
                 const Ask ask = ask_of(waiting[at]);
                 if (!tally.allows(id, ask.gpus())) return std::nullopt;
                 auto place = host ? std::optional(places[*host]) : filler.place(unshared(ask), id);
                 if (!place || trial.look(*place, ask, id) != Why::Fits) return std::nullopt;
                 trial.put(ask, *place);
                 tally.take(id, ask.gpus());
                 decisions.list.push_back(Start{.job = id, .placement = *place});
                 places.push_back(std::move(*place));
                 return smallest(view.cluster(), places.back());
               });
  }

  std::int64_t pack_above_;  ///< In thousandths.
  std::unique_ptr<Placer> placer_;
  JobList jobs_;  ///< In order of arrival.
  std::vector<Instant> arrivals_;
  std::optional<bool> packs_;  ///< As the last pass had it.
};

}  // namespace

std::unique_ptr<Policy> lucid_packing(const Keys& keys, std::unique_ptr<Placer>, const Knobs&) {
  return std::make_unique<LucidPacking>(keys);
}

}  // namespace berth
