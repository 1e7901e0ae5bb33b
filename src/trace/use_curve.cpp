#include "trace/use_curve.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "core/base/wide.hpp"
#include "core/text/text.hpp"
#include "trace/rows.hpp"

namespace berth::trace {

namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::int64_t kMostMebibytes = std::int64_t{1} << 30;
constexpr Bytes kLeastStep{64 * kMebibyte};
constexpr std::int64_t kMostRiseSteps = 32;

std::optional<UsePoint> point_of(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto at = parse_seconds(text.substr(0, colon));
  const std::string_view digits = text.substr(std::min(colon + 1, text.size()));
  std::int64_t mebibytes = -1;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, mebibytes);
  const bool is_number = !digits.empty() && error == std::errc() && stop == end;
  if (!at || !is_number || mebibytes < 0 || mebibytes > kMostMebibytes) return std::nullopt;
  return UsePoint{*at, Bytes(mebibytes * kMebibyte)};
}

/// On the line between two points.
Bytes between(const UsePoint& from, const UsePoint& to, Duration at) {
  const Wide rise = to.bytes.raw() - from.bytes.raw();
  const Wide part = rise * micros(at - from.at) / micros(to.at - from.at);
  return from.bytes + Bytes(static_cast<std::int64_t>(part));
}

std::int64_t steps_between(const UsePoint& from, const UsePoint& to) {
  const Bytes rise = std::max(from.bytes, to.bytes) - std::min(from.bytes, to.bytes);
  return std::clamp<std::int64_t>(rise / kLeastStep, 1, kMostRiseSteps);
}

/// Requires: `done` is between the points, before the second.
Duration next_step_between(const UsePoint& from, const UsePoint& to, Duration done) {
  const std::int64_t steps = steps_between(from, to);
  const std::int64_t length = micros(to.at - from.at);
  const Wide step = Wide{micros(done - from.at)} * steps / length + 1;
  return from.at + Duration(static_cast<std::int64_t>((step * length + steps - 1) / steps));
}

}  // namespace

UseCurve::UseCurve(std::vector<UsePoint> points)
    : points_(points.empty() ? nullptr
                             : std::make_unique<const std::vector<UsePoint>>(std::move(points))) {}

UseCurve::UseCurve(const UseCurve& other)
    : points_(other.points_ ? std::make_unique<const std::vector<UsePoint>>(*other.points_)
                            : nullptr) {}

std::span<const UsePoint> UseCurve::points() const {
  return points_ ? std::span(*points_) : std::span<const UsePoint>();
}

Bytes UseCurve::at(Duration done) const {
  const auto next = std::ranges::upper_bound(*points_, done, {}, &UsePoint::at);
  if (next == points_->begin()) return next->bytes;
  if (next == points_->end()) return points_->back().bytes;
  return between(*std::prev(next), *next, done);
}

Duration UseCurve::next_step(Duration done) const {
  const auto next = std::ranges::upper_bound(*points_, done, {}, &UsePoint::at);
  if (next == points_->end()) return kForever;
  return next == points_->begin() ? next->at : next_step_between(*std::prev(next), *next, done);
}

Bytes UseCurve::peak() const {
  Bytes most{0};
  for (const UsePoint& point : points()) most = std::max(most, point.bytes);
  return most;
}

bool UseCurve::operator==(const UseCurve& other) const {
  return std::ranges::equal(points(), other.points());
}

std::optional<UseCurve> parse_use_curve(std::string_view text) {
  std::string blanks(text);
  std::ranges::replace(blanks, '|', ' ');
  std::vector<UsePoint> points;
  for (const std::string& word : names_between(blanks, ' ')) {
    const auto point = point_of(word);
    const bool ascends = points.empty() || (point && point->at > points.back().at);
    if (!point || !ascends || points.size() == UseCurve::kMostPoints) return std::nullopt;
    points.push_back(*point);
  }
  return UseCurve(std::move(points));
}

std::string to_text(const UseCurve& curve) {
  std::string text;
  for (const UsePoint& point : curve.points()) {
    text += (text.empty() ? "" : "|") + seconds_text(point.at) + ":" +
            std::to_string(point.bytes.raw() / kMebibyte);
  }
  return text;
}

}  // namespace berth::trace
