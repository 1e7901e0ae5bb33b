// The jobs of a demonstration or an evaluation, as a trace says them: what a job asks for, and what
// it truly does.
#pragma once

#include <cstdint>

#include "core/base/error.hpp"
#include "core/cluster.hpp"
#include "trace/trace.hpp"

namespace berth::lab {

/// Three users on two 24 GiB cards: long large trainings, medium vision-language jobs, many short
/// ones; some 24 jobs within three seconds, with duties as measured on a production cluster
/// (Lucid's profiles, ASPLOS 2023: median 13 %, 44 % and 94 % for its small, middle and large
/// jobs). Everyone asks honestly. The same seed gives the same jobs.
trace::Trace mixed_workload(std::uint64_t seed);

/// Two cards of 24 GiB.
Cluster two_cards();

/// What a live run does not do as the trace says it is an error, and what the trace does not say is
/// filled in: a job without a curve takes what it asks for, one without a duty has a kernel all the
/// time. Errors: InvalidArgument naming a job that comes after others, names types of GPU or may
/// have more or fewer GPUs.
Expected<void> prepare_for_live(trace::Trace& trace);

/// Every time a part: submissions, run times, curves, limits; so that hours are run live in
/// seconds. Requires: factor > 0.
void make_faster(trace::Trace& trace, std::int64_t factor);

/// Its GPUs as `berthd --emulate` makes them: less what the driver keeps, with the context that
/// berthd charges. Errors: InvalidArgument unless it is one node with GPUs.
Expected<Cluster> as_emulated(const Cluster& cluster);
/// For `berthd --emulate`: `2x24576M`. Requires: one node with GPUs.
std::string emulated_gpus(const Cluster& cluster);

}  // namespace berth::lab
