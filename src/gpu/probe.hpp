// Turns a driver's figures into the engine's input: the memory of each job on one GPU.
//
// Pure functions; instants are given. doc/gpu.md argues the rules. In short: a figure that cannot
// be known is never invented, memory without an owner is foreign, and every rounding errs towards
// more memory in use.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <variant>

#include "core/base/time.hpp"
#include "core/input.hpp"
#include "core/steady.hpp"
#include "gpu/port.hpp"

namespace berth {

/// Whose a process is. A caller looks it up after the sample was taken, through the whole process
/// tree: a worker forked a moment ago belongs to its job.
struct OfJob {
  JobId job;  ///< It has a charge on this GPU.
};
/// A job of ours that was not given this GPU: its memory here is foreign use, and told of.
struct OfTrespasser {
  JobId job;
};
struct OfStranger {};
struct OfNobody {};  ///< There is no such process (any more).
using Owner = std::variant<OfJob, OfStranger, OfNobody, OfTrespasser>;
using OwnerOf = std::function<Owner(pid_t)>;

/// One sample and what must be known to judge it.
struct Reading {
  GpuId gpu;
  const Sample& sample;
  Instant began;                       ///< Before the first call to the driver.
  std::optional<Instant> changed;      ///< The last start or end of a tenant on this GPU, if any.
  Bytes adopting{0};                   ///< Charges of processes that may look foreign still.
  std::uint32_t tenants = 0;           ///< Jobs with a charge on this GPU.
  const Measured* previous = nullptr;  ///< The last input to the engine, if any.
};

/// Returns: the input for the engine, by core/steady.hpp; nothing if it equals the last one, or if
/// there is no valid foreign figure yet. A sample not begun after `changed` keeps the previous
/// foreign figure, because a process of an ended job has no owner in it and a process of a new job
/// is not yet known. While a process is being adopted, what goes beyond its charge is foreign, for
/// that covers the rest. An unknown utilisation stays unknown. O(processes x log).
std::optional<Measured> measure(const Reading& reading, const OwnerOf& owner_of);

/// True if the sample lists a process that is not there any more: sample again at once, and the
/// end of a process does not look like foreign use. If the second sample lists it too, the process
/// is one we cannot see (another pid namespace), and foreign.
bool lists_vanished(const Sample& sample, const OwnerOf& owner_of);

/// What a job holds here, of what is known; nothing if no process of it is listed. A stopping job
/// may be released once this is nothing in a sample begun after its end.
std::optional<Bytes> held_by(JobId job, const Sample& sample, const OwnerOf& owner_of);

/// When the last sample of a GPU was taken, and what happened there since.
struct Freshness {
  std::optional<Instant> began;    ///< None: there is no sample.
  std::optional<Instant> changed;  ///< The last start or end of a tenant on this GPU, if any.
};

/// True if a launch on this GPU must wait for a new sample: there is none, it is older than
/// `longest`, or a tenant has started or ended since.
bool must_sample(const Freshness& last, Instant now, Duration longest);

/// True if this Xid is the fault of a program (a bad access, a killed context), after which the
/// GPU is as good as before; others mean that the GPU must get no new jobs.
bool is_application_xid(std::uint64_t xid);

}  // namespace berth
