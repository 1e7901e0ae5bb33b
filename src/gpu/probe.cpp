#include "gpu/probe.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace berth {

namespace {

/// The sample, process by process.
struct Split {
  std::map<JobId, std::optional<Bytes>> jobs;  ///< Nothing: some process of it is unknown.
  Bytes strangers{0};                          ///< Of known figures.
  Bytes known{0};                              ///< All known figures.
  bool hides_a_tenant = false;                 ///< Unattributed memory may be a tenant's.
};

void add_job(Split& split, JobId job, const std::optional<Bytes>& figure) {
  const auto [held, is_new] = split.jobs.try_emplace(job, figure);
  if (!is_new)
    held->second = held->second && figure ? std::optional(*held->second + *figure) : std::nullopt;
  if (!figure) split.hides_a_tenant = true;
}

Split split_up(const Reading& reading, const OwnerOf& owner_of) {
  Split split;
  if (!reading.sample.processes) {
    split.hides_a_tenant = reading.tenants > 0;
    return split;
  }
  for (const GpuProcess& process : *reading.sample.processes) {
    const Bytes figure = process.bytes.value_or(Bytes(0));
    split.known += figure;
    const Owner owner = owner_of(process.pid);
    if (const auto* const of = std::get_if<OfJob>(&owner)) {
      add_job(split, of->job, process.bytes);
      continue;
    }
    split.strangers += figure;
    const auto* const of = std::get_if<OfTrespasser>(&owner);
    if (of != nullptr && process.bytes) add_job(split, of->job, process.bytes);
  }
  return split;
}

bool is_stale(const std::optional<Instant>& began, const std::optional<Instant>& changed) {
  return !began || (changed && *began <= *changed);
}

/// Foreign use; nothing if this sample cannot tell and none did before.
std::optional<Bytes> foreign_of(const Reading& reading, const Split& split) {
  std::optional<Bytes> previous;
  if (reading.previous != nullptr) previous = reading.previous->foreign;
  if (is_stale(reading.began, reading.changed)) return previous;
  if (split.hides_a_tenant) return std::max(split.strangers, previous.value_or(Bytes(0)));
  const Bytes unattributed = std::max(Bytes(0), reading.sample.used - split.known);
  const Bytes foreign = split.strangers + unattributed;
  if (reading.adopting == Bytes(0)) return foreign;
  return std::max(foreign - reading.adopting, previous.value_or(Bytes(0)));
}

}  // namespace

std::optional<Measured> measure(const Reading& reading, const OwnerOf& owner_of) {
  const Split split = split_up(reading, owner_of);
  const auto foreign = foreign_of(reading, split);
  if (!foreign) return std::nullopt;
  Measured seen{.gpu = reading.gpu, .foreign = *foreign, .used = reading.sample.used};
  if (const auto percent = reading.sample.utilisation_percent) {
    seen.utilisation = static_cast<std::int16_t>(*percent);
  }
  for (const auto& [job, figure] : split.jobs) {
    if (figure) seen.tenants.push_back({job, *figure});  // unknown: its charge stands
  }
  return steadied(seen, reading.previous, reading.sample.total - reading.sample.reserved);
}

bool lists_vanished(const Sample& sample, const OwnerOf& owner_of) {
  if (!sample.processes) return false;
  return std::ranges::any_of(*sample.processes, [&](const GpuProcess& process) {
    return std::holds_alternative<OfNobody>(owner_of(process.pid));
  });
}

std::optional<Bytes> held_by(JobId job, const Sample& sample, const OwnerOf& owner_of) {
  if (!sample.processes) return std::nullopt;
  std::optional<Bytes> held;
  for (const GpuProcess& process : *sample.processes) {
    const Owner owner = owner_of(process.pid);
    const auto* const of = std::get_if<OfJob>(&owner);
    if (of == nullptr || of->job != job) continue;
    held = held.value_or(Bytes(0)) + process.bytes.value_or(Bytes(0));
  }
  return held;
}

bool must_sample(const Freshness& last, Instant now, Duration longest) {
  return is_stale(last.began, last.changed) || now - *last.began > longest;
}

bool is_application_xid(std::uint64_t xid) {
  // What NVIDIA's Kubernetes device plugin skips too: graphics engine exception, memory page
  // fault, reset and stopped channels, video processor exception, context switch timeout.
  constexpr std::array<std::uint64_t, 6> kOfPrograms = {13, 31, 43, 45, 68, 109};
  return std::ranges::find(kOfPrograms, xid) != kOfPrograms.end();
}

}  // namespace berth
