// Goal: a matching weighs as much as any can, is one, and is the same for the same question; what
// is no graph has no answer.
// Method: every graph of up to five nodes with weights of 0 to 2, and drawn graphs of up to ten,
// against all matchings; odd rings worked out by hand.
#include "solve/matching.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/rng.hpp"
#include "solve/solve.hpp"

namespace berth::solve {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Of the edges from this one on, with the nodes that are taken.
std::int64_t heaviest(const Matching& graph, std::size_t from, std::uint32_t taken) {
  if (from == graph.edges.size()) return 0;
  const Edge& edge = graph.edges[from];
  const std::uint32_t both = 1U << edge.one | 1U << edge.other;
  std::int64_t best = heaviest(graph, from + 1, taken);
  if ((taken & both) == 0) {
    best = std::max(best, edge.weight + heaviest(graph, from + 1, taken | both));
  }
  return best;
}

void expect_best(const Matching& graph) {
  const auto pairs = best_matching(graph);
  ASSERT_TRUE(pairs);
  ASSERT_EQ(pairs->size(), graph.edges.size());
  std::uint32_t taken = 0;
  std::int64_t weight = 0;
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    if (!(*pairs)[i]) continue;
    const std::uint32_t both = 1U << graph.edges[i].one | 1U << graph.edges[i].other;
    ASSERT_EQ(taken & both, 0U) << "a node is in two pairs";
    taken |= both;
    weight += graph.edges[i].weight;
  }
  ASSERT_EQ(weight, heaviest(graph, 0, 0));
  ASSERT_EQ(best_matching(graph), pairs);
}

Matching complete(std::uint32_t nodes) {
  Matching graph{.nodes = nodes, .edges = {}};
  for (std::uint32_t one = 0; one < nodes; ++one) {
    for (std::uint32_t other = one + 1; other < nodes; ++other) graph.edges.push_back({one, other});
  }
  return graph;
}

TEST(Matching, EverySmallGraphIsMatchedBest) {
  for (std::uint32_t nodes = 2; nodes <= 5; ++nodes) {
    Matching graph = complete(nodes);
    for (bool is_last = false; !is_last;) {
      ASSERT_NO_FATAL_FAILURE(expect_best(graph));
      is_last = true;
      for (Edge& edge : graph.edges) {
        edge.weight = (edge.weight + 1) % 3;
        if (edge.weight != 0) {
          is_last = false;
          break;
        }
      }
    }
  }
}

TEST(Matching, DrawnGraphsAreMatchedBest) {
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    Rng rng(seed);
    Matching graph = complete(static_cast<std::uint32_t>(rng.between(2, 9)));
    const std::int64_t most = rng.one_in(2) ? 4 : 1'000;
    const std::int64_t kept = rng.between(1, 4);
    std::erase_if(graph.edges, [&](const Edge&) { return rng.between(0, 4) > kept; });
    for (Edge& edge : graph.edges) edge.weight = rng.between(0, most);
    ASSERT_NO_FATAL_FAILURE(expect_best(graph)) << "seed " << seed;
  }
}

TEST(Matching, AnOddRingLeavesOutTheNodeThatCostsLeast) {
  // 0-1-2-3-4-0 with a tail 5 on 0: 0-5 and two of the ring.
  const Matching ring{.nodes = 6,
                      .edges = {{0, 1, 6}, {1, 2, 6}, {2, 3, 6}, {3, 4, 6}, {4, 0, 6}, {0, 5, 3}}};
  const auto pairs = best_matching(ring);
  ASSERT_TRUE(pairs);
  EXPECT_THAT(*pairs, ElementsAre(false, true, false, true, false, true));
}

TEST(Matching, AnAnswerHasAMillionForEachPair) {
  const Matching path{.nodes = 4, .edges = {{0, 1, 4}, {1, 2, 7}, {2, 3, 4}}};
  EXPECT_THAT(answer({path}).values, ElementsAre(1'000'000, 0, 1'000'000));
  const Matching heavy{.nodes = 4, .edges = {{0, 1, 3}, {1, 2, 7}, {2, 3, 3}}};
  EXPECT_THAT(answer({heavy}).values, ElementsAre(0, 1'000'000, 0));
  const Matching heaviest{.nodes = 3, .edges = {{0, 1, Edge::kMost}, {1, 2, Edge::kMost - 1}}};
  EXPECT_THAT(answer({heaviest}).values, ElementsAre(1'000'000, 0));
}

TEST(Matching, WhatIsNoGraphHasNoValues) {
  EXPECT_THAT(answer({Matching{.nodes = 2, .edges = {}}}).values, IsEmpty());
  EXPECT_THAT(answer({Matching{2, {{0, 0, 1}}}}).values, IsEmpty()) << "a node with itself";
  EXPECT_THAT(answer({Matching{2, {{0, 2, 1}}}}).values, IsEmpty()) << "no such node";
  EXPECT_THAT(answer({Matching{2, {{0, 1, 1}, {1, 0, 2}}}}).values, IsEmpty()) << "twice";
  EXPECT_THAT(answer({Matching{2, {{0, 1, -1}}}}).values, IsEmpty()) << "below zero";
  EXPECT_THAT(answer({Matching{2, {{0, 1, Edge::kMost + 1}}}}).values, IsEmpty()) << "too heavy";
}

}  // namespace
}  // namespace berth::solve
