// Keys: the parameters of a policy or a placement, each with a name, a type, a default, a range and
// a sentence. A policy lists its keys in its own file; their values reach its factory as Keys.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"

namespace berth {

enum class KeyType : std::uint8_t {
  Time,     ///< `5m`; in microseconds. `0` is a value where the range begins at 0.
  Count,    ///< `4`.
  Percent,  ///< `75`.
  Factor,   ///< `0.5`; in thousandths.
  Size,     ///< `2GiB`; in bytes.
  Service,  ///< `3250:7200`: GPU-seconds, rising, 1 to 64 of them.
  /// `1000/16/8:1001/4`: users by number, with the GPUs of each of their cells. A list of users and
  /// GPUs in turn, 1000 16 1000 8 1001 4; `none` is an empty list.
  Cells,
};

struct Key {
  std::string_view name;
  KeyType type;
  std::string_view usual;  ///< The default, as a user would write it.
  std::int64_t least;      ///< In the unit of its type; of a list, for each of its numbers.
  std::int64_t most;
  std::string_view what;  ///< One sentence.
};

inline constexpr std::int64_t kYear = micros(hours(24 * 365));

/// The key of orders whose ranks move all the time.
inline constexpr Key kQuantumKey{
    .name = "quantum",
    .type = KeyType::Time,
    .usual = "5m",
    .least = micros(seconds(1)),
    .most = kYear,
    .what = "A job keeps its GPUs, and its place in the queue, for this long."};

/// Of jobs that are overdue: those of backfill `easy`.
inline constexpr Key kOverdueFactorKey{
    .name = "overdue_factor",
    .type = KeyType::Factor,
    .usual = "0",
    .least = 0,
    .most = 1'000'000,
    .what =
        "A job that has waited this many times its run time is overdue: it goes before all jobs "
        "that are not, the earliest due first. 0: no job is."};
inline constexpr Key kOverdueMostKey{
    .name = "overdue_most",
    .type = KeyType::Time,
    .usual = "2d",
    .least = micros(seconds(1)),
    .most = kYear,
    .what = "Where jobs can be overdue, each is after this long at the latest."};

// Stated by the gate idle, and by the policies that have it.
inline constexpr Key kSharePatienceKey{
    .name = "share_patience",
    .type = KeyType::Factor,
    .usual = "0.25",
    .least = 0,
    .most = 1'000'000,
    .what =
        "A job waits this many times its run time, but no longer than `share_after`, before it may "
        "share a GPU that is as busy as `share_below_percent`."};
inline constexpr Key kShareAfterKey{.name = "share_after",
                                    .type = KeyType::Time,
                                    .usual = "24h",
                                    .least = 0,
                                    .most = kYear,
                                    .what = "A job that has waited this long may share any GPU."};
inline constexpr Key kShareUnknownAfterKey{
    .name = "share_unknown_after",
    .type = KeyType::Time,
    .usual = "5m",
    .least = 0,
    .most = kYear,
    .what =
        "So may a job that has waited this long, is of class medium and has neither an estimate "
        "nor a time limit."};
inline constexpr Key kShareBelowKey{
    .name = "share_below_percent",
    .type = KeyType::Percent,
    .usual = "75",
    .least = 0,
    .most = 100,
    .what =
        "A GPU with tenants that is at least this busy gets another tenant only after the job has "
        "waited `share_after`."};
inline constexpr Key kNodeDelayKey{
    .name = "node_delay",
    .type = KeyType::Time,
    .usual = "5m",
    .least = 0,
    .most = kYear,
    .what = "A job that fits one node waits this long before it may span nodes of one switch."};
inline constexpr Key kSwitchDelayKey{
    .name = "switch_delay",
    .type = KeyType::Time,
    .usual = "5m",
    .least = 0,
    .most = kYear,
    .what = "A job waits `node_delay` and this long before it may span switches."};

/// `1s to 365d`, `0 to 100`.
std::string range_text(const Key& key);
/// `duration`, `count`, `percent`, `factor`, `size`, `GPU-seconds`.
std::string_view type_text(KeyType type);

/// The values of the keys of one owner.
class Keys {
 public:
  Keys() = default;
  /// Every key at its default. `known` must outlive this.
  explicit Keys(std::span<const Key> known);

  /// Errors: InvalidArgument, with the valid keys for a name that is not known, else with the
  /// value, the type and the range. Nothing changes then.
  Expected<void> set(std::string_view name, std::string_view value);

  bool has(std::string_view name) const;
  /// Requires of each: has(name), of the type. A value is in its range.
  Duration time(std::string_view name) const { return Duration(number(name)); }
  Bytes size(std::string_view name) const { return Bytes(number(name)); }
  std::int64_t number(std::string_view name) const { return list(name).front(); }
  std::span<const std::int64_t> list(std::string_view name) const;

 private:
  std::span<const Key> known_;
  std::vector<std::vector<std::int64_t>> values_;  ///< By position in `known_`.
};

}  // namespace berth
