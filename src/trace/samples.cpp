// A distribution as a file: one number to a line.
#include "trace/csv.hpp"
#include "trace/trace.hpp"

namespace berth::trace {

Expected<std::vector<std::int64_t>> read_samples(std::string_view text, std::string_view file) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  auto csv = Csv::open(text, file);
  if (!csv) return std::unexpected(csv.error());
  std::vector<std::int64_t> samples;
  while (true) {
    const auto row = csv->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return samples;
    const auto sample = csv->integer(0, 0, kMost);
    if (!sample) return std::unexpected(sample.error());
    samples.push_back(*sample);
  }
}

}  // namespace berth::trace
