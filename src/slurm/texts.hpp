// The texts that berth and Slurm exchange: shards by GPU, and the tasks of arrays. Pure functions.
// berth's own note of a job is in core/text/slurm_note.hpp.
//
// One shard is 1 GiB of one GPU. Each GPU index of a node is a type of its own, with the index at
// its end: `shard:g5:20` is 20 GiB of GPU 5 (doc/slurm.md).
#pragma once

#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/job.hpp"
#include "core/text/slurm_note.hpp"

namespace berth::slurm {

/// A decimal number and nothing else; nothing for another text, and for one out of range.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return is_whole && !text.empty() ? std::optional(number) : std::nullopt;
}

/// By the index at the end of their types. Others, and untyped ones, are left out.
struct Shards {
  std::string stem;                           ///< Their types before the index: "g", "a100_".
  std::map<std::uint32_t, std::int64_t> per;  ///< By index.

  bool operator==(const Shards&) const = default;
};

/// Of what a node has, a job asks or a job holds: `gpu:g0:1(S:0),shard:g0:80(IDX:0)`. A text that
/// says something else has none.
Shards parse_shards(std::string_view gres);

/// `gres:shard:g5:20,gres:shard:g6:20`.
std::string shard_request(const Shards& shards);

/// The tasks that a record of an array stands for, as Slurm tells them: `0-3,7`, `1-9:2`, with `%8`
/// behind them. Errors: BadData for another text, and for more than a million tasks.
Expected<std::vector<std::uint32_t>> parse_tasks(std::string_view text);

/// A script that runs this command line, for Slurm to copy to a node.
std::string script_for(const std::vector<std::string>& arguments);

}  // namespace berth::slurm
