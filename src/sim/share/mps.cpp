#include <algorithm>
#include <array>

#include "sim/share/share_model.hpp"

namespace berth::sim {

namespace {

constexpr auto kMpsKeys = std::to_array<Key>({{
    .name = "cap",
    .type = KeyType::Percent,
    .usual = "100",
    .least = 1,
    .most = 100,
    .what = "Percentage of a GPU's threads that a job may use at most, also when it is alone.",
}});

/// Side by side: a job uses as much of the GPU as alone, at most its cap, while that is there.
class Mps final : public ShareModel {
 public:
  explicit Mps(const Keys& keys) : cap_(Rate::kWhole / 100 * keys.number("cap")) {}

  bool reads_duties() const override { return true; }

  Rate rate(const SharedGpu& gpu) const override {
    std::int64_t busy = 0;
    for (const std::size_t tenant : gpu.tenants) busy += std::min(cap_, gpu.duties[tenant]);
    const Rate capped = alone(gpu.duties[gpu.who]);
    return busy <= Rate::kWhole ? capped : capped * Rate(Rate::kWhole * Rate::kWhole / busy);
  }

  Rate alone(std::int64_t duty) const override {
    return duty <= cap_ ? kFullSpeed : Rate(cap_ * Rate::kWhole / duty);
  }

 private:
  std::int64_t cap_;
};

std::unique_ptr<const ShareModel> mps_clients(const Keys& keys) {
  return std::make_unique<Mps>(keys);
}

}  // namespace

constexpr ShareEntry kMps{
    .name = "mps",
    .rule =
        "min(1, `cap` / utilisation) x min(1, 1 / sum of the jobs' utilisations, each at most "
        "`cap`).",
    .source =
        "Clients of NVIDIA's MPS with `CUDA_MPS_ACTIVE_THREAD_PERCENTAGE`; that speed is linear in "
        "threads and in what is left of the GPU is berth's assumption.",
    .make = mps_clients,
    .keys = kMpsKeys};

}  // namespace berth::sim
