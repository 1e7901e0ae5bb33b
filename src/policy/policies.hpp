// Every policy and placement: its factory and its description. Each is defined in its own file;
// registry.cpp gives it its name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "policy/about.hpp"
#include "policy/keys.hpp"
#include "policy/policy.hpp"

namespace berth {

/// Arguments of a policy's factory that are not keys.
struct Knobs {
  bool rebuild = false;                         ///< See PipelineOptions::rebuild.
  std::optional<std::int64_t> most_looks = {};  ///< See PipelineOptions::most_looks.
  std::span<const std::int64_t> service = {};   ///< Of past jobs, in GPU-seconds; may be empty.
};

using OrderFactory = std::unique_ptr<Order>(const Keys&, const Knobs&);
using PolicyFactory = std::unique_ptr<Policy>(const Keys&, std::unique_ptr<Placer>, const Knobs&);
using PlacerFactory = std::unique_ptr<Placer>(const Keys&);

// ---- Orders ------------------------------------------------------------------------------------

std::unique_ptr<Order> fifo(const Keys&, const Knobs&);
extern const About kFifo;
extern const About kFifoSkip;
extern const About kFifoEasy;
extern const About kFifoConservative;
extern const About kExclusive;
extern const About kTiresiasFifo;
extern const About kTiresiasFjf;

std::unique_ptr<Order> headroom(const Keys&, const Knobs&);
extern const About kHeadroom;

std::unique_ptr<Order> turns(const Keys&, const Knobs&);
extern const About kTurns;

std::unique_ptr<Order> smallest_first(const Keys&, const Knobs&);
extern const About kSmallestFirst;

std::unique_ptr<Order> sjf(const Keys&, const Knobs&);
extern const About kSjf;
extern const About kHeliosSjf;

std::unique_ptr<Order> priority(const Keys&, const Knobs&);
extern const About kPriority;

std::unique_ptr<Order> srtf(const Keys&, const Knobs&);
extern const About kSrtf;

std::unique_ptr<Order> srsf(const Keys&, const Knobs&);
extern const About kSrsf;

std::unique_ptr<Order> las(const Keys&, const Knobs&);
extern const About kLas;

std::unique_ptr<Order> dlas(const Keys&, const Knobs&);
extern const About kDlas;

std::unique_ptr<Order> e_las(const Keys&, const Knobs&);
extern const About kELas;
std::unique_ptr<Order> e_las_rate(const Keys&, const Knobs&);
extern const About kELasRate;

std::unique_ptr<Order> gittins(const Keys&, const Knobs&);
extern const About kGittins;

std::unique_ptr<Order> gittins_learned(const Keys&, const Knobs&);
extern const About kGittinsLearned;

std::unique_ptr<Order> fair_share(const Keys&, const Knobs&);
extern const About kFairShare;

std::unique_ptr<Order> drf(const Keys&, const Knobs&);
extern const About kDrf;

std::unique_ptr<Order> multifactor(const Keys&, const Knobs&);
extern const About kMultifactor;

std::unique_ptr<Order> qssf(const Keys&, const Knobs&);
extern const About kQssf;

std::unique_ptr<Order> wfp3(const Keys&, const Knobs&);
extern const About kWfp3;

// ---- Whole policies ----------------------------------------------------------------------------

std::unique_ptr<Policy> capacity(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kCapacity;

std::unique_ptr<Policy> carma(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kCarma;

std::unique_ptr<Policy> gandiva(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kGandiva;

std::unique_ptr<Policy> afs(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kAfs;
std::unique_ptr<Policy> afs_p(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kAfsP;
std::unique_ptr<Policy> optimus(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kOptimus;
std::unique_ptr<Policy> max_min_gpus(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kMaxMinGpus;
std::unique_ptr<Policy> edf(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kEdf;
std::unique_ptr<Policy> elasticflow(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kElasticFlow;

std::unique_ptr<Policy> lucid_packing(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kLucidPacking;

std::unique_ptr<Policy> muri_s(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kMuriS;
std::unique_ptr<Policy> muri_l(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kMuriL;
std::unique_ptr<Policy> muri_unmatched(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kMuriUnmatched;

std::unique_ptr<Policy> synergy_drf(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kSynergyDrf;
std::unique_ptr<Policy> synergy_tetris(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kSynergyTetris;
std::unique_ptr<Policy> astraea(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kAstraea;
std::unique_ptr<Policy> themis(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kThemis;
std::unique_ptr<Policy> astraea_fairness(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kAstraeaFairness;
std::unique_ptr<Policy> astraea_disc_fairness(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kAstraeaDiscFairness;
std::unique_ptr<Policy> astraea_job_reward(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kAstraeaJobReward;
std::unique_ptr<Policy> astraea_themis(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kAstraeaThemis;
std::unique_ptr<Policy> astraea_2das(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kAstraea2das;
std::unique_ptr<Policy> astraea_fifo(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kAstraeaFifo;
std::unique_ptr<Policy> astraea_shortest(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kAstraeaShortest;
std::unique_ptr<Policy> astraea_smallest(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kAstraeaSmallest;

std::unique_ptr<Policy> hived(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kHived;

std::unique_ptr<Policy> gavel_isolated(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kGavelIsolated;
std::unique_ptr<Policy> max_min(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kMaxMin;
std::unique_ptr<Policy> gandiva_fair(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kGandivaFair;
std::unique_ptr<Policy> gavel_max_min(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kGavelMaxMin;
std::unique_ptr<Policy> gavel_max_min_perf(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kGavelMaxMinPerf;
std::unique_ptr<Policy> gavel_max_min_packed(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kGavelMaxMinPacked;
std::unique_ptr<Policy> gavel_finish_time(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kGavelFinishTime;
std::unique_ptr<Policy> gavel_finish_time_perf(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kGavelFinishTimePerf;
std::unique_ptr<Policy> gavel_allox(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kGavelAllox;
std::unique_ptr<Policy> gavel_makespan(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kGavelMakespan;
std::unique_ptr<Policy> gavel_fifo_perf(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kGavelFifoPerf;
std::unique_ptr<Policy> gavel_fifo_packed(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kGavelFifoPacked;
std::unique_ptr<Policy> gavel_gandiva(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kGavelGandiva;

std::unique_ptr<Policy> tiresias_sjf(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kTiresiasSjf;
std::unique_ptr<Policy> tiresias_shortest(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kTiresiasShortest;
std::unique_ptr<Policy> tiresias_shortest_gpu(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kTiresiasShortestGpu;

std::unique_ptr<Policy> tiresias_dlas(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kTiresiasDlas;
std::unique_ptr<Policy> tiresias_dlas_gpu(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kTiresiasDlasGpu;
std::unique_ptr<Policy> tiresias_fixjump(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kTiresiasDlasGpuFixjump;
std::unique_ptr<Policy> tiresias_gittins(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kTiresiasDlasGpuGittins;

std::unique_ptr<Policy> pollux_tiresias(const Keys&, std::unique_ptr<Placer>, const Knobs&);
extern const About kPolluxTiresias;

// ---- Placements --------------------------------------------------------------------------------

std::unique_ptr<Placer> count(const Keys&);
extern const About kCount;

std::unique_ptr<Placer> yarn(const Keys&);
extern const About kYarn;

std::unique_ptr<Placer> first_fit(const Keys&);
extern const About kFirstFit;

std::unique_ptr<Placer> best_fit(const Keys&);
extern const About kBestFit;

std::unique_ptr<Placer> worst_fit(const Keys&);
extern const About kWorstFit;

std::unique_ptr<Placer> consolidated(const Keys&);
extern const About kConsolidated;
std::unique_ptr<Placer> fullest(const Keys&);
extern const About kFullest;

std::unique_ptr<Placer> buddy(const Keys&);
extern const About kBuddy;

std::unique_ptr<Placer> lucid(const Keys&);
extern const About kLucid;

std::unique_ptr<Placer> least_shared(const Keys&);
extern const About kLeastShared;

std::unique_ptr<Placer> topology(const Keys&);
extern const About kTopology;

std::unique_ptr<Placer> random(const Keys&);
extern const About kRandom;

std::unique_ptr<Placer> best_fit_cpu_gpu(const Keys&);
extern const About kBestFitCpuGpu;

std::unique_ptr<Placer> dot_prod(const Keys&);
extern const About kDotProd;

std::unique_ptr<Placer> gpu_packing(const Keys&);
extern const About kGpuPacking;

std::unique_ptr<Placer> gpu_clustering(const Keys&);
extern const About kGpuClustering;

std::unique_ptr<Placer> fragmentation_descent(const Keys&);
extern const About kFgd;

/// A part of `capacity`; it has no name of its own.
std::unique_ptr<Placer> closest();

}  // namespace berth
