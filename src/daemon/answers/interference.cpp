#include "daemon/answers/interference.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "core/knowledge/company.hpp"
#include "daemon/answers/hiding.hpp"

namespace berth::daemon {

namespace {

double share_of(std::int64_t ppm) { return static_cast<double>(ppm) / 1e6; }

void add_rate(Json& json, const PairRate& rate, std::int32_t enough) {
  json["speed"] = share_of(rate.ppm);
  json["spread"] = rate.times > 1 ? Json(share_of(rate.spread)) : Json();
  json["runs"] = rate.times;
  json["counts"] = rate.times >= enough;
}

}  // namespace

InterferenceRows::InterferenceRows(const live::Keeper& keeper, const Viewer& viewer,
                                   std::function<std::string(UserId)> user_name)
    : keeper_(keeper), viewer_(viewer), user_name_(std::move(user_name)) {
  const auto& lessons = keeper_.engine().view().company().lessons();
  for (const auto& [what, lesson] : lessons) {
    alone_ += lesson.times > 0 ? 1 : 0;
    if (!lesson.beside.empty()) programs_.push_back(what);
  }
  std::ranges::sort(programs_, {}, [&](Fingerprint what) { return lessons.at(what).latest; });
}

Expected<bool> InterferenceRows::advance(const std::function<bool()>& has_time) {
  do {
    if (programs_.empty() || pairs_.size() >= kMostPairs) return false;
    const Fingerprint what = programs_.back();
    programs_.pop_back();
    if (auto done = add(what); !done) return std::unexpected(done.error());
  } while (has_time());
  return true;
}

Expected<const InterferenceRows::Named*> InterferenceRows::named(JobId run) {
  const auto [found, is_new] = names_.try_emplace(run);
  if (!is_new) return &found->second;
  found->second.name = "job " + std::to_string(run.value());
  auto row = keeper_.store().job(run);
  if (!row) return std::unexpected(row.error());
  if (!*row || (*row)->is_damaged) return &found->second;  // no longer in the history
  const JobSpec& spec = (*row)->spec;
  const std::string name = Sight(spec.user, viewer_).name((*row)->name, spec.conditions->array);
  if (!name.empty()) found->second.name = name;
  found->second.user = user_name_(spec.user);
  return &found->second;
}

/// Of a program that may be forgotten by now.
Expected<void> InterferenceRows::add(Fingerprint what) {
  const auto& lessons = keeper_.engine().view().company().lessons();
  const auto lesson = lessons.find(what);
  if (lesson == lessons.end()) return {};
  const auto own = named(lesson->second.last);
  if (!own) return std::unexpected(own.error());
  for (const auto& [with, rate] : lesson->second.beside) {
    const auto other = named(rate.last);
    if (!other) return std::unexpected(other.error());
    Json pair = {{"program", (*own)->name},         {"job", lesson->second.last.value()},
                 {"user_name", (*own)->user},       {"beside", (*other)->name},
                 {"beside_job", rate.last.value()}, {"beside_user_name", (*other)->user}};
    add_rate(pair, rate, Company::kEnough);
    pairs_.push_back(std::move(pair));
  }
  return {};
}

Json InterferenceRows::take() {
  const auto words = [](const Json& pair) {
    return std::tuple(pair["program"].get<std::string>(), pair["beside"].get<std::string>(),
                      pair["job"].get<std::uint64_t>(), pair["beside_job"].get<std::uint64_t>());
  };
  std::ranges::sort(pairs_, {}, words);
  Json by_busy = Json::array();
  for (const auto& [duty, rate] : keeper_.engine().view().company().by_duty()) {
    Json row = {{"busy_percent", duty.first * kDutyStep},
                {"beside_percent", duty.second * kDutyStep}};
    add_rate(row, rate, Company::kEnoughAsBusy);
    by_busy.push_back(std::move(row));
  }
  return {{"programs", alone_}, {"pairs", std::move(pairs_)}, {"by_busy", std::move(by_busy)}};
}

}  // namespace berth::daemon
