// The configuration file of berthd as a table of its keys. It is read, read again, printed and
// documented (doc/configuration.md) by the rows of this table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "daemon/settings/options.hpp"

namespace berth::daemon {

struct ConfigValue;

/// What a change of a key waits for: nothing but a reload, or the next start of berthd.
enum class Applies : std::uint8_t { Now, NextStart };

/// The most GPUs or running jobs that may be the limit of a user.
inline constexpr std::int64_t kMostUserLimit = 1 << 20;

/// The limits of a value; without `most` and `least_amount` there are none.
struct ConfigRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::string_view least_amount = {};  ///< Of a duration or a size, as the file has it.
};

/// What a key is kept in.
struct ConfigOption {
  Expected<void> (*read)(Options& options, const ConfigValue& value);
  bool (*same)(const Options& a, const Options& b);
  void (*take)(Options& options, const Options& from);
};

struct ConfigKey {
  std::string_view name;      ///< `preemption.most` of a key in a table.
  std::string_view fallback;  ///< The default, as in the file; "" for none.
  Applies applies;
  ConfigOption option;
  std::string_view meaning;  ///< Has `code`, and names of pages of doc/ as they are.
  ConfigRange range = {};
};

/// All there are, in the order of the documentation.
std::span<const ConfigKey> config_keys();
/// What a key means, with its range.
std::string full_meaning(const ConfigKey& key);

/// Reads a TOML text into the options. Errors: BadData or InvalidArgument as
/// `FILE:LINE:COLUMN: KEY: value, limit`; unknown keys are errors.
Expected<void> read_config(Options& options, std::string_view text, const std::string& file);

/// All keys as a file: those that were read with their values and places, the others with their
/// defaults, as comments.
std::string show_config(const Options& options);

}  // namespace berth::daemon
