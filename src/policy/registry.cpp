#include "policy/registry.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/base/suggest.hpp"
#include "policy/pipeline/backfill.hpp"
#include "policy/pipeline/pipeline.hpp"

namespace berth {

constexpr auto kPolicies = std::to_array<PolicyEntry>({
    {"headroom", kHeadroom, headroom, "easy", "least-shared"},
    {"turns", kTurns, turns, "displace", "least-shared"},
    {"fifo", kFifo, fifo, "block"},
    {"fifo-skip", kFifoSkip, fifo, "skip"},
    {"easy", kFifoEasy, fifo, "easy"},
    {"conservative", kFifoConservative, fifo, "conservative"},
    {"exclusive", kExclusive, fifo, "skip", exclusive},
    {"priority", kPriority, priority, "easy"},
    {"smallest-first", kSmallestFirst, smallest_first, "skip"},
    {"sjf", kSjf, sjf, "skip"},
    {"srtf", kSrtf, srtf, "displace"},
    {"srsf", kSrsf, srsf, "displace"},
    {"las", kLas, las, "displace"},
    {"dlas", kDlas, dlas, "displace"},
    {"e-las", kELas, e_las, "displace"},
    {"e-las/rate", kELasRate, e_las_rate, "displace"},
    {"gittins", kGittins, gittins, "displace"},
    {"gittins-learned", kGittinsLearned, gittins_learned, "displace"},
    {"carma", kCarma, carma, "carma"},
    {"gandiva", kGandiva, gandiva},
    {"afs", kAfs, afs},
    {"afs-p", kAfsP, afs_p},
    {"optimus", kOptimus, optimus},
    {"max-min-gpus", kMaxMinGpus, max_min_gpus},
    {"lucid", kLucidPacking, lucid_packing, "lucid"},
    {"muri/s", kMuriS, muri_s},
    {"muri/l", kMuriL, muri_l},
    {"muri/l-unmatched", kMuriUnmatched, muri_unmatched},
    {"edf", kEdf, edf},
    {"elasticflow", kElasticFlow, elasticflow},
    {"synergy/drf", kSynergyDrf, synergy_drf},
    {"synergy/tetris", kSynergyTetris, synergy_tetris},
    {"max-min", kMaxMin, max_min},
    {"gandiva-fair", kGandivaFair, gandiva_fair},
    {"astraea", kAstraea, astraea},
    {"themis", kThemis, themis},
    {"hived", kHived, hived, "cells"},
    {"gavel/isolated", kGavelIsolated, gavel_isolated},
    {"gavel/fifo-perf", kGavelFifoPerf, gavel_fifo_perf},
    {"gavel/fifo-packed", kGavelFifoPacked, gavel_fifo_packed},
    {"gavel/gandiva", kGavelGandiva, gavel_gandiva},
    {"gavel/max-min", kGavelMaxMin, gavel_max_min},
    {"gavel/max-min-perf", kGavelMaxMinPerf, gavel_max_min_perf},
    {"gavel/max-min-packed", kGavelMaxMinPacked, gavel_max_min_packed},
    {"gavel/finish-time-fairness", kGavelFinishTime, gavel_finish_time},
    {"gavel/finish-time-fairness-perf", kGavelFinishTimePerf, gavel_finish_time_perf},
    {"gavel/allox", kGavelAllox, gavel_allox},
    {"gavel/makespan", kGavelMakespan, gavel_makespan},
    {"astraea/fairness", kAstraeaFairness, astraea_fairness, "count"},
    {"astraea/disc-fairness", kAstraeaDiscFairness, astraea_disc_fairness, "count"},
    {"astraea/job-reward", kAstraeaJobReward, astraea_job_reward, "count"},
    {"astraea/themis", kAstraeaThemis, astraea_themis, "count"},
    {"astraea/2das", kAstraea2das, astraea_2das, "count"},
    {"astraea/fifo", kAstraeaFifo, astraea_fifo, "count"},
    {"astraea/shortest-remain-first", kAstraeaShortest, astraea_shortest, "count"},
    {"astraea/smallest-first", kAstraeaSmallest, astraea_smallest, "count"},
    {"fair-share", kFairShare, fair_share, "skip"},
    {"drf", kDrf, drf, "skip"},
    {"capacity", kCapacity, capacity, "closest"},
    {"multifactor", kMultifactor, multifactor, "block"},
    {"wfp3", kWfp3, wfp3, "skip"},
    {"qssf", kQssf, qssf, "block"},
    {"helios/sjf", kHeliosSjf, sjf, "block"},
    {"tiresias/fifo", kTiresiasFifo, fifo, "block"},
    {"tiresias/fjf", kTiresiasFjf, fifo, "skip"},
    {"tiresias/sjf", kTiresiasSjf, tiresias_sjf},
    {"tiresias/shortest", kTiresiasShortest, tiresias_shortest},
    {"tiresias/shortest-gpu", kTiresiasShortestGpu, tiresias_shortest_gpu},
    {"tiresias/dlas", kTiresiasDlas, tiresias_dlas, "count"},
    {"tiresias/dlas-gpu", kTiresiasDlasGpu, tiresias_dlas_gpu, "count"},
    {"tiresias/dlas-gpu+fixjump", kTiresiasDlasGpuFixjump, tiresias_fixjump, "count"},
    {"tiresias/dlas-gpu-gittins", kTiresiasDlasGpuGittins, tiresias_gittins, "count"},
    {"pollux/tiresias", kPolluxTiresias, pollux_tiresias, "most free"},
});

constexpr auto kPlacers = std::to_array<PlacerEntry>({
    {"count", &kCount, count},
    {"yarn", &kYarn, yarn},
    {"first-fit", &kFirstFit, first_fit},
    {"best-fit", &kBestFit, best_fit},
    {"worst-fit", &kWorstFit, worst_fit},
    {"consolidated", &kConsolidated, consolidated},
    {"fullest", &kFullest, fullest},
    {"buddy", &kBuddy, buddy},
    {"lucid", &kLucid, lucid},
    {"least-shared", &kLeastShared, least_shared},
    {"topology", &kTopology, topology},
    {"random", &kRandom, random},
    {"best-fit-cpu-gpu", &kBestFitCpuGpu, best_fit_cpu_gpu},
    {"dot-prod", &kDotProd, dot_prod},
    {"gpu-packing", &kGpuPacking, gpu_packing},
    {"gpu-clustering", &kGpuClustering, gpu_clustering},
    {"fgd", &kFgd, fragmentation_descent},
});

namespace {

/// `; did you mean X?`, or "". In papers a name stands in capitals, as its system's alone, or
/// without that.
std::string suggestion(std::string_view typed, std::span<const std::string> names) {
  std::string name(typed);
  for (char& letter : name) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    if (letter == '_') letter = '-';
  }
  if (name.empty()) return "";
  for (const auto& fits :
       {+[](const std::string& one, const std::string& n) { return one == n; },
        +[](const std::string& one, const std::string& n) { return one.starts_with(n + "/"); },
        +[](const std::string& one, const std::string& n) { return one.ends_with("/" + n); }}) {
    const auto found =
        std::ranges::find_if(names, [&](const std::string& one) { return fits(one, name); });
    if (found != names.end()) return "; did you mean " + *found + "?";
  }
  return did_you_mean(name, names);
}

/// `others` are valid in its place too.
template <class Entry>
Expected<const Entry*> find(std::span<const Entry> entries, std::string_view name,
                            std::string_view what, std::span<const GateEntry> others = {}) {
  const auto found = std::ranges::find(entries, name, &Entry::name);
  if (found != entries.end()) return &*found;
  std::string known;
  std::vector<std::string> names;
  const auto add = [&](std::string_view one) {
    known.append(known.empty() ? "" : ", ").append(one);
    names.emplace_back(one);
  };
  for (const Entry& entry : entries) add(entry.name);
  for (const GateEntry& other : others) add(other.name);
  return fail(ErrorCode::NotFound, std::string(what) + " '" + std::string(name) +
                                       "' is unknown; valid names: " + known +
                                       suggestion(name, names));
}

/// Requires: an order.
const BackfillEntry& usual_backfill(const PolicyEntry& policy) {
  return *std::ranges::find(backfills(), policy.backfill, &BackfillEntry::name);
}

Expected<Keys> keys_of(const About& about, const NamedKeys& named, std::string_view what) {
  Keys keys(about.keys);
  for (const auto& [name, value] : named.keys) {
    if (auto done = keys.set(name, value); !done) {
      return fail(ErrorCode::InvalidArgument,
                  std::string(what) + " " + named.name + ": " + done.error().message);
    }
  }
  if (about.check == nullptr) return keys;
  if (auto done = about.check(keys); !done) {
    return fail(ErrorCode::InvalidArgument,
                std::string(what) + " " + named.name + ": " + done.error().message);
  }
  return keys;
}

/// Why this backfill does not go with an order of this kind; "" if it does.
std::string_view harm_of(const Passing& passing, DependsOn order) {
  if (order == DependsOn::Group) return passing.by_holdings;
  return order == DependsOn::Lane ? passing.by_lanes : std::string_view();
}

std::unexpected<Error> refuse(const std::string& why) {
  return fail(ErrorCode::InvalidArgument, why);
}

/// The keys of a part behind a `+`. None of them may be one that the policy itself has.
Expected<Keys> part_keys(const About& about, const NamedKeys& part, std::string_view what,
                         const PolicyEntry& policy) {
  const Keys own(policy.about->keys);
  const auto doubled =
      std::ranges::find_if(part.keys, [&](const auto& key) { return own.has(key.first); });
  if (doubled == part.keys.end()) return keys_of(about, part, what);
  return refuse(std::string(what) + " " + part.name + ": '" + doubled->first +
                "' is a key of policy " + std::string(policy.name) + " itself: write it there");
}

Expected<void> take_backfill(const BackfillEntry& entry, const NamedKeys& part, Chosen& chosen) {
  const DependsOn order = chosen.policy->order(chosen.keys, {})->depends_on();
  const bool is_its_own = &entry == &usual_backfill(*chosen.policy);
  if (const auto harm = harm_of(entry.about->passing, order); !harm.empty() && !is_its_own) {
    return refuse("policy " + std::string(chosen.policy->name) + " " + std::string(harm) +
                  ": it takes no backfill '" + part.name + "'");
  }
  auto keys = part_keys(*entry.about, part, "backfill", *chosen.policy);
  if (!keys) return std::unexpected(keys.error());
  chosen.backfill = &entry;
  chosen.backfill_keys = std::move(*keys);
  return {};
}

Expected<void> take_gate(const GateEntry& entry, const NamedKeys& part, Chosen& chosen) {
  auto keys = part_keys(*entry.about, part, "gate", *chosen.policy);
  if (!keys) return std::unexpected(keys.error());
  chosen.gates.emplace_back(entry.make, std::move(*keys));
  chosen.gates_preempt = chosen.gates_preempt || entry.about->needs.preemption;
  chosen.shares_by_mps = chosen.shares_by_mps || entry.about == &kMps;
  return {};
}

/// What stands behind each `+`: one backfill at most, and any gates.
Expected<void> take_parts(std::span<const NamedKeys> parts, Chosen& chosen) {
  const NamedKeys* backfill = nullptr;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const NamedKeys& part = parts[i];
    const std::string name(chosen.policy->name);
    if (chosen.policy->order == nullptr) {
      return refuse("policy " + name + " is no order: it takes no '+" + part.name + "'");
    }
    if (std::ranges::count(parts.first(i), part.name, &NamedKeys::name) > 0) {
      return refuse("policy " + name + ": '+" + part.name + "' is given twice");
    }
    const auto gate = std::ranges::find(gates(), part.name, &GateEntry::name);
    if (gate != gates().end()) {
      if (auto done = take_gate(*gate, part, chosen); !done) return done;
      continue;
    }
    const auto entry = find(backfills(), part.name, "backfill or gate", gates());
    if (!entry) return std::unexpected(entry.error());
    if (backfill != nullptr) {
      return refuse("policy " + name + ": '+" + part.name + "' is a second backfill beside '+" +
                    backfill->name + "'");
    }
    backfill = &part;
    if (auto done = take_backfill(**entry, part, chosen); !done) return done;
  }
  return {};
}

/// A gate that preempts must be asked before every start.
Expected<void> check_gates(const Chosen& chosen) {
  if (!chosen.gates_preempt || chosen.backfill == nullptr) return {};
  if (!chosen.backfill->about->passing.returns_places) return {};
  return refuse("policy " + std::string(chosen.policy->name) +
                ": a gate that preempts does not go with backfill '" +
                std::string(chosen.backfill->name) +
                "', which would give jobs their places back at once");
}

/// The placement of the spec, else `usual`, else the one that the policy is meant to go with.
Expected<void> take_place(const Spec& spec, std::string_view usual, Chosen& chosen) {
  NamedKeys named{.name = std::string(chosen.policy->place), .keys = {}};
  if (spec.place) {
    named = *spec.place;
  } else if (!usual.empty()) {
    auto read = parse_named_keys(usual);
    if (!read) return std::unexpected(read.error());
    named = std::move(*read);
  }
  const auto placer = find(placers(), named.name, "placement");
  if (!placer) return std::unexpected(placer.error());
  auto keys = keys_of(*(*placer)->about, named, "placement");
  if (!keys) return std::unexpected(keys.error());
  const std::string_view own = chosen.policy->own_place;
  chosen.placer = *placer;
  chosen.place_keys = std::move(*keys);
  chosen.place = own.empty() ? to_text(named) : std::string(own);
  return {};
}

}  // namespace

bool PolicyEntry::preempts() const {
  return (order != nullptr ? usual_backfill(*this).about : about)->needs.preemption;
}

std::span<const PolicyEntry> policies() { return kPolicies; }
std::span<const PlacerEntry> placers() { return kPlacers; }

Expected<Spec> parse_policy(std::string_view spec) {
  std::vector<std::string_view> names;
  for (const PolicyEntry& entry : policies()) names.push_back(entry.name);
  return parse_spec(spec, names);
}

std::unique_ptr<Policy> Chosen::make(const Knobs& knobs) const {
  if (policy->whole != nullptr) return policy->whole(keys, placer->factory(place_keys), knobs);
  PipelineOptions in_pipeline = options;
  in_pipeline.rebuild = knobs.rebuild;
  in_pipeline.most_looks = knobs.most_looks;
  Gates made;
  for (const auto& [gate, gate_keys] : gates) made.list.push_back(gate(gate_keys));
  return std::make_unique<Pipeline>(policy->order(keys, knobs), placer->factory(place_keys),
                                    backfill->make(backfill_keys), in_pipeline, std::move(made));
}

Expected<Chosen> choose(std::string_view spec, std::string_view place) {
  const auto read = parse_policy(spec);
  if (!read) return std::unexpected(read.error());
  const auto policy = find(policies(), read->order.name, "policy");
  if (!policy) return std::unexpected(policy.error());
  auto keys = keys_of(*(*policy)->about, read->order, "policy");
  if (!keys) return std::unexpected(keys.error());
  Chosen chosen{.name = to_text(read->order), .policy = *policy, .keys = std::move(*keys)};
  if ((*policy)->order != nullptr) {
    chosen.backfill = &usual_backfill(**policy);
    chosen.backfill_keys = Keys(chosen.backfill->about->keys);
  }
  if (chosen.keys.has(kQuantumKey.name))
    chosen.options.quantum = chosen.keys.time(kQuantumKey.name);
  if ((*policy)->gate != nullptr) chosen.gates.emplace_back((*policy)->gate, Keys());
  if (auto done = take_parts(read->parts, chosen); !done) return std::unexpected(done.error());
  if (auto done = check_gates(chosen); !done) return std::unexpected(done.error());
  for (const NamedKeys& part : read->parts) chosen.name += "+" + to_text(part);
  if (auto done = take_place(*read, place, chosen); !done) return std::unexpected(done.error());
  return chosen;
}

Expected<void> check_place(std::string_view spec, std::string_view place) {
  const auto chosen = choose(spec, place);
  if (!chosen) return std::unexpected(chosen.error());
  const auto read = parse_policy(spec);
  const std::string asked = read->place ? to_text(*read->place) : std::string(place);
  const std::string_view own = chosen->policy->own_place;
  if (own.empty() || asked.empty() || asked == own) return {};
  return fail(ErrorCode::InvalidArgument, "policy " + read->order.name +
                                              " has a placement of its own (" + std::string(own) +
                                              "); placement '" + asked + "' would change nothing");
}

Expected<std::unique_ptr<Policy>> make_policy(std::string_view spec, std::string_view place,
                                              const Knobs& knobs) {
  const auto chosen = choose(spec, place);
  if (!chosen) return std::unexpected(chosen.error());
  return chosen->make(knobs);
}

}  // namespace berth
