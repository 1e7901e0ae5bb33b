#include "cli/job/jobs_before.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "cli/ask/job_choice.hpp"
#include "cli/print/amounts.hpp"
#include "core/base/limits.hpp"
#include "core/text/handle.hpp"

namespace berth::cli {

namespace {

/// `prep`, `train-*`; without a letter it is a number that was mistyped.
bool is_name(std::string_view typed) {
  return std::ranges::any_of(typed, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte >= 0x80;
  });
}

class JobsBefore {
 public:
  explicit JobsBefore(std::string_view when) : when_(when) {}

  /// False for what is neither a number nor a name, and for too many.
  bool add(std::string_view typed) {
    const auto handles = parse_handles(typed);
    if (!handles) return false;
    return std::ranges::all_of(*handles, [&](const Handle& handle) {
      return std::visit([&](const auto& what) { return add(what); }, handle.what);
    });
  }
  Json take() && { return std::move(list_); }

 private:
  bool add(const NumberedJobs& jobs) {
    for (std::uint64_t job = jobs.first.value(); job <= jobs.last.value(); ++job) {
      if (!push(job, std::nullopt)) return false;
    }
    return true;
  }
  bool add(const TasksOfArray& tasks) {
    if (tasks.tasks.empty()) return push(tasks.array.value(), std::nullopt);
    for (const TaskRange& range : tasks.tasks) {
      for (std::int64_t task = range.first; task <= range.last; task += range.step) {
        if (!push(tasks.array.value(), task)) return false;
      }
    }
    return true;
  }
  bool add(const JobsNamed& name) {
    const std::size_t comma = name.pattern.find(',');
    if (comma == name.pattern.npos) {
      return is_name(name.pattern) && is_utf8(name.pattern) && push(name.pattern, std::nullopt);
    }
    return add(std::string_view(name.pattern).substr(0, comma)) &&
           add(std::string_view(name.pattern).substr(comma + 1));
  }
  bool push(Json job, std::optional<std::int64_t> task) {
    list_.push_back({{"job", std::move(job)}, {"when", when_}});
    if (task) list_.back()["task"] = *task;
    return list_.size() <= limits::kMostDependencies;
  }

  std::string_view when_;
  Json list_ = Json::array();
};

}  // namespace

Expected<Json> jobs_before(std::string_view typed, std::string_view when) {
  JobsBefore jobs(when);
  if (jobs.add(typed)) return std::move(jobs).take();
  return fail(ErrorCode::InvalidArgument,
              "is not a list of jobs such as 7, 7,9-12, 7_3 (a task of an array) or prep (a name)");
}

Expected<void> number_jobs_before(const CommonOptions& common, Json& body) {
  const auto is_named = [](const Json& one) { return one["job"].is_string(); };
  if (!body.contains("after") || std::ranges::none_of(body["after"], is_named)) return {};
  auto daemon = Daemon::open(common);
  if (!daemon) return std::unexpected(daemon.error());
  Json numbered = Json::array();
  for (Json& one : body["after"]) {
    if (!is_named(one)) {
      numbered.push_back(std::move(one));
      continue;
    }
    const auto rows = chosen_rows(*daemon, {.typed = {one["job"]}, .users = {}}, Arrays::Whole);
    if (!rows) return std::unexpected(rows.error());
    for (const Json& row : *rows) {
      const auto jobs = jobs_before(handle_of(row), one["when"].get<std::string>());
      if (!jobs) return std::unexpected(jobs.error());
      numbered.insert(numbered.end(), jobs->begin(), jobs->end());
    }
  }
  body["after"] = std::move(numbered);
  return {};
}

}  // namespace berth::cli
