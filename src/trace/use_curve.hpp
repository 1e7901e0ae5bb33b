// The GPU memory that a job truly uses, over its own run time: points with straight lines between.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.hpp"
#include "core/base/units.hpp"

namespace berth::trace {

struct UsePoint {
  Duration at{0};  ///< Of the job's work: its run time at full speed.
  Bytes bytes{0};  ///< On each of its GPUs, without contexts; whole MiB.

  bool operator==(const UsePoint&) const = default;
};

/// Before its first point a job uses what it does there, after the last one likewise. The size of
/// a pointer, because most jobs of a million have none. A value type.
class UseCurve {
 public:
  static constexpr std::size_t kMostPoints = 1000;

  UseCurve() = default;
  /// Requires: points ascend, none at the time of another.
  explicit UseCurve(std::vector<UsePoint> points);
  UseCurve(const UseCurve& other);
  UseCurve(UseCurve&&) = default;
  UseCurve& operator=(const UseCurve& other) { return *this = UseCurve(other); }
  UseCurve& operator=(UseCurve&&) = default;
  ~UseCurve() = default;

  bool empty() const { return points_ == nullptr; }
  std::span<const UsePoint> points() const;
  /// Requires: not empty. O(log points).
  Bytes at(Duration done) const;
  /// When a replay looks at it next after `done`; kForever if it stays. A line between two points
  /// is followed in equal steps, of 64 MiB at least and at most 32 of them. O(log points).
  Duration next_step(Duration done) const;
  /// The most it ever is; 0 where it is empty.
  Bytes peak() const;

  bool operator==(const UseCurve& other) const;

 private:
  std::unique_ptr<const std::vector<UsePoint>> points_;
};

/// `SECONDS:MIB`, with blanks or `|` between points: `0:300|20.5:9000`; "" is an empty one. Nothing
/// for any other text, and for points that do not ascend in time or are too many.
std::optional<UseCurve> parse_use_curve(std::string_view text);
/// As parse_use_curve() reads it, with `|` between points.
std::string to_text(const UseCurve& curve);

}  // namespace berth::trace
