#include "policy/registry.hpp"

#include <algorithm>
#include <array>

#include "policy/pipeline/pipeline.hpp"

namespace berth {

constexpr PipelineOptions kBlock{.no_fit = HeadOfLine::Block};
constexpr PipelineOptions kSkip{};
constexpr PipelineOptions kReserve{.no_fit = HeadOfLine::Reserve};
constexpr PipelineOptions kPromise{.no_fit = HeadOfLine::Reserve, .plans = Plans::Enforced};
constexpr PipelineOptions kAlone{.exclusive = true};
constexpr PipelineOptions kPreempt{.preemption = Preemption::ByRank};
constexpr PipelineOptions kRotate{.preemption = Preemption::ByRank, .quantum = minutes(5)};

constexpr PolicyEntry order(std::string_view name, OrderFactory* make,
                            const PipelineOptions& options,
                            std::string_view place = "consolidated") {
  return {.name = name, .order = make, .options = options, .place = place};
}
/// `own`: what it places by whatever is asked for; "" if it takes the placement it is given.
constexpr PolicyEntry whole(std::string_view name, PolicyFactory* make,
                            const PipelineOptions& options = {}, std::string_view own = "") {
  return {.name = name, .options = options, .whole = make, .own_place = own};
}

constexpr PolicyFactory* kSorted = [](const Knobs& k) {
  PolicyFactory tiresias_sorted;
  return tiresias_sorted(k);
};
constexpr PolicyFactory* kDlas = [](const Knobs& k) {
  PolicyFactory tiresias_dlas;
  return tiresias_dlas(k);
};

// clang-format off
// One line per policy. Its factory is declared where it is named and defined in its own file. The
// comment above a line says what this name is among the names of one file; tools/policy-catalogue
// shows it.
constexpr auto kPolicies = std::to_array<PolicyEntry>({
    order("headroom", [](auto& k) { OrderFactory headroom; return headroom(k); }, kPromise, "least-shared"),
    // First in, first out; a job that does not fit holds up all behind it.
    order("fifo", [](auto& k) { OrderFactory fifo; return fifo(k); }, kBlock),
    // First in, first out; whatever fits passes a job that does not.
    order("fifo-skip", [](auto& k) { OrderFactory fifo; return fifo(k); }, kSkip),
    // First in, first out; others pass a job that does not fit if they do not delay it.
    order("fifo-reserve", [](auto& k) { OrderFactory fifo; return fifo(k); }, kReserve),
    whole("easy", [](auto& k) { PolicyFactory easy; return easy(k); }),
    whole("conservative", [](auto& k) { PolicyFactory conservative; return conservative(k); }),
    // First in, first out, every GPU for one job alone; whatever fits passes.
    order("exclusive", [](auto& k) { OrderFactory fifo; return fifo(k); }, kAlone),
    order("smallest-first", [](auto& k) { OrderFactory smallest_first; return smallest_first(k); }, kSkip),
    // Shortest job first by estimate; whatever fits passes a job that does not.
    order("sjf", [](auto& k) { OrderFactory sjf; return sjf(k); }, kSkip),
    order("srtf", [](auto& k) { OrderFactory srtf; return srtf(k); }, kPreempt),
    order("srsf", [](auto& k) { OrderFactory srsf; return srsf(k); }, kPreempt),
    order("las", [](auto& k) { OrderFactory las; return las(k); }, kRotate),
    order("dlas", [](auto& k) { OrderFactory dlas; return dlas(k); }, kPreempt),
    // E-LAS by service x epochs to go / epochs done, least first; preemptive.
    order("e-las", [](auto& k) { OrderFactory e_las; return e_las(k); }, kRotate),
    // E-LAS by service / sqrt(epochs done), least first; preemptive.
    order("e-las/rate", [](auto& k) { OrderFactory e_las; return e_las(k); }, kRotate),
    order("gittins", [](auto& k) { OrderFactory gittins; return gittins(k); }, kRotate),
    order("gittins-learned", [](auto& k) { OrderFactory gittins_learned; return gittins_learned(k); }, kRotate),
    whole("carma", [](auto& k) { PolicyFactory carma; return carma(k); }, {}, "carma"),
    whole("gavel/isolated", [](auto& k) { PolicyFactory gavel; return gavel(k); }, kPreempt),
    order("fair-share", [](auto& k) { OrderFactory fair_share; return fair_share(k); }, kSkip),
    order("drf", [](auto& k) { OrderFactory drf; return drf(k); }, kSkip),
    whole("capacity", [](auto& k) { PolicyFactory capacity; return capacity(k); }, {}, "closest"),
    order("multifactor", [](auto& k) { OrderFactory multifactor; return multifactor(k); }, kBlock),
    order("qssf", [](auto& k) { OrderFactory qssf; return qssf(k); }, kBlock),
    // Shortest job first by estimate; a job that does not fit holds up all behind it.
    order("helios/sjf", [](auto& k) { OrderFactory sjf; return sjf(k); }, kBlock),
    // Tiresias' simulator: first in, first out; a job that does not fit holds up all behind it.
    order("tiresias/fifo", [](auto& k) { OrderFactory fifo; return fifo(k); }, kBlock),
    // Tiresias' simulator: first in, first out; whatever fits passes a job that does not.
    order("tiresias/fjf", [](auto& k) { OrderFactory fifo; return fifo(k); }, kSkip),
    // Tiresias' simulator: fewest GPUs first, not shortest run time; preemptive.
    whole("tiresias/sjf", kSorted, kPreempt),
    // Tiresias' simulator: shortest remaining time first; preemptive.
    whole("tiresias/shortest", kSorted, kPreempt),
    // Tiresias' simulator: least remaining time x GPUs first; preemptive.
    whole("tiresias/shortest-gpu", kSorted, kPreempt),
    // Tiresias' simulator: three queues by executed time; preemptive.
    whole("tiresias/dlas", kDlas, kPreempt, "count"),
    // Tiresias' simulator: three queues by executed time x GPUs; preemptive.
    whole("tiresias/dlas-gpu", kDlas, kPreempt, "count"),
    // Tiresias' simulator: dlas-gpu with its late demotions mended.
    whole("tiresias/dlas-gpu+fixjump", kDlas, kPreempt, "count"),
    // Tiresias' simulator: dlas-gpu, each queue by Gittins index (--service).
    whole("tiresias/dlas-gpu-gittins", kDlas, kPreempt, "count"),
    // Tiresias' simulator: dlas-gpu; back to the first queue after waiting half its run.
    whole("tiresias/dlas-gpu-05", kDlas, kPreempt, "count"),
    // Tiresias' simulator: dlas-gpu; back to the first queue after waiting once its run.
    whole("tiresias/dlas-gpu-1", kDlas, kPreempt, "count"),
    // Tiresias' simulator: dlas-gpu; back to the first queue after waiting twice its run.
    whole("tiresias/dlas-gpu-2", kDlas, kPreempt, "count"),
    // Tiresias' simulator: dlas-gpu; back to the first queue after waiting 4 times its run.
    whole("tiresias/dlas-gpu-4", kDlas, kPreempt, "count"),
    // Tiresias' simulator: dlas-gpu; back to the first queue after waiting 8 times its run.
    whole("tiresias/dlas-gpu-8", kDlas, kPreempt, "count"),
    // Tiresias' simulator: dlas-gpu; back to the first queue after waiting 10 times its run.
    whole("tiresias/dlas-gpu-10", kDlas, kPreempt, "count"),
    // Tiresias' simulator: dlas-gpu; back to the first queue after waiting 100 times its run.
    whole("tiresias/dlas-gpu-100", kDlas, kPreempt, "count"),
    // Tiresias' simulator: dlas-gpu; back to the first queue after waiting 1000 times its run.
    whole("tiresias/dlas-gpu-1000", kDlas, kPreempt, "count"),
});
// clang-format on

constexpr auto kPlacers = std::to_array<PlacerEntry>({
    {"count",
     [] {
       PlacerFactory count;
       return count();
     }},
    {"yarn",
     [] {
       PlacerFactory yarn;
       return yarn();
     }},
    {"first-fit",
     [] {
       PlacerFactory first_fit;
       return first_fit();
     }},
    {"best-fit",
     [] {
       PlacerFactory best_fit;
       return best_fit();
     }},
    {"worst-fit",
     [] {
       PlacerFactory worst_fit;
       return worst_fit();
     }},
    {"consolidated",
     [] {
       PlacerFactory consolidated;
       return consolidated();
     }},
    {"lucid",
     [] {
       PlacerFactory lucid;
       return lucid();
     }},
    {"least-shared",
     [] {
       PlacerFactory least_shared;
       return least_shared();
     }},
    {"topology",
     [] {
       PlacerFactory topology;
       return topology();
     }},
    {"random",
     [] {
       PlacerFactory random;
       return random();
     }},
    {"best-fit-cpu-gpu",
     [] {
       PlacerFactory best_fit_cpu_gpu;
       return best_fit_cpu_gpu();
     }},
    {"dot-prod",
     [] {
       PlacerFactory dot_prod;
       return dot_prod();
     }},
    {"gpu-packing",
     [] {
       PlacerFactory gpu_packing;
       return gpu_packing();
     }},
    {"gpu-clustering",
     [] {
       PlacerFactory gpu_clustering;
       return gpu_clustering();
     }},
    {"fgd",
     [] {
       PlacerFactory fgd;
       return fgd();
     }},
});

namespace {

template <class Entry>
Expected<const Entry*> find(std::span<const Entry> entries, std::string_view name,
                            std::string_view what) {
  const auto found = std::ranges::find(entries, name, &Entry::name);
  if (found != entries.end()) return &*found;
  std::string known;
  for (const Entry& entry : entries) known.append(known.empty() ? "" : ", ").append(entry.name);
  return fail(ErrorCode::NotFound,
              std::string(what) + " '" + std::string(name) + "' is not known; there are: " + known);
}

}  // namespace

std::span<const PolicyEntry> policies() { return kPolicies; }
std::span<const PlacerEntry> placers() { return kPlacers; }

Expected<const PlacerEntry*> placer_for(std::string_view policy, std::string_view place) {
  if (!place.empty()) return find(placers(), place, "placement");
  const auto entry = find(policies(), policy, "policy");
  if (!entry) return std::unexpected(entry.error());
  return find(placers(), (*entry)->place, "placement");
}

std::string_view place_name(std::string_view policy, std::string_view place) {
  const auto entry = std::ranges::find(policies(), policy, &PolicyEntry::name);
  if (entry == policies().end()) return place;
  if (!entry->own_place.empty()) return entry->own_place;
  return place.empty() ? entry->place : place;
}

Expected<void> check_place(std::string_view policy, std::string_view place) {
  if (const auto placer = placer_for(policy, place); !placer) {
    return std::unexpected(placer.error());
  }
  const auto entry = find(policies(), policy, "policy");
  if (!entry) return std::unexpected(entry.error());
  const std::string_view own = (*entry)->own_place;
  if (own.empty() || place.empty() || place == own) return {};
  return fail(ErrorCode::InvalidArgument,
              "policy " + std::string(policy) + " has a placement of its own (" + std::string(own) +
                  "); placement '" + std::string(place) + "' would change nothing");
}

Expected<std::unique_ptr<Policy>> make_policy(std::string_view name, std::string_view place,
                                              const Knobs& knobs) {
  const auto entry = find(policies(), name, "policy");
  if (!entry) return std::unexpected(entry.error());
  const auto placer = placer_for(name, place);
  if (!placer) return std::unexpected(placer.error());
  Knobs named = knobs;
  named.name = (*entry)->name;
  named.place = (*placer)->make;
  if ((*entry)->whole != nullptr) return (*entry)->whole(named);
  PipelineOptions options = (*entry)->options;
  if (options.quantum > Duration::zero()) options.quantum = knobs.quantum;
  options.rebuild = knobs.rebuild;
  return std::make_unique<Pipeline>((*entry)->order(named), (*placer)->make(), options);
}

}  // namespace berth
