// Goal: instances are packed wherever NVIDIA's published places allow, and nowhere else. Method:
// the table of A100 out of NVIDIA's MIG user guide; its published layouts; and every multiset of
// profiles against a search that tries all starts without any order.
#include "gpu/mig_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace berth {
namespace {

/// Profiles by their compute slices; `1x2` is 1g.10gb of the 40 GB card: a slice with twice the
/// memory. "GPU instance profile placements" of the guide, as `nvidia-smi mig -lgipp` prints them:
/// GPU  0 Profile ID 19 Placements: {0,1,2,3,4,5,6}:1, 15: {0,2,4,6}:2, 14: {0,2,4}:2, 9: {0,4}:4,
/// 5: {0}:4, 0: {0}:8.
const std::map<std::string, MigShape> kA100{
    {"1", {"1g.5gb", 19, 1, 1, {0, 1, 2, 3, 4, 5, 6}}},
    {"1x2", {"1g.10gb", 15, 1, 2, {0, 2, 4, 6}}},
    {"2", {"2g.10gb", 14, 2, 2, {0, 2, 4}}},
    {"3", {"3g.20gb", 9, 3, 4, {0, 4}}},
    {"4", {"4g.20gb", 5, 4, 4, {0}}},
    {"7", {"7g.40gb", 0, 7, 8, {0}}},
};

std::vector<MigShape> shapes(const std::vector<std::string>& names) {
  std::vector<MigShape> wanted;
  for (const std::string& name : names) wanted.push_back(kA100.at(name));
  return wanted;
}

std::uint64_t mask(std::uint32_t start, std::uint32_t size) {
  return ((std::uint64_t{1} << size) - 1) << start;
}

/// Legal starts, none over another or over `taken`.
void expect_legal(const std::vector<MigShape>& wanted, const std::vector<std::uint32_t>& starts,
                  std::uint64_t taken = 0) {
  ASSERT_EQ(starts.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_TRUE(std::ranges::binary_search(wanted[i].starts, starts[i])) << wanted[i].name;
    EXPECT_EQ(taken & mask(starts[i], wanted[i].size), 0U) << wanted[i].name;
    taken |= mask(starts[i], wanted[i].size);
  }
}

TEST(MigPlan, PacksThePublishedLayouts) {
  const std::vector<std::vector<std::string>> published{{"7"},
                                                        {"4", "3"},
                                                        {"4", "2", "1"},
                                                        {"4", "1", "1", "1"},
                                                        {"3", "3"},
                                                        {"3", "2", "1"},
                                                        {"3", "1", "1", "1"},
                                                        {"2", "2", "3"},
                                                        {"2", "1", "1", "3"},
                                                        {"1", "1", "2", "3"},
                                                        {"1", "1", "1", "1", "3"},
                                                        {"2", "2", "2", "1"},
                                                        {"2", "1", "1", "2", "1"},
                                                        {"1", "1", "2", "2", "1"},
                                                        {"2", "1", "1", "1", "1", "1"},
                                                        {"1", "1", "2", "1", "1", "1"},
                                                        {"1", "1", "1", "1", "2", "1"},
                                                        {"1", "1", "1", "1", "1", "1", "1"}};
  for (const auto& names : published) {
    const auto wanted = shapes(names);
    const auto starts = pack_mig(wanted);
    ASSERT_TRUE(starts) << ::testing::PrintToString(names);
    expect_legal(wanted, *starts);
  }
}

TEST(MigPlan, RefusesWhatFitsByNumberAndNotByPlace) {
  EXPECT_FALSE(pack_mig(shapes({"4", "4"}))) << "4 slices can begin at 0 only";
  EXPECT_FALSE(pack_mig(shapes({"2", "2", "2", "2"}))) << "none can begin at 6";
  EXPECT_FALSE(pack_mig(shapes({"4", "2", "2"})));
  EXPECT_FALSE(pack_mig(shapes({"1", "1", "1", "1", "1", "1", "1", "1"}))) << "7 has no compute";
  EXPECT_FALSE(pack_mig(shapes({"7", "1"})));
  EXPECT_TRUE(pack_mig(shapes({"1x2", "1x2", "1x2", "1x2"})));
  EXPECT_FALSE(pack_mig(shapes({"1x2", "1x2", "1x2", "2", "1"})));
}

/// As the guide says: two of 3 slices go while nothing else is there; after a small one, one does.
TEST(MigPlan, GoesAroundWhatIsThere) {
  const std::vector<MigPlace> small{{.start = 1, .size = 1}};
  EXPECT_FALSE(pack_mig(shapes({"3", "3"}), small));
  const auto starts = pack_mig(shapes({"3", "2"}), small);
  ASSERT_TRUE(starts);
  EXPECT_EQ(*starts, (std::vector<std::uint32_t>{4, 2}));
  EXPECT_FALSE(pack_mig(shapes({"4"}), small));
}

TEST(MigPlan, LeavesRoomForWhatHasFewPlaces) {
  const auto starts = pack_mig(shapes({"1"}));
  ASSERT_TRUE(starts);
  EXPECT_EQ(*starts, std::vector<std::uint32_t>{6});
  EXPECT_TRUE(pack_mig(shapes({"4", "2"}), std::vector<MigPlace>{{.start = 6, .size = 1}}));
}

TEST(MigPlan, NothingAndNonsense) {
  EXPECT_EQ(pack_mig({}), std::vector<std::uint32_t>{});
  EXPECT_FALSE(pack_mig(std::vector<MigShape>{{.name = "x", .size = 1, .starts = {}}}));
  EXPECT_FALSE(pack_mig(std::vector<MigShape>{{.name = "x", .size = 64, .starts = {1}}}));
  EXPECT_FALSE(pack_mig(std::vector<MigShape>{{.name = "x", .size = 0, .starts = {0}}}));
}

/// Every start of each, in the order given.
bool can_place(const std::vector<MigShape>& wanted, std::size_t at, std::uint64_t taken) {
  if (at == wanted.size()) return true;
  return std::ranges::any_of(wanted[at].starts, [&](std::uint32_t start) {
    const auto own = mask(start, wanted[at].size);
    return (taken & own) == 0 && can_place(wanted, at + 1, taken | own);
  });
}

TEST(MigPlan, FindsAPlaceWheneverThereIsOne) {
  std::vector<std::string> names;
  for (const auto& [name, shape] : kA100) names.push_back(name);
  int placed = 0;
  int refused = 0;
  const std::function<void(std::vector<std::string>, std::size_t)> each =
      [&](const std::vector<std::string>& chosen, std::size_t from) {
        const auto wanted = shapes(chosen);
        const auto starts = pack_mig(wanted);
        EXPECT_EQ(starts.has_value(), can_place(wanted, 0, 0)) << ::testing::PrintToString(chosen);
        if (starts) expect_legal(wanted, *starts);
        ++(starts ? placed : refused);
        if (chosen.size() == 5) return;
        for (std::size_t i = from; i < names.size(); ++i) {
          auto more = chosen;
          more.push_back(names[i]);
          each(more, i);
        }
      };
  each({}, 0);
  EXPECT_GT(placed, 50);
  EXPECT_GT(refused, 50);
}

/// The guide's figure of what an A100 can be cut into: each half on its own, 6 ways for slices 0 to
/// 3 and 3 for 4 to 6, or the whole card.
TEST(MigPlan, HasAsManyFullLayoutsAsTheGuide) {
  std::set<std::set<std::pair<std::uint32_t, std::string>>> layouts;
  const std::vector<std::string> names{"1", "2", "3", "4", "7"};
  const std::function<void(std::set<std::pair<std::uint32_t, std::string>>, std::uint64_t)> each =
      [&](const std::set<std::pair<std::uint32_t, std::string>>& there, std::uint64_t taken) {
        bool is_full = true;
        for (const std::string& name : names) {
          const MigShape& shape = kA100.at(name);
          for (std::uint32_t start : shape.starts) {
            if ((taken & mask(start, shape.size)) != 0) continue;
            is_full = false;
            auto more = there;
            more.insert({start, name});
            each(more, taken | mask(start, shape.size));
          }
        }
        if (is_full) layouts.insert(there);
      };
  each({}, 0);
  EXPECT_EQ(layouts.size(), 6U * 3U + 1U);
}

}  // namespace
}  // namespace berth
