// Groups that Muri is making: what is kept from a question for a matching to its answer.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "core/base/question.hpp"
#include "core/members.hpp"
#include "core/view.hpp"
#include "policy/whole/muri_rule.hpp"

namespace berth {

struct MuriPlan {
  std::vector<JobId> ids;
  std::vector<MuriJob> jobs;  ///< By position in `ids`.
  MuriGroups groups;
  std::optional<Matching> asked;  ///< What waits for an answer.
  std::uint64_t number = 0;       ///< Of that question.
  Instant until = kStart;         ///< Then the answer is done without.
};
inline auto members(MuriPlan& v) {
  return std::tie(v.ids, v.jobs, v.groups, v.asked, v.number, v.until);
}

/// Whether the policy can have saved it.
bool is_sane(const MuriPlan& plan);

/// The plan asks this from now on.
Question ask(MuriPlan& plan, Matching matching, Instant now);

/// Joins groups by the answer, if it is here; without one in time no more matchings are made. Jobs
/// that are gone leave their groups. Returns: false as long as it has to be waited for.
bool take_answer(MuriPlan& plan, const ClusterView& view);

}  // namespace berth
