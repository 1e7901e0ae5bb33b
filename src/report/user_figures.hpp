// How evenly users are served: means by user, and what each got of an equal split. doc/metrics.md.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <vector>

#include "core/cluster.hpp"
#include "sim/simulator.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// How values differ.
struct Variation {
  double variance = 0;     ///< Of all there are, not of a sample.
  double coefficient = 0;  ///< Standard deviation over mean.
};

/// Of users that the trace names; two at least.
struct UserFigures {
  std::size_t users = 0;  ///< With a job that ended; those of the next three.
  Variation jct;          ///< Of the users' mean JCT; seconds squared.
  Variation slowdown;     ///< Of the users' mean slowdown, which is JCT over time alone.
  double fairness = 1;    ///< Jain's index of the same.
  /// Of the service that each got over its equal split: Jain's index, and the least. Nothing if
  /// fewer than two users ran jobs with GPUs.
  std::optional<double> service;
  std::optional<double> least_service;
};

/// Requires: values, none below 0.
Variation variation_of(std::span<const double> values);
/// (sum of x)^2 / (n x sum of x^2): 1 if all are equal, 1 / n if one has all (Jain, Chiu and Hawe,
/// DEC TR-301, 1984). Requires: values, none below 0.
double jain(std::span<const double> values);

/// Nothing if fewer than two named users have a job that ended. O(jobs log jobs).
std::optional<UserFigures> user_figures(const trace::Trace& trace, const Cluster& cluster,
                                        const Result& result);

nlohmann::ordered_json to_json(const UserFigures& figures);

}  // namespace berth::sim
