// Goal: a GPU keeps its number whatever the driver finds at the next start, and one that is gone is
// asked for no more. Method: devices made by hand, behind a port that says which it was asked for.
#include "gpu/kept_gpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Bytes kGib{std::int64_t{1} << 30};

std::vector<Device> with_uuids(const std::vector<std::string>& uuids, Bytes size = kGib * 24) {
  std::vector<Device> list;
  for (const std::string& uuid : uuids) {
    const auto index = static_cast<std::uint32_t>(list.size());
    list.push_back({.index = index,
                    .name = "L4",
                    .uuid = uuid,
                    .total = size,
                    .board = index,
                    .minor = index});
  }
  return list;
}

using Number = std::optional<std::uint32_t>;

TEST(KeptGpus, AreFoundByTheirUuids) {
  const auto before = with_uuids({"A", "B", "C"});
  const KeptGpus kept = keep_numbers(before, with_uuids({"C", "A"}), "gone: it fell");
  EXPECT_THAT(kept.numbers, ElementsAre(Number(1), Number(), Number(0)));
  EXPECT_THAT(kept.fresh, IsEmpty());
  ASSERT_EQ(kept.list.size(), 3U);
  EXPECT_EQ(kept.list[0].board, 1U);
  EXPECT_EQ(kept.list[0].index, 0U);
  EXPECT_EQ(kept.list[1].problem, "gone: it fell");
  EXPECT_EQ(kept.list[1].uuid, "B");
  EXPECT_EQ(kept.list[1].minor, std::nullopt) << "another GPU may have its file";
  EXPECT_EQ(kept.list[2].problem, "");
  EXPECT_TRUE(has_only_lost(before, with_uuids({"C", "A"})));
  EXPECT_TRUE(has_only_lost(before, {}));
  EXPECT_FALSE(has_only_lost(before, with_uuids({"C", "B", "A"})));
  EXPECT_FALSE(has_only_lost(before, with_uuids({"C", "D"})));
}

TEST(KeptGpus, AnotherInItsPlaceIsAnother) {
  const auto before = with_uuids({"A", "B"});
  EXPECT_THAT(keep_numbers(before, with_uuids({"A", "X"}), "gone").numbers,
              ElementsAre(Number(0), Number()));
  EXPECT_THAT(keep_numbers(before, with_uuids({"A", "X"}), "gone").fresh, ElementsAre(1U));
  const auto larger = with_uuids({"A", "B"}, kGib * 48);
  EXPECT_THAT(keep_numbers(before, larger, "gone").numbers, ElementsAre(Number(), Number()));
}

/// As where the driver refuses it, and in a state that says nothing.
TEST(KeptGpus, OneWithoutAUuidIsKnownByItsNumber) {
  const auto before = with_uuids({"A", "B"});
  auto now = with_uuids({"A", ""}, kGib * 24);
  now[1].problem = "GPU is lost";
  now[1].name = "";
  now[1].total = Bytes(0);
  const KeptGpus kept = keep_numbers(before, now, "gone");
  EXPECT_THAT(kept.numbers, ElementsAre(Number(0), Number(1)));
  EXPECT_EQ(kept.list[1].problem, "GPU is lost");
  EXPECT_EQ(kept.list[1].uuid, "B");
  EXPECT_EQ(kept.list[1].total, kGib * 24);
  EXPECT_THAT(keep_numbers(with_uuids({"", ""}), with_uuids({"A", "B", "C"}), "gone").numbers,
              ElementsAre(Number(0), Number(1)));
  EXPECT_THAT(keep_numbers(with_uuids({"", ""}), with_uuids({"A"}, kGib * 8), "gone").numbers,
              ElementsAre(Number(), Number()));
}

class AskedPort : public GpuPort {
 public:
  explicit AskedPort(std::vector<std::uint32_t>& asked) : asked_(asked) {}
  Expected<Devices> devices() override { return Devices{.driver_version = "615"}; }
  Expected<Sample> sample(std::uint32_t device) override {
    asked_.push_back(device);
    return Sample{};
  }
  Expected<std::optional<GpuEvent>> wait_event(Duration) override {
    return GpuEvent{.device = 0, .xid = 79};
  }

 private:
  std::vector<std::uint32_t>& asked_;
};

TEST(KeptGpus, AreAskedForByTheDriversNumbers) {
  std::vector<std::uint32_t> asked;
  const KeptGpus kept =
      keep_numbers(with_uuids({"A", "B", "C"}), with_uuids({"C", "A"}), "gone: it fell");
  const auto port = under_kept_numbers(std::make_unique<AskedPort>(asked), kept);
  EXPECT_TRUE(port->sample(0));
  EXPECT_TRUE(port->sample(2));
  EXPECT_THAT(asked, ElementsAre(1U, 0U));
  EXPECT_THAT(port->sample(1).error().message, HasSubstr("GPU 1: gone: it fell"));
  EXPECT_THAT(port->sample(3).error().message, HasSubstr("GPU 3: there is none"));
  EXPECT_EQ(port->wait_event(Duration(0)).value()->device, 2U);
  EXPECT_EQ(port->devices()->driver_version, "615");
  EXPECT_EQ(port->devices()->list.size(), 3U);
}

TEST(KeptGpus, AreAllGoneWithoutADriver) {
  const auto port =
      under_kept_numbers(nullptr, keep_numbers(with_uuids({"A"}), {}, "gone: there is no driver"));
  EXPECT_THAT(port->sample(0).error().message, HasSubstr("there is no driver"));
  EXPECT_EQ(port->devices()->list.size(), 1U);
  EXPECT_EQ(port->wait_event(Duration(0)).value(), std::nullopt);
}

}  // namespace
}  // namespace berth
