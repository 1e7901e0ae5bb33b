// Goal: the cells of a cluster are what the header says, also where numbers are no powers of two,
// and they are dealt out so that what is left can be dealt, too.
// Method: small clusters, whose cells are written out.
#include "policy/kit/cells.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace berth {
namespace {

/// A switch for each list of GPUs per node.
Cluster cells_cluster(std::initializer_list<std::initializer_list<std::uint32_t>> switches) {
  Cluster cluster;
  for (const auto& nodes : switches) {
    cluster.add_switch();
    for (const std::uint32_t gpus : nodes) {
      cluster.add_node({.name = "n", .gpus = gpus, .vram = Bytes(8LL << 30)});
    }
  }
  return cluster;
}

/// `4(2(1 1) 2(1 1))`: GPUs of each cell, and of its parts.
std::string text_of(const ClusterCells& machine, CellNumber cell) {
  std::string text = std::to_string(machine.kinds[machine.cells[cell].kind].gpus);
  std::string parts;
  for (const CellNumber part : machine.cells.parts_of(machine.kinds, cell)) {
    EXPECT_EQ(machine.cells[part].parent, cell);
    parts += (parts.empty() ? "" : " ") + text_of(machine, part);
  }
  return parts.empty() ? text : text + "(" + parts + ")";
}

std::string text_of(const ClusterCells& machine) {
  std::string text;
  for (const CellNumber top : machine.cells.tops()) {
    text += (text.empty() ? "" : " ") + text_of(machine, top);
  }
  return text;
}

TEST(Cells, ArePairsOfPairsUpToASwitch) {
  const ClusterCells machine(cells_cluster({{4, 4}, {2}}));
  EXPECT_EQ(text_of(machine), "8(4(2(1 1) 2(1 1)) 4(2(1 1) 2(1 1))) 2(1 1)");
}

TEST(Cells, ANodeHasAsManyPartsAsItsOddDivisor) {
  EXPECT_EQ(text_of(ClusterCells(cells_cluster({{6}}))), "6(2(1 1) 2(1 1) 2(1 1))");
  EXPECT_EQ(text_of(ClusterCells(cells_cluster({{3}}))), "3(1 1 1)");
}

TEST(Cells, NodesOfASwitchAreTogetherAsFarAsTheyGo) {
  EXPECT_EQ(text_of(ClusterCells(cells_cluster({{1, 1, 1, 1, 1, 1, 1}}))),
            "4(2(1 1) 2(1 1)) 2(1 1) 1");
  EXPECT_EQ(text_of(ClusterCells(cells_cluster({{2, 1, 1, 2, 0}}))), "2(1 1) 2(1 1) 2(1 1)");
}

TEST(Cells, GpusHaveTheNumbersOfTheirIds) {
  const Cluster cluster = cells_cluster({{6, 2}, {3, 3, 1}});
  const ClusterCells machine(cluster);
  ASSERT_EQ(machine.cells.gpus(), cluster.gpus().size());
  for (std::uint32_t gpu = 0; gpu < machine.cells.gpus(); ++gpu) {
    EXPECT_EQ(machine.cells[machine.cells.of_gpu(gpu)].first_gpu, gpu);
    EXPECT_EQ(machine.cells[machine.cells.of_gpu(gpu)].kind, 0U);
  }
}

TEST(CellStock, SplitsTheSmallestCellThatIsLeft) {
  const ClusterCells machine(cells_cluster({{4, 4}, {2}}));
  CellStock stock(machine);
  EXPECT_TRUE(stock.take(2, 2));  // the node of two, so that the switch stays whole
  EXPECT_TRUE(stock.take(8, 8));
  EXPECT_FALSE(stock.take(1, 8));
}

TEST(CellStock, TakesTheLargestInARange) {
  const ClusterCells machine(cells_cluster({{4, 4}}));
  CellStock stock(machine);
  EXPECT_EQ(machine.kinds[*stock.take(1, 7)].gpus, 4U);
  EXPECT_EQ(machine.kinds[*stock.take(1, 3)].gpus, 2U);
  EXPECT_EQ(machine.kinds[*stock.take(1, 8)].gpus, 2U);
  EXPECT_FALSE(stock.take(1, 8));
  EXPECT_FALSE(CellStock(machine).take(3, 3));
}

TEST(CellStock, RatherTakesACellWithinANode) {
  const ClusterCells machine(cells_cluster({{1, 1}, {2}}));
  CellStock stock(machine);
  EXPECT_FALSE(machine.kinds[*stock.take(2, 2)].has_nodes);
  EXPECT_TRUE(machine.kinds[*stock.take(2, 2)].has_nodes);
}

}  // namespace
}  // namespace berth
