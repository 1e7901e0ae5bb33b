// How evenly users are served: means by user, and what each got of an equal split. doc/metrics.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <vector>

#include "core/cluster.hpp"
#include "report/demand.hpp"
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

/// Adds up what the figures are made of, job by job.
class UserSums {
 public:
  explicit UserSums(const Cluster& cluster) : cluster_(cluster), demands_(cluster) {}

  /// Requires: all jobs of a run, in the trace's order; `counts` for those of the figures of jobs.
  void add(const trace::TraceJob& asked, const JobResult& job, bool counts);

  /// Nothing if fewer than two named users have a job that ended. O(jobs log jobs).
  std::optional<UserFigures> figures() const;

 private:
  struct User {
    double jobs = 0;
    double jct = 0;
    double slowdown = 0;
    double service = 0;  ///< GPU-seconds.
  };
  /// A job, from its submission until it left.
  struct Stay {
    Instant from;
    Instant to;
    std::uint32_t user = 0;
    std::int64_t demand = 0;
  };

  std::vector<double> service_over_split() const;

  const Cluster& cluster_;
  Demands demands_;
  std::map<UserId, std::uint32_t> numbers_;
  std::vector<User> users_;  ///< By number.
  std::vector<Stay> stays_;
};

nlohmann::ordered_json to_json(const UserFigures& figures);

}  // namespace berth::sim
