#include "daemon/notices/usage.hpp"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "core/text/words.hpp"
#include "daemon/loop/json_text.hpp"

namespace berth::daemon {

namespace {

constexpr std::size_t kUsageRowsAtOnce = 64;

/// In local time, as people who read it reckon.
int month_of(Instant at) {
  const auto seconds = static_cast<std::time_t>(micros(at) / 1'000'000);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return (parts.tm_year + 1900) * 12 + parts.tm_mon;
}

std::string month_text(int month) {
  const int number = month % 12 + 1;
  return std::to_string(month / 12) + (number < 10 ? "-0" : "-") + std::to_string(number);
}

}  // namespace

Expected<bool> UsageSums::advance(const std::function<bool()>& has_time) {
  if (!has_live_) {
    const ClusterView view = keeper_.engine().view();
    for (const JobId id : view.running()) {
      const auto row = keeper_.store().job(id);
      if (!row) return std::unexpected(row.error());
      if (!*row) continue;
      if (auto done = add(**row); !done) return std::unexpected(done.error());
    }
    has_live_ = true;
  }
  return add_ended(has_time);
}

Expected<bool> UsageSums::add_ended(const std::function<bool()>& has_time) {
  do {
    journal::PageQuery query{.most = kUsageRowsAtOnce};
    if (before_) query.before = *before_;
    const auto rows = keeper_.store().history(query);
    if (!rows) return std::unexpected(rows.error());
    for (const journal::JobRow& row : *rows) {
      before_ = row.job;
      if (auto done = add(row); !done) return std::unexpected(done.error());
    }
    if (rows->size() < kUsageRowsAtOnce) return false;
  } while (has_time());
  return true;
}

Expected<void> UsageSums::add(const journal::JobRow& row) {
  if (row.is_damaged) return {};
  if (row.end && row.end->at < since_) return {};
  const UserId user = row.spec.user;
  const Instant last = row.end ? row.end->at : now_;
  Usage& ended_in = sums_[{user, month_of(last)}];
  if (row.end) {
    ++ended_in.jobs[static_cast<std::size_t>(row.end->outcome)];
  } else {
    ++ended_in.running;
  }
  ended_in.peak = std::max(ended_in.peak, row.peak);
  const auto attempts = keeper_.store().attempts(row.job);
  if (!attempts) return std::unexpected(attempts.error());
  const auto energies =
      row.millijoules
          ? keeper_.store().energies(row.job)
          : Expected<std::vector<journal::EnergyRow>>(std::vector<journal::EnergyRow>());
  if (!energies) return std::unexpected(energies.error());
  const GpuRequest& gpu = row.spec.request.gpu;
  const Bytes learned = row.spec.vram_estimate > Bytes(0) ? row.spec.vram_estimate : whole_;
  const Bytes asked = gpu.vram > Bytes(0) ? gpu.vram : learned;
  for (std::size_t i = 0; i < attempts->size(); ++i) {
    const journal::AttemptRow& attempt = (*attempts)[i];
    if (attempt.is_damaged) continue;
    // In older journals one that was suspended has no end: it is counted until the next one began.
    const bool is_last = i + 1 == attempts->size();
    const Instant end = attempt.end ? attempt.end->at : is_last ? last : (*attempts)[i + 1].granted;
    const Instant from = std::max(since_, attempt.granted);
    if (end <= from) continue;
    Usage& used_in = sums_[{user, month_of(end)}];
    const auto gpus = static_cast<std::int64_t>(attempt.gpus.size());
    used_in.gpu_time += (end - from) * gpus;
    const auto energy = std::ranges::find(*energies, attempt.attempt, &journal::EnergyRow::attempt);
    if (energy != energies->end()) {
      used_in.millijoules = used_in.millijoules.value_or(0) + energy->millijoules;
    }
    used_in.byte_seconds += in_seconds(end - from) * static_cast<double>(gpus * asked.raw());
  }
  return {};
}

Json UsageSums::take(const std::function<std::string(UserId)>& name_of) const {
  Json list = Json::array();
  for (const auto& [key, sum] : sums_) {
    Json jobs = {{"running", sum.running}};
    for (std::size_t i = 0; i < sum.jobs.size(); ++i) {
      const std::string word(user_word(static_cast<Outcome>(i)));
      jobs[word] = jobs.value(word, std::int64_t{0}) + sum.jobs[i];
    }
    list.push_back({{"user", key.first.value()},
                    {"user_name", name_of(key.first)},
                    {"month", month_text(key.second)},
                    {"jobs", std::move(jobs)},
                    {"gpu_seconds", in_seconds(sum.gpu_time)},
                    {"memory_byte_seconds", sum.byte_seconds},
                    {"energy_joules",
                     sum.millijoules ? Json(static_cast<double>(*sum.millijoules) / 1e3) : Json()},
                    {"peak_bytes", sum.peak > Bytes(0) ? Json(sum.peak.raw()) : Json()}});
  }
  return list;
}

}  // namespace berth::daemon
