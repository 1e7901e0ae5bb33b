// The text form of a policy:
//
//   ORDER[:KEY=VALUE...] [+BACKFILL[:KEY=VALUE...]] [+GATE[:KEY=VALUE...]...]
//       [@PLACEMENT[:KEY=VALUE...]], all without blanks
//
//   las:quantum=1m
//   tiresias/dlas-gpu:promote=8:thresholds=3250:7200
//   wfp3+easy@consolidated
//   sjf+easy+idle:share_after=10m
//
// A `:` begins the next key; a part without a `=` belongs to the value before it, so lists and
// times such as 1:30:00 need no quotes. The text is the same on the command line, in berth.toml and
// in the journal. registry.hpp looks up names and keys.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace berth {

/// A name with its keys, in the order they were written.
struct NamedKeys {
  std::string name;
  std::vector<std::pair<std::string, std::string>> keys;

  bool operator==(const NamedKeys&) const = default;
};

struct Spec {
  NamedKeys order;
  std::vector<NamedKeys> parts;  ///< Each behind a `+`, in the order they were written.
  std::optional<NamedKeys> place;

  bool operator==(const Spec&) const = default;
};

/// `names`: registered names, because some contain a `+`. Errors: InvalidArgument, with the wrong
/// part and the expected form.
Expected<Spec> parse_spec(std::string_view text, std::span<const std::string_view> names);
/// `PLACEMENT[:KEY=VALUE...]`. Errors: likewise.
Expected<NamedKeys> parse_named_keys(std::string_view text);

/// What parse_spec() reads as the same.
std::string to_text(const NamedKeys& named);
std::string to_text(const Spec& spec);

}  // namespace berth
