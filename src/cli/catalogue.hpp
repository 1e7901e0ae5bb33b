// What each registered policy and placement is, in the words of its own file.
#pragma once

#include <span>
#include <string_view>

namespace berth::cli {

struct PolicyAbout {
  std::string_view kind;  ///< `order` (in the pipeline), `whole` (of its own) or `place`.
  std::string_view name;
  std::string_view about;  ///< What this name is among the names of its file; else the title.
  std::string_view title;  ///< Of its file, with the source.
  std::string_view rule;
  std::string_view reads;
  std::string_view differs;  ///< From the paper.
  std::string_view cost;
  std::string_view proof;  ///< Test files, with commas between.
};

/// In the order of the registry. Made by tools/policy-catalogue at build time.
std::span<const PolicyAbout> policy_catalogue();

}  // namespace berth::cli
