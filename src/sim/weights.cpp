#include "sim/weights.hpp"

#include <optional>
#include <utility>

#include "core/text/amounts.hpp"
#include "sim/by_type.hpp"
#include "sim/heading.hpp"
#include "trace/csv.hpp"

namespace berth::sim {

Expected<NamedWeights> parse_weights(std::string_view text) {
  auto weights =
      parse_by_type<std::int64_t>(text, [](std::string_view number) -> std::optional<std::int64_t> {
        const auto weight = parse_weight(number);
        return weight ? std::optional(*weight) : std::nullopt;
      });
  if (weights && !weights->contains("")) return std::move(*weights);
  return fail(ErrorCode::InvalidArgument,
              "--weights: '" + std::string(text) +
                  "' is not USER=WEIGHT with commas, every user once, weights from 0.001 to "
                  "100000");
}

Expected<GpuValues> parse_gpu_values(std::string_view text) {
  auto values =
      parse_by_type<std::int64_t>(text, [](std::string_view number) -> std::optional<std::int64_t> {
        const auto value = parse_weight(number);
        return value && *value <= kMostValue ? std::optional(*value) : std::nullopt;
      });
  if (values && !values->contains("")) return std::move(*values);
  return fail(ErrorCode::InvalidArgument,
              "--gpu-values: '" + std::string(text) +
                  "' is not speeds, nor TYPE=VALUE with commas, every type once, values from 0.001 "
                  "to 1000");
}

Expected<NamedWeights> read_weights(std::string_view text, std::string_view file) {
  auto csv = trace::Csv::open(text, file, {.header = {"user", "weight"}});
  if (!csv) return std::unexpected(csv.error());
  NamedWeights weights;
  for (bool is_first = true;; is_first = false) {
    const auto row = csv->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return weights;
    const auto weight = parse_weight(csv->field(1));
    if (is_first && is_heading(csv->field(1))) continue;  // a header
    if (!weight) {
      return std::unexpected(csv->error(1, "a weight from 0.001 to 100000 such as 2 or 0.5"));
    }
    if (!weights.emplace(csv->field(0), *weight).second) {
      return std::unexpected(csv->error(0, "every user once"));
    }
  }
}

Weights weights_of(const trace::Trace& trace, const NamedWeights& named) {
  Weights weights;
  NamedWeights left = named;
  for (const trace::TraceJob& job : trace.jobs) {
    const auto found = left.find(job.user);
    if (found == left.end()) continue;
    weights.by_user[job.spec.user] = found->second;
    left.erase(found);
    if (left.empty()) break;
  }
  for (auto& [name, weight] : left) weights.strangers.push_back(name);
  return weights;
}

}  // namespace berth::sim
