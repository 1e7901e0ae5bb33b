// The figures that the authors published beside their artifact: one curve per mix, placement, seed.
#pragma once

#include <compare>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "fgd/study.hpp"

namespace berth::fgd {

struct RunName {
  std::string mix;  ///< "default", "cpu100" and so on.
  std::string way;  ///< As published: "06-FGD".
  std::int64_t seed = 0;
  auto operator<=>(const RunName&) const = default;
};

using Curves = std::map<RunName, Curve>;

/// Reads analysis_allo_discrete and analysis_frag_discrete from the folder `fgd-expected`.
/// Errors: NotFound for a file that is not there; BadData naming file and line.
Expected<Curves> load_published(const std::filesystem::path& folder);

}  // namespace berth::fgd
