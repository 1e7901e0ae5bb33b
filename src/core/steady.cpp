#include "core/steady.hpp"

#include <algorithm>
#include <cstdlib>

namespace berth {

namespace {

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

std::optional<Bytes> told_of(const Measured* told, JobId job) {
  if (told == nullptr) return std::nullopt;
  const auto found = std::ranges::find(told->tenants, job, &TenantUse::job);
  if (found == told->tenants.end()) return std::nullopt;
  return found->bytes;
}

/// The nearest step, unless the one told last is at most a step away: a GPU is rarely as busy in
/// one second as in the next, and no policy needs more precision.
std::int16_t steadied(std::int16_t percent, std::int16_t told) {
  if (percent == kUnknownUtilisation) return kUnknownUtilisation;
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

std::optional<Measured> steadied(const Measured& seen, const Measured* told, Bytes capacity) {
  std::optional<Bytes> foreign;
  std::optional<Bytes> used;
  if (told != nullptr) foreign = told->foreign, used = told->used;
  Measured news{.gpu = seen.gpu,
                .foreign = steadied(seen.foreign, foreign, capacity),
                .used = steadied(seen.used, used, capacity),
                .utilisation = steadied(seen.utilisation,
                                        told == nullptr ? kUnknownUtilisation : told->utilisation)};
  for (const TenantUse& tenant : seen.tenants) {
    news.tenants.push_back(
        {.job = tenant.job, .bytes = steadied(tenant.bytes, told_of(told, tenant.job), capacity)});
  }
  if (told != nullptr && is_same(news, *told)) return std::nullopt;
  return news;
}

}  // namespace berth
