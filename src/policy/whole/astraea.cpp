// ASTRAEA's lease scheduler with its eight orders, exactly; and two of them in our own form.
#include <array>
#include <memory>
#include <utility>

#include "policy/policies.hpp"
#include "policy/whole/leases.hpp"

namespace berth {

constexpr Key kLeaseKey{.name = "lease",
                        .type = KeyType::Time,
                        .usual = "15m",
                        .least = micros(seconds(1)),
                        .most = kYear,
                        .what = "A job that gets GPUs keeps them for this long."};
constexpr Key kPassKey{.name = "period",
                       .type = KeyType::Time,
                       .usual = "10s",
                       .least = micros(seconds(1)),
                       .most = micros(hours(1)),
                       .what = "Leases are given and end this often, counted from the start."};
constexpr Key kStarvationKey{
    .name = "starvation",
    .type = KeyType::Time,
    .usual = "6h",
    .least = micros(seconds(1)),
    .most = kYear,
    .what = "A job that waits this long goes before all others of its user, and none passes it."};
constexpr Key kYoungKey{
    .name = "young",
    .type = KeyType::Time,
    .usual = "5m",
    .least = 0,
    .most = kYear,
    .what = "A lease younger than this may be taken back for a job that never ran; 0: none is."};
constexpr Key kTriedKey{.name = "tried",
                        .type = KeyType::Time,
                        .usual = "2m",
                        .least = 0,
                        .most = kYear,
                        .what = "The first lease of a job is not taken back before this."};
constexpr Key kBlockKey{
    .name = "block",
    .type = KeyType::Count,
    .usual = "0",
    .least = 0,
    .most = 1,
    .what = "1: no job of a user passes one that gets no lease. 0: any may, but one that starves."};
constexpr Key kFixedQuotasKey{.name = "fixed_quotas",
                              .type = KeyType::Count,
                              .usual = "0",
                              .least = 0,
                              .most = 1,
                              .what = "1: no user has more than its quota. 0: idle GPUs are lent."};

constexpr auto kFairLeaseKeys = std::to_array<Key>(
    {kLeaseKey, kPassKey, kStarvationKey, kYoungKey, kTriedKey, kBlockKey, kFixedQuotasKey});
constexpr auto kPlainLeaseKeys =
    std::to_array<Key>({kLeaseKey, kPassKey, kStarvationKey, kBlockKey, kFixedQuotasKey});

constexpr About kAstraeaFairness{
    .title = "ASTRAEA's artifact: leases to jobs by fairness, among users with quotas; preemptive.",
    .rule =
        "A user's quota = GPUs x weight / all weights. A pass each `period`. A lease "
        "that "
        "is `lease` old is over, and its job waits. Free GPUs are lent, job by job: to the user "
        "with the least GPUs / quota below 0.2, else with the least GPU time used / quota of the "
        "last 24 hours. Of a user's jobs those that waited for `starvation` go first, then those "
        "with the "
        "least fairness = GPU time used / deserved, of equal parts of the quota. For a job that "
        "never ran, leases of its user younger than `young` are taken back, the most fair first.",
    .reads = "Weights, GPUs asked for, run time, arrivals.",
    .source = "The artifact of ASTRAEA (Ye et al., TPDS 2021), commit 7ab4bac565.",
    .differs =
        "There a job whose lease is taken back loses the work of that lease, and no other stop "
        "costs "
        "anything; here the machine says what it costs. There a job larger than its user's quota "
        "is dropped; here it waits until so many GPUs are lent.",
    .cost = "O(jobs log jobs + GPUs x users) and a placement for each job that runs, per period.",
    .proof =
        "The artifact's own runs: the rule alone, fed as there, gives every row of all twelve "
        "(7,328 jobs: end, leases, preemptions, waiting, fairness) and each user's fairness "
        "(doc/results/rounds.md, test/paper/astraea_test.cpp).",
    .needs = {.preemption = true},
    .keys = kFairLeaseKeys};

constexpr About kAstraeaDiscFairness = like(
    kAstraeaFairness,
    {.title = "ASTRAEA's artifact: leases by classes of fairness; preemptive.",
     .rule = "As `astraea/fairness`, by the class of a job's fairness: 0 for none so far, 1 below "
             "0.47, 2 below 0.82, 3 below 1.23, 4 below 2.12, else 5; in a class by arrival."});
constexpr About kAstraeaJobReward = like(
    kAstraeaFairness,
    {.title = "ASTRAEA's artifact: leases by classes of fairness, small jobs first; preemptive.",
     .rule = "As `astraea/disc-fairness`, in a class by GPUs asked for, fewest first."});
constexpr About kAstraeaThemis = [] {
  About about = like(
      kAstraeaFairness,
      {.title = "ASTRAEA's artifact: leases by Themis' finish-time fairness; preemptive.",
       .rule = "As `astraea/fairness`, by rho, largest first: rho = time since submission / (run "
               "time x fairness + time without GPUs + run time left).",
       .reads = "Weights, GPUs asked for, run time, estimate, arrivals.",
       .source =
           "The artifact of ASTRAEA (Ye et al., TPDS 2021), commit 7ab4bac565, which restates "
           "Themis (Mahajan et al., NSDI 2020)."});
  about.needs.estimates = true;
  return about;
}();
constexpr About kAstraea2das = like(
    kAstraeaFairness,
    {.title = "ASTRAEA's artifact: leases by run time, least first; preemptive.",
     .rule = "As `astraea/fairness`, by run time, not times GPUs; no lease is taken back.",
     .differs = "A job larger than its user's quota is dropped there; here it waits until so many "
                "GPUs are lent.",
     .keys = kPlainLeaseKeys});
constexpr About kAstraeaFifo =
    like(kAstraea2das, {.title = "ASTRAEA's artifact: leases by arrival; preemptive.",
                        .rule = "As `astraea/fairness`, by arrival; no lease is taken back."});
constexpr About kAstraeaShortest = [] {
  About about =
      like(kAstraea2das,
           {.title = "ASTRAEA's artifact: leases by run time left, least first; preemptive.",
            .rule = "As `astraea/fairness`, by run time left; no lease is taken back.",
            .reads = "Weights, GPUs asked for, run time, estimate, arrivals."});
  about.needs.estimates = true;
  return about;
}();
constexpr About kAstraeaSmallest = like(
    kAstraea2das, {.title = "ASTRAEA's artifact: leases by GPUs, fewest first; preemptive.",
                   .rule = "As `astraea/fairness`, by GPUs asked for; no lease is taken back."});

constexpr About kAstraea = like(
    kAstraeaFairness,
    {.title = "ASTRAEA: leases to jobs by fairness, among users with quotas; preemptive.",
     .rule = "As `astraea/fairness`, and a pass whenever jobs come or go. A job whose lease is "
             "over runs "
             "on while nobody gets its GPUs. Leases are taken back only where that gives a job its "
             "GPUs.",
     .source = "ASTRAEA (Ye et al., TPDS 2021).",
     .differs =
         "The artifact looks at jobs every 10 s, and late at some that end. Places are real, "
         "and suspending a job costs what it costs.",
     .proof =
         "Its parts are those of `astraea/fairness`. What of the claim holds where checkpoints "
         "cost time is in doc/results/rounds.md."});
constexpr About kThemis = [] {
  About about = like(
      kAstraeaThemis,
      {.title = "Themis as ASTRAEA restates it: leases by finish-time fairness; preemptive.",
       .rule = "As `astraea`, by rho as in `astraea/themis`.",
       .source =
           "Themis (Mahajan et al., NSDI 2020) as ASTRAEA (Ye et al., TPDS 2021) restates it.",
       .differs =
           "Themis has an auction, in which applications bid; here the leases are ASTRAEA's. "
           "Otherwise as `astraea`.",
       .proof =
           "Its parts are those of `astraea/themis`. What of the claim holds where checkpoints "
           "cost time is in doc/results/rounds.md."});
  return about;
}();

// ---- The orders --------------------------------------------------------------------------------

LeaseRank by_fairness(const LeasedJob& job, Instant now) {
  return {fairness_of(job, now), micros(job.submitted)};
}
LeaseRank by_fairness_class(const LeasedJob& job, Instant now) {
  return {fairness_class(fairness_of(job, now)), micros(job.submitted)};
}
LeaseRank by_reward(const LeasedJob& job, Instant now) {
  return {fairness_class(fairness_of(job, now)), job.gpus.raw(), micros(job.submitted)};
}
LeaseRank by_rho(const LeasedJob& job, Instant) { return {-job.rho}; }
LeaseRank by_executed(const LeasedJob& job, Instant) {
  return {micros(job.executed), micros(job.submitted)};
}
LeaseRank by_submission(const LeasedJob& job, Instant) { return {micros(job.submitted)}; }
LeaseRank by_left(const LeasedJob& job, Instant) {
  return {micros(job.left), micros(job.submitted)};
}
LeaseRank by_size(const LeasedJob& job, Instant) { return {job.gpus.raw(), micros(job.submitted)}; }

namespace {

std::unique_ptr<Policy> leased(const char* name, LeaseRules rules, const Keys& keys,
                               std::unique_ptr<Placer> placer) {
  rules.period = keys.time("period");
  rules.lease = keys.time("lease");
  rules.starvation = keys.time("starvation");
  if (keys.has("young")) rules.young = keys.time("young");
  if (keys.has("tried")) rules.tried = keys.time("tried");
  if (keys.number("block") == 1) rules.behind = LeaseRules::Behind::Wait;
  if (keys.number("fixed_quotas") == 1) rules.quotas = LeaseRules::Quotas::Fixed;
  return by_leases(name, rules, std::move(placer));
}

LeaseRules artifact(decltype(LeaseRules::rank) rank) {
  return {.rank = rank, .form = LeaseRules::Form::Artifact};
}

}  // namespace

std::unique_ptr<Policy> astraea_fairness(const Keys& keys, std::unique_ptr<Placer>, const Knobs&) {
  return leased("astraea/fairness", artifact(by_fairness), keys, count({}));
}
std::unique_ptr<Policy> astraea_disc_fairness(const Keys& keys, std::unique_ptr<Placer>,
                                              const Knobs&) {
  return leased("astraea/disc-fairness", artifact(by_fairness_class), keys, count({}));
}
std::unique_ptr<Policy> astraea_job_reward(const Keys& keys, std::unique_ptr<Placer>,
                                           const Knobs&) {
  return leased("astraea/job-reward", artifact(by_reward), keys, count({}));
}
std::unique_ptr<Policy> astraea_themis(const Keys& keys, std::unique_ptr<Placer>, const Knobs&) {
  return leased("astraea/themis", artifact(by_rho), keys, count({}));
}
std::unique_ptr<Policy> astraea_2das(const Keys& keys, std::unique_ptr<Placer>, const Knobs&) {
  return leased("astraea/2das", artifact(by_executed), keys, count({}));
}
std::unique_ptr<Policy> astraea_fifo(const Keys& keys, std::unique_ptr<Placer>, const Knobs&) {
  return leased("astraea/fifo", artifact(by_submission), keys, count({}));
}
std::unique_ptr<Policy> astraea_shortest(const Keys& keys, std::unique_ptr<Placer>, const Knobs&) {
  return leased("astraea/shortest-remain-first", artifact(by_left), keys, count({}));
}
std::unique_ptr<Policy> astraea_smallest(const Keys& keys, std::unique_ptr<Placer>, const Knobs&) {
  return leased("astraea/smallest-first", artifact(by_size), keys, count({}));
}
std::unique_ptr<Policy> astraea(const Keys& keys, std::unique_ptr<Placer> placer, const Knobs&) {
  return leased("astraea", {.rank = by_fairness}, keys, std::move(placer));
}
std::unique_ptr<Policy> themis(const Keys& keys, std::unique_ptr<Placer> placer, const Knobs&) {
  return leased("themis", {.rank = by_rho}, keys, std::move(placer));
}

}  // namespace berth
