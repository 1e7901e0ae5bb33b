#include "sim/foreign.hpp"

#include <string>

#include "core/text/amounts.hpp"
#include "sim/named_values.hpp"

namespace berth::sim {

namespace {

constexpr std::uint64_t kForeignStream = std::uint64_t{4} << 32;  ///< Apart from those of faults.

bool read_sizes(std::string_view text, ForeignModel& model) {
  const std::size_t dash = text.find('-');
  const auto least = parse_size(text.substr(0, dash));
  const auto most = dash == std::string_view::npos ? least : parse_size(text.substr(dash + 1));
  if (!least || !most || *most < *least) return false;
  model.least = *least;
  model.most = *most;
  return true;
}

}  // namespace

Expected<ForeignModel> parse_foreign(std::string_view text) {
  ForeignModel model;
  const bool good = each_named_value(text, [&](std::string_view name, std::string_view value) {
    if (name == "size") return read_sizes(value, model);
    const auto time = parse_duration(value);
    if (!time || (name != "every" && name != "for")) return false;
    (name == "every" ? model.every : model.stay) = *time;
    return true;
  });
  if (good && model.is_on() && model.most > Bytes(0)) return model;
  return fail(
      ErrorCode::InvalidArgument,
      "--foreign: '" + std::string(text) +
          "' is not every=TIME,for=TIME,size=LEAST-MOST, such as every=6h,for=1h,size=2G-9G");
}

Foreign::Foreign(const Cluster& cluster, const ForeignModel& model, std::uint64_t seed,
                 Instant from)
    : model_(model),
      each_(cluster.gpus().size(), {.off = model.every, .on = model.stay}, seed, kForeignStream,
            from) {}

std::optional<Foreign::Change> Foreign::take(Instant now) {
  const auto change = each_.take(now);
  if (!change) return std::nullopt;
  Bytes wants{0};
  if (change->on) {
    wants = Bytes(each_.rng(change->which).between(model_.least.raw(), model_.most.raw()));
  }
  return Change{GpuId(change->which), wants};
}

}  // namespace berth::sim
