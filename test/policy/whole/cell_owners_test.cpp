// Goal: users own the cells that are stated or their parts by weight, and jobs have the pods that
// nodes can hold.
// Method: one switch of two nodes of four GPUs; cells are told by their GPUs.
#include "policy/whole/cell_owners.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "policy/whole/cell_seats.hpp"

namespace berth {
namespace {

using Sizes = std::vector<std::uint32_t>;

class Owned : public testing::Test {
 protected:
  /// GPUs of the cells of a user.
  Sizes of(const CellOwners& owners, std::uint32_t user) const {
    const auto cluster = owners.of(UserId(user));
    Sizes sizes;
    if (!cluster) return sizes;
    for (const KindNumber kind : owners.cells[*cluster]) sizes.push_back(machine_.kinds[kind].gpus);
    return sizes;
  }
  static Cluster cluster() {
    Cluster cluster;
    cluster.add_switch();
    for (int n = 0; n < 2; ++n) {
      cluster.add_node({.name = "n", .gpus = 4, .vram = Bytes(8LL << 30)});
    }
    return cluster;
  }
  const ClusterCells machine_ = ClusterCells(cluster());
};

TEST_F(Owned, AsStatedAndOthersTheRest) {
  const CellOwners owners = owners_by_list(std::vector<std::int64_t>{7, 2, 7, 1, 8, 4}, machine_);
  EXPECT_EQ(of(owners, 7), Sizes({2, 1}));
  EXPECT_EQ(of(owners, 8), Sizes({4}));
  EXPECT_EQ(of(owners, 9), Sizes({1}));
  EXPECT_EQ(owners.of(UserId(9)), owners.of(UserId(10)));
}

TEST_F(Owned, NoCellThatIsNotLeft) {
  const CellOwners owners =
      owners_by_list(std::vector<std::int64_t>{7, 3, 7, 4, 8, 8, 8, 4, 9, 1}, machine_);
  EXPECT_EQ(of(owners, 7), Sizes({4}));
  EXPECT_EQ(of(owners, 8), Sizes({4}));
  EXPECT_EQ(of(owners, 9), Sizes());
  EXPECT_EQ(of(owners, 10), Sizes());
}

TEST_F(Owned, ByWeight) {
  const CellOwners alone = owners_by_weight({{UserId(1), 1000}}, machine_);
  EXPECT_EQ(of(alone, 1), Sizes({8}));
  const CellOwners three =
      owners_by_weight({{UserId(1), 500}, {UserId(2), 250}, {UserId(3), 250}}, machine_);
  EXPECT_EQ(of(three, 1), Sizes({4}));
  EXPECT_EQ(of(three, 2), Sizes({2}));
  EXPECT_EQ(of(three, 3), Sizes({2}));
  EXPECT_EQ(of(three, 4), Sizes());
}

TEST_F(Owned, AGpuAtLeastWhileThereAreAny) {
  std::map<UserId, std::int64_t> weights;
  for (std::uint32_t user = 1; user <= 9; ++user) weights[UserId(user)] = 1000;
  const CellOwners owners = owners_by_weight(weights, machine_);
  EXPECT_EQ(of(owners, 8), Sizes({1}));
  EXPECT_EQ(of(owners, 9), Sizes());
}

TEST(Pods, AreFullNodesAndTheRest) {
  EXPECT_EQ(pods_of(3, Sizes({8, 8})), Sizes({3}));
  EXPECT_EQ(pods_of(16, Sizes({8, 8})), Sizes({8, 8}));
  EXPECT_EQ(pods_of(12, Sizes({8, 8})), Sizes({8, 4}));
  EXPECT_EQ(pods_of(17, Sizes({8, 8})), std::nullopt);
  EXPECT_EQ(pods_of(1, Sizes()), std::nullopt);
}

TEST(Pods, AreSmallerWhereNodesDiffer) {
  EXPECT_EQ(pods_of(12, Sizes({8, 4})), Sizes({8, 4}));
  EXPECT_EQ(pods_of(12, Sizes({4, 8})), Sizes({4, 4, 4})) << "no pod goes back to a node";
  EXPECT_EQ(pods_of(7, Sizes({3, 2, 2})), Sizes({1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(pods_of(2, Sizes({0, 1, 1})), Sizes({1, 1}));
}

}  // namespace
}  // namespace berth
