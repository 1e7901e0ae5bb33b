#include "sim/rates.hpp"

#include <algorithm>

#include "core/base/rng.hpp"
#include "core/text/amounts.hpp"
#include "sim/share/pair_table.hpp"

namespace berth::sim {

namespace {

constexpr std::int64_t kMostRatePercent = 99;
constexpr std::uint64_t kToldStream = std::uint64_t{1} << 41;  ///< Of random numbers.

std::int64_t gpus_of(const trace::TraceJob& job) { return job.spec.request.gpu.count.raw(); }

std::int64_t ppm(GpuMilli part) { return part.raw() * Rate::kWhole / kWholeGpu.raw(); }

std::int64_t duty_of(const trace::TraceJob& job, const RateModel& model) {
  if (job.duty != trace::kUnstatedDuty) return ppm(job.duty);
  if (const auto known = model.speeds.facts(job.model).utilisation) return known->ppm();
  const GpuMilli asked = job.spec.request.gpu.milli;
  return asked > GpuMilli(0) ? ppm(asked) : model.utilisation.ppm();
}

}  // namespace

std::vector<std::int64_t> duties_of(const trace::Trace& trace, const RateModel& model) {
  std::vector<std::int64_t> duties;
  for (const trace::TraceJob& job : trace.jobs) duties.push_back(duty_of(job, model));
  return duties;
}

Rates::Rates(const RateModel& model, const trace::Trace& trace, const Cluster& cluster)
    : model_(model), trace_(trace), cluster_(cluster) {
  if (model.reads_duties()) duties_ = duties_of(trace, model);
}

Pace Rates::of(std::size_t job, std::span<const GpuId> gpus, const Tenants& tenants) const {
  if (gpus.empty()) return {};
  Pace slowest{.rate = Rate(Rate::kMost)};
  for (const GpuId gpu : gpus) {
    const Pace here = share(job, gpu, tenants.on(gpu));
    const std::string& name = cluster_.type_names()[cluster_.gpu(gpu).type];
    const auto on_type = type(job, name);
    slowest.rate = std::min(slowest.rate, here.rate * on_type.value_or(kFullSpeed));
    slowest.kernel_cost = std::max(slowest.kernel_cost, here.kernel_cost);
    slowest.shares = slowest.shares || here.shares;
    slowest.ruled = slowest.ruled || here.ruled || !on_type;
  }
  const auto count = static_cast<std::int64_t>(gpus.size());
  std::int64_t nodes = 1;
  for (std::size_t i = 1; i < gpus.size(); ++i) {
    nodes += cluster_.node_of(gpus[i]) != cluster_.node_of(gpus[i - 1]) ? 1 : 0;
  }
  const auto spread_out = spread(job, count, nodes);
  slowest.ruled = slowest.ruled || !spread_out;
  slowest.rate = slowest.rate * spread_out.value_or(model_.spread) * scale(job, count);
  return slowest;
}

Rate Rates::scale(std::size_t job, std::int64_t gpus) const {
  const trace::TraceJob& asks = trace_.jobs[job];
  return model_.speeds.scaled(asks.model, asks.batch, gpus_of(asks), gpus);
}

std::optional<Rate> Rates::spread(std::size_t job, std::int64_t gpus, std::int64_t nodes) const {
  if (nodes > 1) {
    const auto known = model_.speeds.spread(trace_.jobs[job].model, gpus, nodes);
    if (known) return known;
  }
  const std::int64_t most = std::max<std::int64_t>(1, cluster_.largest_node());
  const std::int64_t needed = (gpus + most - 1) / most;
  const bool slows = model_.speeds.has_spreads() || model_.spread != kFullSpeed;
  return nodes > needed && slows ? std::nullopt : std::optional(kFullSpeed);
}

std::optional<Rate> Rates::type(std::size_t job, std::string_view name) const {
  if (!model_.speeds.has_types()) return kFullSpeed;
  const trace::TraceJob& asked = trace_.jobs[job];
  return model_.speeds.on_type(asked.model, gpus_of(asked), std::string(name));
}

Pace Rates::share(std::size_t job, GpuId gpu, std::span<const std::size_t> tenants) const {
  const bool is_alone = tenants.size() < 2;
  if (is_alone && duties_.empty()) return {};
  if (is_alone) {
    const Rate rate = model_.share->alone(duties_[job]);
    return {.rate = rate, .ruled = rate != kFullSpeed};
  }
  const SharedGpu shared{.who = job,
                         .tenants = tenants,
                         .type = cluster_.type_names()[cluster_.gpu(gpu).type],
                         .trace = trace_,
                         .duties = duties_};
  if (const auto known = measured_beside(model_.speeds, shared)) {
    return {.rate = *known, .shares = true};
  }
  if (model_.share == nullptr) return {.shares = true, .ruled = true};
  return {.rate = model_.share->rate(shared),
          .shares = true,
          .ruled = true,
          .kernel_cost = model_.share->kernel_cost(shared)};
}

Expected<ToldSpeeds> parse_told_speeds(std::string_view text) {
  if (text == "exact") return ToldSpeeds();
  if (text == "learned") return ToldSpeeds{.table = false};
  std::string_view digits = text;
  if (digits.starts_with("+-") && digits.ends_with('%')) {
    digits = digits.substr(2, digits.size() - 3);
    if (const auto percent = parse_count(digits, kMostRatePercent)) {
      return ToldSpeeds{.error_percent = *percent};
    }
  }
  return fail(ErrorCode::InvalidArgument, "--told-speeds: '" + std::string(text) +
                                              "' is not exact, learned, or +-N% with N from 0 to " +
                                              std::to_string(kMostRatePercent));
}

Speeds told_speeds(const RateModel& model, const ToldSpeeds& told, std::uint64_t seed) {
  if (!told.table) return {};
  Speeds speeds = model.speeds;
  if (told.error_percent > 0) {
    Rng rng(seed, kToldStream);
    const std::int64_t most = told.error_percent * (Rate::kWhole / 100);
    speeds = speeds.changed(
        [&](Rate rate) { return rate * Rate(Rate::kWhole + rng.between(-most, most)); });
  }
  speeds.set_unmeasured_spread(model.spread);
  return speeds;
}

}  // namespace berth::sim
