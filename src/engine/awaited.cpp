#include "engine/awaited.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/text/words.hpp"

namespace berth {

namespace {

/// No single job is to blame where every job of an array ended well.
bool is_of_all(const Never& never) {
  return is_of_one_in_array(never.on) && never.outcome == Outcome::Done;
}

std::string all_tasks_text(const Never& never) {
  return "all tasks of array " + std::to_string(never.on.array.value());
}

void loosen_where_one_did_not_end_well(std::vector<Dependency>& after, const FateOf& fate_of) {
  std::set<JobId> arrays;
  for (const Dependency& on : after) {
    if (!is_of_one_in_array(on)) continue;
    const Fate fate = fate_of(on);
    if (fate.outcome && *fate.outcome != Outcome::Done) arrays.insert(on.array);
  }
  if (arrays.empty()) return;
  for (Dependency& on : after) {
    if (is_of_one_in_array(on) && arrays.contains(on.array)) on.when = After::Any;
  }
}

}  // namespace

std::string Never::past(const std::string& handle) const {
  if (is_of_all(*this)) return all_tasks_text(*this) + " ended well";
  if (!outcome) return "job " + handle + " is not known";
  return "job " + handle + " ended as " + std::string(user_word(*outcome));
}

std::string Never::condition(const std::string& handle) const {
  if (is_of_all(*this)) return all_tasks_text(*this) + " end well";
  if (!outcome) return past(handle);
  return "job " + handle + " ends as " + std::string(user_word(*outcome));
}

std::optional<Never> settle_ends(std::vector<Dependency>& after, const FateOf& fate_of,
                                 std::vector<JobId>& met) {
  loosen_where_one_did_not_end_well(after, fate_of);
  std::optional<Never> never;
  std::map<JobId, Dependency> ended_well;  // by array, one of those of it
  std::erase_if(after, [&](const Dependency& on) {
    const Fate fate = fate_of(on);
    if (fate.is_open) return false;
    const bool is_of_one = is_of_one_in_array(on);
    if (fate.outcome && (is_of_one || allows(on.when, *fate.outcome))) {
      met.push_back(on.job);
      if (is_of_one) ended_well.emplace(on.array, on);
      return true;
    }
    if (!never) never = Never{on, fate.outcome};
    return false;
  });
  if (never || ended_well.empty()) return never;
  for (const Dependency& on : after) {
    if (is_of_one_in_array(on)) ended_well.erase(on.array);
  }
  if (!ended_well.empty()) never = Never{ended_well.begin()->second, Outcome::Done};
  return never;
}

}  // namespace berth
