#include "dst/plan.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "policy/registry.hpp"

namespace berth::dst {

namespace {

constexpr Bytes kGib{std::int64_t{1} << 30};

/// `bytes` times a fraction of a hundred.
Bytes percent(Bytes bytes, std::int64_t of_hundred) {
  return Bytes(bytes.raw() / 100 * of_hundred);
}

Cluster make_cluster(Rng& rng) {
  Cluster cluster;
  const ShareMode mode = rng.one_in(6) ? ShareMode::Exclusive : ShareMode::TimeSlice;
  for (std::int64_t n = rng.between(1, 3); n > 0; --n) {
    if (cluster.nodes().empty() || rng.one_in(4)) cluster.add_switch();
    cluster.add_node({.name = "n" + std::to_string(n),
                      .gpus = static_cast<std::uint32_t>(rng.between(1, 4)),
                      .vram = kGib * (8 * rng.between(2, 5)),
                      .context = rng.one_in(2) ? Bytes(300 << 20) : Bytes(0),
                      .type = rng.one_in(4) ? "other" : "gpu",
                      .share_mode = mode,
                      .slots = static_cast<std::uint16_t>(rng.between(1, 4)),
                      .cpu = CpuMilli(1000 * rng.between(8, 64))});
  }
  return cluster;
}

/// Keys of headroom, behind its name.
std::string make_keys(Rng& rng) {
  const std::int64_t short_bound = rng.between(10, 60);
  const std::int64_t medium_bound = short_bound + rng.between(10, 300);
  std::string keys;
  const auto add = [&](const char* name, std::int64_t value) {
    keys += ":" + std::string(name) + "=" + std::to_string(value);
  };
  add("short_bound", short_bound);
  add("medium_bound", medium_bound);
  add("fairness", rng.between(0, 3));
  add("overdue_after", rng.between(0, 3));
  add("share_after", rng.between(0, 120));
  return keys;
}

template <class Entry>
std::string any_of(std::span<const Entry> entries, Rng& rng) {
  const std::int64_t at = rng.between(0, std::ssize(entries) - 1);
  return std::string(entries[static_cast<std::size_t>(at)].name);
}

/// Whether it decides what would run if nothing did, and moves jobs to get
/// there.
bool repacks(const std::string& policy) { return choose(policy)->policy->whole != nullptr; }

AdmissionMode make_mode(Rng& rng) {
  const std::int64_t mode = rng.between(0, 7);  // the promise is what matters most
  return mode <= 2 ? static_cast<AdmissionMode>(mode + 1) : AdmissionMode::Guarantee;
}

/// No repacking under `free-memory`: what would be free if nothing ran,
/// measured figures do not say, so such a policy stops what runs for its own
/// memory, and starts it again, without end.
std::string make_policy_name(AdmissionMode mode, Rng& rng) {
  if (rng.one_in(4)) return "headroom";
  std::string name = any_of(policies(), rng);
  while (mode == AdmissionMode::FreeMemory && repacks(name)) name = any_of(policies(), rng);
  if (repacks(name) || rng.one_in(2)) return name;
  const std::string combined = name + "+" + any_of(backfills(), rng);
  return choose(combined) ? combined : name;  // not every order goes with every backfill
}

live::Rules make_rules(AdmissionMode mode, Rng& rng) {
  live::Rules rules{.policy = make_policy_name(mode, rng), .place = any_of(placers(), rng)};
  Settings& settings = rules.settings;
  settings.admission.mode = mode;
  constexpr std::string_view kName = "headroom";
  if (rules.policy.starts_with(kName)) rules.policy.insert(kName.size(), make_keys(rng));
  settings.can_suspend = rng.one_in(3);
  settings.max_failed_starts = static_cast<std::int32_t>(rng.between(2, 5));
  if (rng.one_in(4)) settings.limits.jobs = static_cast<std::int32_t>(rng.between(1, 3));
  return rules;
}

GpuRequest make_request(const Cluster& cluster, Rng& rng) {
  const std::int64_t all = cluster.gpu_count().raw();
  GpuRequest gpu{.count = GpuCount(std::min(all, rng.between(1, 2))), .sharing = Sharing::Alone};
  if (rng.one_in(4)) gpu.count = GpuCount(rng.between(1, all));
  const std::int64_t kind = rng.between(0, 9);
  if (kind == 0) gpu.count = GpuCount(0);
  if (kind >= 2) gpu.vram = Bytes(rng.between(1, 40) << 29);
  if (kind >= 3) gpu.sharing = Sharing::Shared;
  if (kind == 9) gpu.milli = GpuMilli(rng.between(100, 700));
  if (rng.one_in(8)) gpu.types = 1;
  return gpu;
}

Script make_script(const Cluster& cluster, const Troubles& troubles, Rng& rng) {
  Script script;
  JobSpec& spec = script.spec;
  spec.user = UserId(static_cast<std::uint32_t>(rng.between(1000, 1002)));
  spec.request.gpu = make_request(cluster, rng);
  if (rng.one_in(2)) spec.request.cpu = CpuMilli(1000 * rng.between(1, 6));
  spec.duration_class = static_cast<DurationClass>(rng.between(0, 3));
  spec.retries = static_cast<std::int32_t>(rng.between(0, 2));
  spec.priority = static_cast<std::int32_t>(rng.between(0, 2));
  // Within the quantum of rotating policies: where nothing can be suspended, longer jobs that
  // compete would lose all their work at every turn, and none would ever end.
  script.work = Duration(rng.between(1, rng.one_in(3) ? 280'000'000 : 60'000'000));
  if (!rng.one_in(4)) spec.estimate = script.work;
  if (rng.one_in(5)) spec.time_limit = seconds(rng.between(1, 600));
  script.code = rng.one_in(6) ? 1 : 0;
  script.held = rng.one_in(10);
  const Bytes asked = spec.request.gpu.vram == Bytes(0) ? percent(cluster.largest_gpu(), 50)
                                                        : spec.request.gpu.vram;
  script.needs = percent(asked, rng.between(20, 100));
  if (troubles.overruns && rng.one_in(4)) script.needs = percent(asked, rng.between(105, 180));
  if (rng.one_in(3)) {
    Conditions& asks = spec.conditions.edit();
    asks.requeue_on_gpu_failure = rng.one_in(2);
    asks.requeues = asks.requeue_on_gpu_failure ? 3 : 0;
    if (rng.one_in(2)) asks.on_preempt = {.signal = 10, .grace = seconds(rng.between(1, 10))};
  }
  return script;
}

std::array<std::pair<bool*, const char*>, 16> list(Troubles& troubles) {
  return {{{&troubles.kills, "kills"},
           {&troubles.power_losses, "power losses"},
           {&troubles.restarts, "restarts"},
           {&troubles.full_disk, "full disk"},
           {&troubles.failed_syncs, "failed syncs"},
           {&troubles.lost_nodes, "lost nodes"},
           {&troubles.broken_gpus, "broken GPUs"},
           {&troubles.foreign_use, "foreign use"},
           {&troubles.failed_starts, "failed starts"},
           {&troubles.slow_starts, "slow starts"},
           {&troubles.lost_shims, "lost shims"},
           {&troubles.late_news, "late news"},
           {&troubles.old_news, "old news"},
           {&troubles.clock_jumps, "clock jumps"},
           {&troubles.overruns, "overruns"},
           {&troubles.second_thoughts, "second thoughts"}}};
}

}  // namespace

Plan plan_of(std::uint64_t seed) {
  Rng rng(seed);
  Plan plan{.seed = seed, .cluster = make_cluster(rng)};
  plan.rules = make_rules(make_mode(rng), rng);
  // Each kind in half of the seeds: with all of them at once some hide what
  // others would show.
  for (const auto& [trouble, name] : list(plan.troubles)) *trouble = rng.one_in(2);
  const std::int64_t jobs = rng.between(6, 20);
  Instant submit = kStart;
  for (std::int64_t i = 0; i < jobs; ++i) {
    if (!rng.one_in(3)) submit += Duration(rng.between(1, 60'000'000));
    plan.scripts.push_back(make_script(plan.cluster, plan.troubles, rng));
    plan.scripts.back().submit = submit;
  }
  plan.calm = submit + seconds(rng.between(10, 300));
  plan.probe = seconds(rng.between(5, 40));
  plan.snapshots = {.every = static_cast<std::size_t>(rng.between(200, 8'000)),
                    .part = static_cast<std::size_t>(rng.between(500, 4'000))};
  return plan;
}

live::Rules other_rules(const live::Rules& rules, Rng& rng) {
  // What was promised stays promised, and suspended processes stay what they
  // are.
  live::Rules other = make_rules(rules.settings.admission.mode, rng);
  // A repacking policy takes a suspended job for one that its placement can place.
  if (repacks(other.policy)) other.place = rules.place;
  other.settings.can_suspend = rules.settings.can_suspend;
  return other;
}

std::string to_text(const Plan& plan) {
  constexpr std::array kModes = {"guarantee", "declared", "free-memory", "none"};
  const auto mode = static_cast<std::size_t>(plan.rules.settings.admission.mode);
  std::string text = "seed " + std::to_string(plan.seed) + ": " + plan.rules.policy + "/" +
                     plan.rules.place + ", " + kModes[mode] + ", " +
                     std::to_string(plan.cluster.nodes().size()) + " nodes, " +
                     std::to_string(plan.cluster.gpus().size()) + " GPUs, " +
                     std::to_string(plan.scripts.size()) + " jobs";
  if (plan.rules.settings.can_suspend) text += ", can suspend";
  Troubles troubles = plan.troubles;
  std::string separator = "; ";
  for (const auto& [trouble, name] : list(troubles)) {
    if (*trouble) text += std::exchange(separator, ", ") + name;
  }
  return text;
}

}  // namespace berth::dst
