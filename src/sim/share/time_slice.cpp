#include <algorithm>
#include <array>

#include "sim/share/share_model.hpp"

namespace berth::sim {

namespace {

constexpr auto kTimeSliceKeys = std::to_array<Key>({
    {.name = "lost",
     .type = KeyType::Percent,
     .usual = "0",
     .least = 0,
     .most = 99,
     .what = "Part of a shared GPU's time that is lost, however long slices are."},
    {.name = "slice",
     .type = KeyType::Time,
     .usual = "2ms",
     .least = 1,
     .most = micros(minutes(60)),
     .what = "How long a job has the GPU before the next one has it."},
    {.name = "switch",
     .type = KeyType::Time,
     .usual = "0",
     .least = 0,
     .most = micros(minutes(60)),
     .what = "How long nobody has it between two slices."},
});

/// Turns of equal length, whether a job has work for the GPU or not.
class TimeSlice final : public ShareModel {
 public:
  explicit TimeSlice(const Keys& keys)
      : used_((100 - keys.number("lost")) * (Rate::kWhole / 100) * keys.number("slice") /
              (keys.number("slice") + keys.number("switch"))) {}

  Rate rate(const SharedGpu& gpu) const override {
    return Rate(std::max<std::int64_t>(1, used_ / std::ssize(gpu.tenants)));
  }

 private:
  std::int64_t used_;  ///< Of the time of a shared GPU, in parts per million.
};

std::unique_ptr<const ShareModel> time_slice(const Keys& keys) {
  return std::make_unique<TimeSlice>(keys);
}

}  // namespace

constexpr ShareEntry kTimeSlice{
    .name = "timeslice",
    .rule =
        "1 / (number of jobs) x `slice` / (`slice` + `switch`), less `lost` percent, for two jobs "
        "or more.",
    .source =
        "Time slicing as NVIDIA's driver and its Kubernetes device plugin have it: contexts take "
        "turns. The length of a slice is the driver's usual one as reported, not measured here.",
    .make = time_slice,
    .keys = kTimeSliceKeys,
    .lost = "lost"};

}  // namespace berth::sim
