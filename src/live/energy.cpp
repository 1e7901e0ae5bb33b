#include "live/energy.hpp"

#include <algorithm>
#include <sstream>

#include "core/base/wide.hpp"

namespace berth::live {

void EnergyMeter::share(Gpu& gpu, Instant until) {
  if (until <= gpu.shared) return;
  const std::int64_t passed = micros(until - gpu.shared);
  for (const JobId job : gpu.tenants) gpu.shares[job] += passed / std::ssize(gpu.tenants);
  gpu.shared = until;
}

void EnergyMeter::settle(const ClusterView& view, Instant now) {
  for (std::uint32_t g = 0; g < gpus_.size(); ++g) {
    Gpu& gpu = gpus_[g];
    const auto tenants = view.tenants_of(GpuId(g));
    if (std::ranges::equal(tenants, gpu.tenants)) continue;
    share(gpu, now);
    gpu.tenants = {tenants.begin(), tenants.end()};
    for (const JobId job : tenants) {
      Account& account = accounts_[job];
      account.attempt = view.find(job)->attempt;
      account.gpus.insert(GpuId(g));
    }
  }
  std::erase_if(accounts_, [&](const auto& entry) {
    const Job* const job = view.find(entry.first);
    return job == nullptr || !holds_berth(job->state);
  });
}

void EnergyMeter::on_reading(GpuId id, Instant at, std::optional<std::int64_t> millijoules) {
  Gpu& gpu = gpus_[id.value()];
  at = std::max(at, gpu.shared);
  share(gpu, at);
  if (!millijoules) return;
  if (gpu.reading && *millijoules < *gpu.reading) {
    for (auto& [job, account] : accounts_) {
      if (account.gpus.contains(id)) account.is_known = false;
    }
    gpu.reading.reset();
  }
  const std::int64_t passed = micros(at - gpu.read);
  if (gpu.reading && passed <= 0) return;  // the next one tells it
  if (gpu.reading) {
    const Wide taken = *millijoules - *gpu.reading;
    for (const auto& [job, share] : gpu.shares) {
      const auto account = accounts_.find(job);
      if (account == accounts_.end()) continue;
      account->second.millijoules += static_cast<std::int64_t>(taken * share / passed);
    }
  }
  gpu.reading = millijoules;
  gpu.read = at;
  gpu.shares.clear();
}

std::optional<std::int64_t> EnergyMeter::of(JobId job) const {
  const auto found = accounts_.find(job);
  if (found == accounts_.end()) return std::nullopt;
  const Account& account = found->second;
  const bool is_read = std::ranges::all_of(
      account.gpus, [&](GpuId gpu) { return gpus_[gpu.value()].reading.has_value(); });
  if (!account.is_known || account.gpus.empty() || !is_read) return std::nullopt;
  return account.millijoules;
}

std::optional<std::int64_t> EnergyMeter::take(JobId job) {
  const auto taken = of(job);
  accounts_.erase(job);
  for (Gpu& gpu : gpus_) {
    gpu.shares.erase(job);
    gpu.tenants.erase(job);
  }
  return taken;
}

std::string EnergyMeter::save(std::span<const std::string> names) const {
  std::ostringstream text;
  for (std::size_t g = 0; g < gpus_.size() && g < names.size(); ++g) {
    const Gpu& gpu = gpus_[g];
    if (!gpu.reading || names[g].empty()) continue;
    text << "gpu " << names[g] << ' ' << *gpu.reading << ' ' << micros(gpu.read) << '\n';
  }
  for (const auto& [job, account] : accounts_) {
    text << "job " << job.value() << '.' << account.attempt.value() << ' ' << account.millijoules
         << ' ' << account.is_known << '\n';
  }
  return text.str();
}

void EnergyMeter::restore(std::string_view text, std::span<const std::string> names,
                          const ClusterView& view, Instant now) {
  settle(view, now);
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind;
    std::string name;
    std::int64_t millijoules = 0;
    std::int64_t more = 0;
    if (!(words >> kind >> name >> millijoules >> more) || millijoules < 0) continue;
    if (kind == "gpu") {
      const auto found = std::ranges::find(names, name);
      const Instant read = instant_from_micros(more);
      if (found == names.end() || read > now) continue;
      Gpu& gpu = gpus_[static_cast<std::size_t>(found - names.begin())];
      gpu.reading = millijoules;
      gpu.read = read;
      gpu.shared = read;
    }
    if (kind == "job") {
      std::istringstream number(name);
      std::uint64_t id = 0;
      char dot = 0;
      std::uint32_t attempt = 0;
      if (!(number >> id >> dot >> attempt)) continue;
      const auto account = accounts_.find(JobId(id));
      const bool is_theirs =
          account != accounts_.end() && account->second.attempt == Attempt(attempt);
      if (!is_theirs) continue;
      account->second.millijoules = millijoules;
      account->second.is_known = more != 0;
    }
  }
}

}  // namespace berth::live
