// The power of GPUs by type, and the energy of a run. Figures only: they change no decision.
//
// A GPU draws its busy power while it has a tenant, whatever that does there, and its idle power
// all the other time of the run. doc/metrics.md.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/cluster.hpp"

namespace berth::sim {

struct Watts {
  double idle = 0;
  double busy = 0;
};

/// The power of one GPU by type; that of type "" is for all others. Empty: not asked for.
using Power = std::map<std::string, Watts>;

/// `60:300`, or `v100=60:300,k80=30:150`. Errors: InvalidArgument naming the text.
Expected<Power> parse_power(std::string_view text);

/// Of the GPUs of one type.
struct TypeEnergy {
  std::string type;
  double busy_gpu_hours = 0;  ///< With a tenant.
  double idle_gpu_hours = 0;
  double busy_kwh = 0;
  double idle_kwh = 0;
};

/// Of every type that has a power. `busy` is GPU time with a tenant, by type, of a run of `whole`.
std::vector<TypeEnergy> energy_of(std::span<const Duration> busy, Duration whole,
                                  const Cluster& cluster, const Power& power);

double kwh(std::span<const TypeEnergy> energy);

/// `kwh`, and by type hours and kWh.
nlohmann::ordered_json to_json(std::span<const TypeEnergy> energy);
/// A line in all, and one for each type if there are several.
std::string to_text(std::span<const TypeEnergy> energy);

}  // namespace berth::sim
