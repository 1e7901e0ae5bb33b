// The output of `berth policies` as text, JSON, Markdown and a manual page, from the description of
// each policy and placement (policy/about.hpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::cli {

/// One line per name.
std::string policies_list();
/// One in full; nothing for a name that is not registered.
std::optional<std::string> policy_text(std::string_view name);
/// All of them, in the order of the registry.
std::string policies_json();
/// doc/policies.md.
std::string policies_markdown();
/// doc/man/berth-policies.7.
std::string policies_manual();

}  // namespace berth::cli
