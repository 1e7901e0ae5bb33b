// Matchings of maximum weight in graphs of any kind.
#pragma once

#include <optional>
#include <vector>

#include "core/base/question.hpp"

namespace berth::solve {

/// For each edge whether it is a pair of the best matching; the same for the same question. Nothing
/// if an edge names a node that is not there, one node twice, or two nodes that another one names,
/// or has a weight out of its bounds. Edmonds' blossoms with duals in whole numbers (Galil,
/// "Efficient algorithms for finding maximum matching in graphs", 1986). O(nodes^3), and memory
/// for nodes^2 where nodes are those that edges name.
std::optional<std::vector<bool>> best_matching(const Matching& matching);

}  // namespace berth::solve
