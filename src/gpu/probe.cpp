#include "gpu/probe.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
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
    } else {
      split.strangers += figure;
    }
  }
  return split;
}

/// Whole steps, rounded up, but not past the end of the GPU unless the figure itself is.
Bytes rounded(Bytes figure, Bytes capacity) {
  const Bytes over = figure % kProbeStep;
  const Bytes up = over == Bytes(0) ? figure : figure - over + kProbeStep;
  return std::min(up, std::max(figure, capacity));
}

/// A new figure, unless the old one covers it and is at most one step too high: figures that move
/// about a boundary must not become an input each. Growth is told at once, and so is nothing left.
Bytes steadied(Bytes figure, const std::optional<Bytes>& previous, Bytes capacity) {
  const Bytes fresh = rounded(figure, capacity);
  if (!previous || figure == Bytes(0) || figure > *previous) return fresh;
  return *previous - fresh <= kProbeStep ? *previous : fresh;
}

std::optional<Bytes> previous_of(const Reading& reading, JobId job) {
  if (reading.previous == nullptr) return std::nullopt;
  const auto& tenants = reading.previous->tenants;
  const auto found = std::ranges::find(tenants, job, &TenantUse::job);
  if (found == tenants.end()) return std::nullopt;
  return found->bytes;
}

bool is_stale(const std::optional<Instant>& began, const std::optional<Instant>& changed) {
  return !began || (changed && *began <= *changed);
}

/// Foreign use; nothing if this sample cannot tell and none did before.
std::optional<Bytes> foreign_of(const Reading& reading, const Split& split, Bytes capacity) {
  std::optional<Bytes> previous;
  if (reading.previous != nullptr) previous = reading.previous->foreign;
  if (is_stale(reading.began, reading.changed)) return previous;
  if (split.hides_a_tenant) {
    const Bytes seen = steadied(split.strangers, previous, capacity);
    return std::max(seen, previous.value_or(Bytes(0)));
  }
  const Bytes unattributed = std::max(Bytes(0), reading.sample.used - split.known);
  return steadied(split.strangers + unattributed, previous, capacity);
}

/// The nearest step, unless the one told last is at most a step away: a GPU is rarely as busy in
/// one second as in the next, and no policy needs more precision.
std::int16_t steadied_utilisation(const Reading& reading) {
  if (!reading.sample.utilisation_percent) return kUnknownUtilisation;
  const auto percent = static_cast<std::int16_t>(*reading.sample.utilisation_percent);
  const std::int16_t told =
      reading.previous == nullptr ? kUnknownUtilisation : reading.previous->utilisation;
  if (told != kUnknownUtilisation && std::abs(percent - told) <= kBusyStep) return told;
  return static_cast<std::int16_t>((percent + kBusyStep / 2) / kBusyStep * kBusyStep);
}

bool is_same(const Measured& one, const Measured& other) {
  return one.gpu == other.gpu && one.foreign == other.foreign && one.used == other.used &&
         one.utilisation == other.utilisation &&
         std::ranges::equal(one.tenants, other.tenants, [](const auto& a, const auto& b) {
           return a.job == b.job && a.bytes == b.bytes;
         });
}

}  // namespace

std::optional<Measured> measure(const Reading& reading, const OwnerOf& owner_of) {
  const Bytes capacity = reading.sample.total - reading.sample.reserved;
  const Split split = split_up(reading, owner_of);
  const auto foreign = foreign_of(reading, split, capacity);
  if (!foreign) return std::nullopt;
  std::optional<Bytes> used_before;
  if (reading.previous != nullptr) used_before = reading.previous->used;
  Measured measured{.gpu = reading.gpu,
                    .foreign = *foreign,
                    .used = steadied(reading.sample.used, used_before, capacity),
                    .utilisation = steadied_utilisation(reading)};
  for (const auto& [job, figure] : split.jobs) {
    if (!figure) continue;  // unknown: its charge stands
    measured.tenants.push_back(
        {.job = job, .bytes = steadied(*figure, previous_of(reading, job), capacity)});
  }
  if (reading.previous != nullptr && is_same(measured, *reading.previous)) return std::nullopt;
  return measured;
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
