#include "cli/tell/job_pages.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <future>
#include <iterator>
#include <utility>

#include "cli/tell/job_text.hpp"

namespace berth::cli {

Starts Starts::ask(Daemon& daemon) { return ask_as(geteuid(), daemon); }

std::future<Starts> Starts::ask_meanwhile(const CommonOptions& options) {
  return std::async(std::launch::async, [options] {
    auto daemon = Daemon::open(options);
    return daemon ? ask(*daemon) : Starts();
  });
}

Starts Starts::ask_as(std::uint32_t user, Daemon& daemon) {
  Starts found;
  found.user_ = user;
  const auto answer = daemon.get("/v1/starts");
  if (!answer) return found;
  for (const auto& [key, to] :
       {std::pair("starts", &found.starts_), std::pair("hints", &found.hints_)}) {
    const Json& list = part_of(*answer, key);
    if (!list.is_array()) continue;
    for (const Json& one : list) {
      if (const auto job = integer_of(one, "job")) to->emplace(*job, one);
    }
  }
  for (const Json& end : part_of(*answer, "ends")) {
    if (const auto array = integer_of(end, "array"))
      found.ends_.emplace(*array, part_of(end, "at"));
  }
  return found;
}

void Starts::add_to(Json& job) const {
  if (is_array_row(job)) return add_to_array(job);
  const auto id = integer_of(job, "id");
  const std::string state = text_of(job, "state");
  if (!id || (state != "queued" && state != "suspended")) return;
  if (const auto found = starts_.find(*id); found != starts_.end()) {
    job["predicted_start_at"] = part_of(found->second, "at");
    job["predicted_start_confidence"] = text_of(found->second, "confidence");
    if (const Json& by = part_of(found->second, "by_at"); by.is_number())
      job["predicted_by_at"] = by;
  }
  add_hint(job, *id);
}

/// Only its user can follow it; of operators berthd alone knows who they are.
void Starts::add_hint(Json& job, std::int64_t of) const {
  const auto owner = integer_of(job, "user");
  const bool may_change = !owner || user_ == 0 || *owner == user_;
  const auto found = may_change ? hints_.find(of) : hints_.end();
  if (found != hints_.end()) job["hint"] = part_of(found->second, "change");
}

void Starts::add_to_array(Json& array) const {
  const std::int64_t first = integer_of(array, "id").value_or(0);
  const std::int64_t jobs = integer_of(array, "array_tasks").value_or(0);
  const Json* next = nullptr;
  for (auto at = starts_.lower_bound(first); at != starts_.end() && at->first < first + jobs;
       ++at) {
    const auto when = number_of(at->second, "at");
    if (when && (next == nullptr || *when < number_of(*next, "at"))) next = &at->second;
  }
  if (next != nullptr) {
    array["predicted_start_at"] = part_of(*next, "at");
    array["predicted_start_confidence"] = text_of(*next, "confidence");
    if (const Json& by = part_of(*next, "by_at"); by.is_number()) array["predicted_by_at"] = by;
    add_hint(array, integer_of(*next, "job").value_or(0));
  }
  const auto end = ends_.find(first);
  if (end != ends_.end()) array["predicted_end_at"] = end->second;
}

std::string JobPages::query(const std::string& more) const {
  const auto user = filter_.only_user();
  return "/v1/jobs?" + (user ? "user=" + std::to_string(*user) + "&" : std::string()) +
         (what_.arrays == Arrays::Whole ? "whole_arrays=true&" : "") +
         (what_.form == Form::Brief ? "brief=true&" : "") + more;
}

/// Returns: where the next page begins. One that does not lead further is the last, whatever the
/// daemon says.
Expected<std::optional<std::int64_t>> JobPages::page(const std::string& target, std::int64_t beyond,
                                                     const Page& use) {
  auto page = daemon_.get(target + std::to_string(beyond));
  if (!page) return std::unexpected(page.error());
  return take(std::move(*page), target, beyond, use);
}

Expected<std::optional<std::int64_t>> JobPages::take(Json page, const std::string& target,
                                                     std::int64_t beyond, const Page& use) {
  if (!part_of(page, "jobs").is_array()) {
    return fail(ErrorCode::BadData, "berthd answers without a list of jobs");
  }
  const auto live = integer_of(page, "live_jobs");
  const auto running = integer_of(page, "running_jobs");
  if (live && running) live_count_ = LiveCount{.jobs = *live, .running = *running};
  goes_on_ = use(std::move(page["jobs"].get_ref<Json::array_t&>()));
  const bool rises = target.ends_with("after=");
  const auto next = integer_of(page, rises ? "next_after" : "next_before");
  if (!next || !goes_on_) return std::nullopt;
  return (rises ? *next > beyond : *next < beyond) ? next : std::nullopt;
}

namespace {

/// Where the page after this one begins, by the end of its text, which a parser reaches last;
/// nothing: it is not there.
std::optional<std::int64_t> cursor_of(std::string_view page, std::string_view key) {
  constexpr std::size_t kEnd = 200;
  const std::string_view end = page.substr(page.size() - std::min(page.size(), kEnd));
  const std::size_t at = end.rfind(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::int64_t value = 0;
  const char* const begin = end.data() + at + key.size();
  const auto read = std::from_chars(begin, end.data() + end.size(), value);
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace

/// While one page is used the daemon makes the next, from the second on: many need but one.
Expected<void> JobPages::pages(const std::string& target, std::int64_t after, const Page& use) {
  const bool rises = target.ends_with("after=");
  const auto ask = [this, &target](std::int64_t beyond) {
    return daemon_.fetch(target + std::to_string(beyond));
  };
  auto answer = ask(after);
  for (std::int64_t beyond = after;;) {
    if (!answer) return std::unexpected(answer.error());
    const auto guess = cursor_of(answer->body, rises ? R"("next_after":)" : R"("next_before":)");
    std::future<Expected<http::Response>> following;
    if (guess && beyond != after) following = std::async(std::launch::async, ask, *guess);
    auto page = answer_of(*answer);
    if (!page) return std::unexpected(page.error());
    const auto next = take(std::move(*page), target, beyond, use);
    if (!next) return std::unexpected(next.error());
    if (!*next) return {};
    answer = following.valid() && *next == guess ? following.get() : ask(**next);
    beyond = **next;
  }
}

Expected<void> JobPages::live() {
  std::vector<Json> first;
  const auto keep = [&](std::vector<Json> jobs) {
    std::ranges::move(jobs, std::back_inserter(first));
    return true;
  };
  const auto next = page(query("limit=100&after="), 0, keep);
  if (!next) return std::unexpected(next.error());
  if (*next) {
    const auto done = pages(query("only=running&limit=1000&after="), 0, keep);
    if (!done) return done;
  }
  sort_for_reading(first);
  goes_on_ = add(std::move(first));
  if (!*next || !goes_on_) return {};
  return pages(query("limit=1000&after="), **next,
               [this](std::vector<Json> jobs) { return add(std::move(jobs)); });
}

Expected<void> JobPages::ended() {
  return pages(query("only=ended&limit=1000&after="), 0,
               [this](std::vector<Json> jobs) { return add(std::move(jobs)); });
}

Expected<void> JobPages::latest_ended(std::size_t most) {
  constexpr std::int64_t kBeyondAll = std::int64_t{1} << 40;
  std::vector<Json> latest;
  const auto keep = [&](std::vector<Json> jobs) {
    for (Json& job : jobs) {
      if (latest.size() < most && filter_.takes(job)) latest.push_back(std::move(job));
    }
    return latest.size() < most;
  };
  const auto done = pages(query("only=ended&limit=1000&before="), kBeyondAll, keep);
  if (!done) return done;
  std::ranges::reverse(latest);
  add(std::move(latest));
  return {};
}

bool JobPages::add(std::vector<Json> jobs) {
  std::erase_if(jobs, [this](const Json& job) {
    const auto id = integer_of(job, "id");
    return (id && !used_.insert(*id).second) || !filter_.takes(job);
  });
  return use_(std::move(jobs));
}

}  // namespace berth::cli
