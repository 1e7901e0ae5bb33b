// What is known at submission of the pattern of --output, as sbatch fills it in.
#pragma once

#include <string>
#include <string_view>

namespace berth::cli {

struct PatternFacts {
  std::string name;  ///< Of the job; of its program where it has none.
  std::string user;
  std::string host;
};

/// `logs/%x-%j.out` with the job's name, the user and the machine in it: %x, %u, %N. berthd knows
/// the rest when the job starts: %j, %A, %a, %%. Of one machine and one script %n and %t are 0 and
/// %s is `batch`; %J is %j. A width pads a number (`%4j`); what stands for nothing stays.
std::string filled_pattern(std::string_view pattern, const PatternFacts& facts);

/// Of this process and this machine.
PatternFacts facts_here(std::string name);

}  // namespace berth::cli
