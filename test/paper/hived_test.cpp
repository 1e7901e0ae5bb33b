// Virtual clusters of cells against the scheduler of HiveD (Zhao et al., OSDI 2020).
//
// Source: oracles/hived, three runs of microsoft/hivedscheduler, commit 66f26ac47b: 1,500
// operations on 96 GPUs, which three virtual clusters own. Method: each gang is added or removed as
// there, by the objects that policy hived decides with; each line must be the same: who waits, who
// is evicted, and every GPU in the order in which it is given. Skipped without the files. A run of
// our own on eight GPUs was worked out by hand from the rules on the oracle's page.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "policy/whole/virtual_cells.hpp"
#include "support/paths.hpp"

namespace berth::test {
namespace {

/// Switches of as many nodes of as many GPUs, and the cells that A, B and C own.
struct HivedMachine {
  std::uint32_t switches;
  std::uint32_t nodes;
  std::uint32_t gpus;
  std::vector<std::vector<std::uint32_t>> owned;  ///< GPUs of each cell.
};

class HivedRun {
 public:
  explicit HivedRun(const HivedMachine& machine) : gpus_(machine.gpus), clusters_(make(machine)) {}

  /// The lines that these operations give.
  std::string lines(const std::string& operations) {
    std::istringstream in(operations);
    for (std::string line; std::getline(in, line);) operate(line);
    return out_.str();
  }

 private:
  static VirtualClusters make(const HivedMachine& machine) {
    Cluster cluster;
    for (std::uint32_t s = 0; s < machine.switches; ++s) {
      cluster.add_switch();
      for (std::uint32_t n = 0; n < machine.nodes; ++n) {
        cluster.add_node({.name = "n", .gpus = machine.gpus, .vram = Bytes(8LL << 30)});
      }
    }
    const ClusterCells cells(cluster);
    CellStock stock(cells);
    std::vector<std::vector<KindNumber>> owned;
    for (const auto& cluster_cells : machine.owned) {
      auto& kinds = owned.emplace_back();
      for (const std::uint32_t gpus : cluster_cells) kinds.push_back(*stock.take(gpus, gpus));
    }
    return {cells, owned};
  }

  void operate(const std::string& line) {
    std::istringstream words(line);
    std::string what;
    std::string name;
    words >> what >> name;
    if (what == "del") {
      clusters_.remove(id_of(name));
      return;
    }
    char cluster = 'A';
    std::uint32_t pods = 0;
    std::uint32_t gpus = 0;
    Gang gang{.id = id_of(name), .pods = {}};
    words >> cluster >> gang.priority >> pods >> gpus;
    gang.cluster = static_cast<std::uint32_t>(cluster - 'A');
    gang.pods.assign(pods, gpus);
    const auto choice = clusters_.choose(gang, [](auto) { return true; });
    if (!choice) {
      out_ << name << " waits\n";
      return;
    }
    print_evicted(name, choice->evicted);
    clusters_.take(gang, *choice);
    for (std::uint32_t pod = 0; pod < pods; ++pod) print_pod(name, gang, pod);
  }

  void print_evicted(const std::string& name, const std::vector<JobId>& evicted) {
    if (evicted.empty()) return;
    std::vector<std::string> names;
    for (const JobId id : evicted) names.push_back(names_.at(id));
    std::ranges::sort(names);
    out_ << name << " evicts";
    for (const std::string& one : names) out_ << ' ' << one;
    out_ << '\n';
  }

  void print_pod(const std::string& name, const Gang& gang, std::uint32_t pod) {
    const std::uint32_t size = gang.pods.front();
    const auto gpus = std::span(clusters_.find(gang.id)->gpus).subspan(pod * size, size);
    const std::string node = std::to_string(gpus.front() / gpus_);
    out_ << name << ' ' << pod << " n" << (node.size() == 1 ? "0" : "") << node;
    for (const std::uint32_t gpu : gpus) out_ << ' ' << gpu % gpus_;
    out_ << '\n';
  }

  JobId id_of(const std::string& name) {
    const auto [entry, is_new] = ids_.try_emplace(name, JobId(ids_.size() + 1));
    if (is_new) names_[entry->second] = name;
    return entry->second;
  }

  std::uint32_t gpus_;
  VirtualClusters clusters_;
  std::map<std::string, JobId> ids_;
  std::map<JobId, std::string> names_;
  std::ostringstream out_;
};

class HivedOracle : public testing::TestWithParam<const char*> {};

TEST_P(HivedOracle, GivesEachLine) {
  const auto folder = std::filesystem::path("oracles") / "hived";
  const std::string name = GetParam();
  if (const auto absent = absent_shared(folder / (name + ".ops"))) GTEST_SKIP() << *absent;
  HivedRun run(
      {.switches = 3, .nodes = 4, .gpus = 8, .owned = {{16, 16, 8, 8}, {32}, {4, 4, 4, 4}}});
  const std::string theirs = read_file(shared_dir() / folder / (name + ".out"));
  std::istringstream ours(run.lines(read_file(shared_dir() / folder / (name + ".ops"))));
  std::istringstream expected(theirs);
  int number = 0;
  for (std::string line; std::getline(expected, line);) {
    ++number;
    std::string own;
    ASSERT_TRUE(std::getline(ours, own)) << "line " << number << " is missing: " << line;
    ASSERT_EQ(own, line) << "line " << number;
  }
  std::string more;
  EXPECT_FALSE(std::getline(ours, more)) << more;
  const std::map<std::string, int> lines = {
      {"mixed", 512}, {"guaranteed", 216}, {"priorities", 540}};
  EXPECT_EQ(number, lines.at(name));
}

INSTANTIATE_TEST_SUITE_P(Runs, HivedOracle, testing::Values("mixed", "guaranteed", "priorities"),
                         [](const auto& run) { return std::string(run.param); });

/// Two nodes of a switch with four GPUs each; A owns four GPUs, B a pair and another.
TEST(Hived, GivesWhatWasWorkedOutByHand) {
  HivedRun run({.switches = 1, .nodes = 2, .gpus = 4, .owned = {{4}, {2, 2}}});
  EXPECT_EQ(run.lines("add b1 B 0 1 2\n"   // B's first pair: of the first node, which is split
                      "add o1 B -1 1 3\n"  // the node with fewer guaranteed GPUs
                      "add a1 A 0 1 3\n"   // the node that is whole; the pair with one GPU in use
                      "add b2 B 0 2 1\n"   // B's second pair: what is left of the first node
                      "add a2 A 0 1 2\n"   // one of A's GPUs is free
                      "add a3 A 1 1 2\n"   // that one, and of the same pair a1's
                      "del b1\n"
                      "del b2\n"  // the first node is whole again
                      "add o2 B -1 1 4\n"
                      "del a3\n"            // so are all
                      "add a4 A 0 1 4\n"),  // the node with fewer opportunistic GPUs
            "b1 0 n00 0 1\n"
            "o1 0 n01 0 1 2\n"
            "a1 evicts o1\n"
            "a1 0 n01 3 2 0\n"
            "b2 0 n00 2\n"
            "b2 1 n00 3\n"
            "a2 waits\n"
            "a3 evicts a1\n"
            "a3 0 n01 1 0\n"
            "o2 0 n00 0 1 2 3\n"
            "a4 0 n01 0 1 2 3\n");
}

}  // namespace
}  // namespace berth::test
