#include "policy/registry.hpp"

#include <algorithm>
#include <array>

#include "policy/pipeline.hpp"

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
constexpr PolicyEntry whole(std::string_view name, PolicyFactory* make,
                            const PipelineOptions& options = {}) {
  return {.name = name, .options = options, .whole = make};
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
// One line per policy. Its factory is declared where it is named and defined in its own file.
constexpr auto kPolicies = std::to_array<PolicyEntry>({
    order("headroom", [](auto& k) { OrderFactory headroom; return headroom(k); }, kPromise, "least-shared"),
    order("fifo", [](auto& k) { OrderFactory fifo; return fifo(k); }, kBlock),
    order("fifo-skip", [](auto& k) { OrderFactory fifo; return fifo(k); }, kSkip),
    order("fifo-reserve", [](auto& k) { OrderFactory fifo; return fifo(k); }, kReserve),
    whole("easy", [](auto& k) { PolicyFactory easy; return easy(k); }),
    whole("conservative", [](auto& k) { PolicyFactory conservative; return conservative(k); }),
    order("exclusive", [](auto& k) { OrderFactory fifo; return fifo(k); }, kAlone),
    order("smallest-first", [](auto& k) { OrderFactory smallest_first; return smallest_first(k); }, kSkip),
    order("sjf", [](auto& k) { OrderFactory sjf; return sjf(k); }, kSkip),
    order("srtf", [](auto& k) { OrderFactory srtf; return srtf(k); }, kPreempt),
    order("srsf", [](auto& k) { OrderFactory srsf; return srsf(k); }, kPreempt),
    order("las", [](auto& k) { OrderFactory las; return las(k); }, kRotate),
    order("dlas", [](auto& k) { OrderFactory dlas; return dlas(k); }, kPreempt),
    order("e-las", [](auto& k) { OrderFactory e_las; return e_las(k); }, kRotate),
    order("e-las/rate", [](auto& k) { OrderFactory e_las; return e_las(k); }, kRotate),
    order("gittins", [](auto& k) { OrderFactory gittins; return gittins(k); }, kRotate),
    order("gittins-learned", [](auto& k) { OrderFactory gittins_learned; return gittins_learned(k); }, kRotate),
    whole("carma", [](auto& k) { PolicyFactory carma; return carma(k); }),
    whole("gavel/isolated", [](auto& k) { PolicyFactory gavel; return gavel(k); }, kPreempt),
    order("fair-share", [](auto& k) { OrderFactory fair_share; return fair_share(k); }, kSkip),
    order("drf", [](auto& k) { OrderFactory drf; return drf(k); }, kSkip),
    whole("capacity", [](auto& k) { PolicyFactory capacity; return capacity(k); }),
    order("multifactor", [](auto& k) { OrderFactory multifactor; return multifactor(k); }, kBlock),
    order("qssf", [](auto& k) { OrderFactory qssf; return qssf(k); }, kBlock),
    order("helios/sjf", [](auto& k) { OrderFactory sjf; return sjf(k); }, kBlock),
    order("tiresias/fifo", [](auto& k) { OrderFactory fifo; return fifo(k); }, kBlock),
    order("tiresias/fjf", [](auto& k) { OrderFactory fifo; return fifo(k); }, kSkip),
    whole("tiresias/sjf", kSorted, kPreempt),
    whole("tiresias/shortest", kSorted, kPreempt),
    whole("tiresias/shortest-gpu", kSorted, kPreempt),
    whole("tiresias/dlas", kDlas, kPreempt),
    whole("tiresias/dlas-gpu", kDlas, kPreempt),
    whole("tiresias/dlas-gpu+fixjump", kDlas, kPreempt),
    whole("tiresias/dlas-gpu-gittins", kDlas, kPreempt),
    whole("tiresias/dlas-gpu-05", kDlas, kPreempt),
    whole("tiresias/dlas-gpu-1", kDlas, kPreempt),
    whole("tiresias/dlas-gpu-2", kDlas, kPreempt),
    whole("tiresias/dlas-gpu-4", kDlas, kPreempt),
    whole("tiresias/dlas-gpu-8", kDlas, kPreempt),
    whole("tiresias/dlas-gpu-10", kDlas, kPreempt),
    whole("tiresias/dlas-gpu-100", kDlas, kPreempt),
    whole("tiresias/dlas-gpu-1000", kDlas, kPreempt),
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
