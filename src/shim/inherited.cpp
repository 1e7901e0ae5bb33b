#include "shim/inherited.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "core/knowledge/fingerprint.hpp"

namespace berth::shim {

namespace {

std::string_view name_in(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

/// The marks, and the names that they begin with.
std::set<std::string_view> marks_and_names(std::string_view text) {
  std::set<std::string_view> all;
  while (!text.empty()) {
    const std::string_view mark = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), mark.size() + 1));
    all.insert(mark);
    all.insert(mark.substr(0, mark.find(':')));
  }
  return all;
}

bool tells_of_slurm(std::string_view name) {
  return name.starts_with("SLURM_") || name == "BERTH_SLURM_SIGNAL";
}

}  // namespace

std::string mark_of(std::string_view variable) {
  FingerprintSum sum(0);
  sum.add(variable);
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx",
                static_cast<unsigned long long>(sum.value().value()));
  return std::string(name_in(variable)) + ":" + digits.data();
}

void drop_inherited(std::vector<std::string>& environment) {
  const auto says = std::ranges::find(environment, kBerthSet, name_in);
  if (says == environment.end()) return;
  const std::string text = says->substr(std::min(says->size(), kBerthSet.size() + 1));
  const std::set<std::string_view> known = marks_and_names(text);
  const bool was_told = known.contains("SLURM_JOB_ID");
  const bool is_told = std::ranges::find(environment, "BERTH_SLURM=1") != environment.end();
  std::erase_if(environment, [&](const std::string& variable) {
    const std::string_view name = name_in(variable);
    if (name == kBerthSet) return true;
    if (tells_of_slurm(name) && (is_told || was_told)) return !is_told;
    return known.contains(name) && known.contains(mark_of(variable));
  });
}

}  // namespace berth::shim
