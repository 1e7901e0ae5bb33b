// Lines of `scontrol -o -d show`: their words, names of nodes, and the generic resources in them.
//
// Pure functions of texts of Slurm 22.05 to 24.11. Amounts of GPU memory are shards of 1 GiB.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/split.hpp"

namespace berth {

/// The number at the beginning; nothing where there is none.
std::optional<std::int64_t> slurm_number(std::string_view text);

/// `n[1,3-4],m7` as names.
std::vector<std::string> slurm_names(std::string_view list);

/// Slurm's jobs by their numbers, as squeue tells them in words that no user can write: each with
/// the name by which `scontrol show job` tells of it alone, as `7` or `8_3`; "" where that is all
/// tasks of an array that wait.
using SlurmIds = std::map<std::int64_t, std::string>;
inline constexpr std::string_view kSlurmIdsCommand =
    "squeue --noheader --all --states=all --format='%A %F %K'";
SlurmIds slurm_ids(std::string_view rows);

/// A job of `scontrol -o -d show job`.
struct SlurmRecord {
  std::int64_t id = 0;
  std::string name;  ///< That its user chose: it may have spaces, and break the line.
  std::string text;  ///< The record without it.
};
/// A user's texts of a job, as its name or its comment, can look like Slurm's: like the rest of its
/// record, and behind a line break like the record of another job. A record is told if it is
/// certain: a line of its own that is the only one with its number, with one ` UserId=` in it.
struct SlurmShown {
  std::vector<SlurmRecord> records;
  std::vector<std::int64_t> uncertain;  ///< Those of `ids` that were told otherwise; ascending.
};
SlurmShown slurm_records(std::string_view shown, const SlurmIds& ids);

/// What is certain of an uncertain job: squeue tells its name in a column, and scontrol of it
/// alone. `names` answers slurm_names_command(); `shown` `scontrol -o -d show job`, of its array
/// where it has no name of its own. Nothing where the answers do not agree.
std::string slurm_names_command(const std::vector<std::int64_t>& jobs);
std::optional<SlurmRecord> slurm_record(std::string_view shown, std::string_view names,
                                        const SlurmIds::value_type& job);

/// The words of one line, by their keys. What is in parentheses, and `None` and `Unknown` alone,
/// are none.
using SlurmWords = std::map<std::string, std::string, std::less<>>;
SlurmWords slurm_words(std::string_view line);

/// "" for a word that the line does not have.
std::string slurm_word(const SlurmWords& words, std::string_view key);

/// `7`, of a component `8+1`, and of a task of an array, or of those that wait, `8_3` or `8_[2-9]`.
/// Not the JobId: that of an array's last task means all its tasks to scancel.
std::string slurm_handle(const SlurmWords& words);

/// Whether a handle such as `8_[2-9:2%3]` has the task `8_4`. Slurm cuts long lists off by `...`:
/// those have all later tasks.
bool slurm_handle_has(std::string_view handle, std::string_view task);

/// A part of a request or of a node's resources, as `gres/shard:a100:20(S:0)` or `gres/gpu=1`.
struct GresPart {
  std::string_view name;
  std::int64_t count = 1;
  std::string_view inside;  ///< Of its parentheses.
};
GresPart gres_part(std::string_view text);

template <typename Take>
void each_gres(std::string_view list, const Take& take) {
  while (!list.empty()) take(gres_part(next_part_outside_parentheses(list)));
}

/// What a job holds of one GPU.
struct SlurmHolding {
  std::string node;
  std::uint32_t gpu = 0;
  std::int64_t gib = 0;  ///< 0: all of it.
};

/// By index, what a part like `shard:20(IDX:0)` of 22.05, `shard:60(30/80,0/80,0/80,30/80)` of
/// 24.11, or `gpu:2(IDX:0-1)` has of each GPU: GiB, or 0 for all of it. None where it has no index.
std::map<std::uint32_t, std::int64_t> gpus_of_gres(const GresPart& part);

/// A part `Nodes=n1 CPU_IDs=0 Mem=100 GRES=shard:20(IDX:0)` of the line of a job that runs. A name
/// that a user chose may look like one.
struct SlurmNodesPart {
  std::vector<std::string> nodes;
  std::string_view gres;  ///< Of each; "" for none.
};
std::vector<SlurmNodesPart> slurm_nodes_parts(std::string_view line);

/// Of all those parts.
std::vector<SlurmHolding> slurm_holdings(std::string_view line);

}  // namespace berth
