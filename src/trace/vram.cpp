#include "trace/vram.hpp"

#include <algorithm>

#include "core/text/amounts.hpp"
#include "trace/rows.hpp"

namespace berth::trace {

namespace {

constexpr std::int64_t kWholeShare = 1'000'000;

}  // namespace

Expected<VramModel> VramModel::parse(std::string_view text) {
  constexpr std::string_view kind = "uniform:";
  const auto refuse = [&] {
    return fail(ErrorCode::InvalidArgument,
                "memory model '" + std::string(text) +
                    "': expected uniform:LOW-HIGH such as uniform:2G-20G, or a file of quantiles");
  };
  if (!text.starts_with(kind)) return refuse();
  const std::string_view range = text.substr(kind.size());
  const std::size_t dash = std::min(range.find('-'), range.size());
  const auto low = parse_size(range.substr(0, dash));
  const auto high = parse_size(range.substr(std::min(dash + 1, range.size())));
  if (!low || !high || *low > *high) return refuse();
  VramModel model;
  model.points_ = {{0, *low}, {kWholeShare, *high}};
  return model;
}

Expected<VramModel> VramModel::read(std::string_view text, std::string_view file) {
  auto csv = Csv::open(text, file);
  if (!csv) return std::unexpected(csv.error());
  Columns columns(*csv);
  const std::size_t quantile = columns.need("quantile"), vram = columns.need("vram");
  if (auto error = columns.error()) return std::unexpected(*std::move(error));
  VramModel model;
  for (;;) {
    const auto more = csv->next();
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    const Point before = model.points_.empty() ? Point{-1, Bytes(0)} : model.points_.back();
    const auto share = csv->millionths(quantile, 1);
    const auto size = parse_size(csv->field(vram));
    if (!share) return std::unexpected(share.error());
    if (*share <= before.share || (model.points_.empty() && *share != 0)) {
      return std::unexpected(csv->error(quantile, "0 first, then more than in the line before"));
    }
    if (!size || *size < before.vram) {
      return std::unexpected(csv->error(vram, "a size such as 20G, no less than before"));
    }
    model.points_.push_back({*share, *size});
  }
  if (model.points_.size() < 2 || model.points_.back().share != kWholeShare) {
    return fail(ErrorCode::BadData, std::string(file) + ": the last quantile must be 1");
  }
  return model;
}

Bytes VramModel::draw(Rng& rng) const {
  const std::int64_t share = rng.between(0, kWholeShare - 1);
  const auto above = std::ranges::upper_bound(points_, share, {}, &Point::share);
  const Point& low = *(above - 1);
  const std::int64_t width = above->share - low.share;
  const std::int64_t more = (above->vram - low.vram).raw();
  const std::int64_t at = share - low.share;
  return low.vram + Bytes(more / width * at + more % width * at / width);
}

void draw_vram(Trace& trace, const VramModel& model, std::uint64_t seed) {
  Rng rng(seed);
  for (TraceJob& job : trace.jobs) {
    GpuRequest& gpu = job.spec.request.gpu;
    if (gpu.count == GpuCount(0) || gpu.vram > kUnstated) continue;
    gpu.vram = model.draw(rng);
    gpu.sharing = Sharing::Shared;
  }
}

}  // namespace berth::trace
