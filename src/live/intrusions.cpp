#include "live/intrusions.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace berth::live {

namespace {

constexpr std::size_t kMostUsersNamed = 3;
constexpr std::string_view kJoin = "; ";

/// A note without this part, and without what joins it to the others.
std::string without_part(std::string note, std::string_view part) {
  const std::size_t at = part.empty() ? std::string::npos : note.find(part);
  if (at == std::string::npos) return note;
  note.erase(at, part.size());
  const std::size_t join = at == 0 ? 0 : at - std::min(at, kJoin.size());
  if (note.compare(join, kJoin.size(), kJoin) == 0) note.erase(join, kJoin.size());
  return note;
}

}  // namespace

std::string Intrusions::noted(JobId job, std::string note, Intruder by) {
  Told& told = of_[job];
  Culprit culprit;
  const auto known =
      std::ranges::find(told.users, by.user, [](const Culprit& one) { return one.latest.user; });
  if (known != told.users.end()) {
    culprit = std::move(*known);
    told.users.erase(known);
  }
  if (culprit.latest.job != by.job) ++culprit.jobs;
  culprit.latest = std::move(by);
  told.users.push_back(std::move(culprit));
  note = without_part(std::move(note), told.text);
  told.text = text_of(told.users);
  return note + std::string(note.empty() ? "" : kJoin) + told.text;
}

std::string Intrusions::text_of(const std::vector<Culprit>& users) {
  const std::size_t named = std::min(users.size(), kMostUsersNamed);
  std::string text;
  for (std::size_t i = 1; i <= named; ++i) {
    const Culprit& one = users[users.size() - i];
    text += text.empty() ? "" : kJoin;
    text += one.jobs == 1
                ? one.latest.text + ", and was ended"
                : std::to_string(one.jobs) + " jobs of " + one.latest.user +
                      " used GPUs that they were not given, and were ended, the latest of them: " +
                      one.latest.text;
  }
  const std::size_t others = users.size() - named;
  if (others == 0) return text;
  return text + std::string(kJoin) + "likewise jobs of " + std::to_string(others) +
         (others == 1 ? " other user" : " other users");
}

}  // namespace berth::live
