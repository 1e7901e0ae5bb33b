// A machine that is another than the one that the journal was written on: what is different, and
// whether jobs keep it as it was.
#pragma once

#include <cstdint>
#include <string>

#include "core/cluster.hpp"
#include "core/view.hpp"

namespace berth::live {

/// `this machine now has 3 GPUs, its state was written for 4`: the first thing that is otherwise.
std::string what_changed(const Cluster& before, const Cluster& now);

/// True if a job holds a berth or has a suspended process.
bool has_processes(const ClusterView& view);

/// What keeps a machine as it was, beside jobs with processes.
enum class Keeps : std::uint8_t {
  Nothing,
  JobsThatWait,  ///< For GPUs that are gone and may come back.
};
/// `job 7 holds a place there`: the jobs that keep it as it was; "" if none do.
std::string why_it_waits(const ClusterView& view, const Cluster& now, Keeps keeps);

/// Why a job that is held can never start on this machine, for its note; "" for others.
std::string why_held(const Job& job, const Cluster& now);

}  // namespace berth::live
