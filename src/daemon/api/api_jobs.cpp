// Jobs as they are told: GET /v1/jobs and what is below it but `why`, and GET /v1/events.
#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <ranges>
#include <utility>

#include "daemon/answers/listing.hpp"
#include "daemon/answers/queries.hpp"
#include "daemon/api/api_handlers.hpp"
#include "daemon/loop/json_text.hpp"
#include "live/command.hpp"

namespace berth::daemon::handlers {

namespace {

constexpr std::size_t kMostListed = std::size_t{64} << 20;  ///< Bytes of the jobs of handles.

/// What is listed of handles.
struct Rows {
  std::vector<JobId> jobs;
  std::set<JobId> wholes;  ///< Arrays that get one row.
  std::size_t at = 0;
  std::string text = "{\"jobs\":[";
  std::map<JobId, JobId> told = {};  ///< Of `wholes`: the first of its jobs, and the last.

  bool has_told(JobId job) const {
    const auto next = told.upper_bound(job);
    return next != told.begin() && std::prev(next)->second >= job;
  }
};

/// Of a job, or of the whole array that it is of.
Expected<void> add_row(Api& api, Rows& rows, Reasons& reasons, const Viewer& who) {
  const JobId id = rows.jobs[rows.at++];
  if (rows.has_told(id)) return {};
  const auto row = api.daemon.keeper().store().job(id);
  if (!row) return std::unexpected(row.error());
  if (!*row) return fail(ErrorCode::NotFound, api.changes.name_of(id) + ": no such job");
  if (rows.text.back() == '}') rows.text += ',';
  const auto span = array_of(id, (*row)->spec.conditions->array);
  if (!span || !rows.wholes.contains(span->first)) {
    api.daemon.presenter().append_row(rows.text, **row, reasons, who);
    return {};
  }
  const auto array = array_row(api.daemon.keeper(), *span);
  if (!array) return std::unexpected(array.error());
  rows.told.emplace(span->first, span->last);
  api.daemon.presenter().append_array(rows.text, *array, reasons, who);
  return {};
}

/// Returns: whether there are more.
Expected<bool> add_rows(Api& api, const Exchange& exchange, Rows& rows) {
  Reasons reasons = api.daemon.presenter().reasons();
  const Viewer who = api.viewer(exchange);
  while (rows.at < rows.jobs.size()) {
    if (rows.text.size() > kMostListed) {
      return fail(ErrorCode::InvalidArgument, "these are " + std::to_string(rows.jobs.size()) +
                                                  " jobs, and one answer holds the first " +
                                                  std::to_string(rows.at) + " of them; name fewer");
    }
    if (auto done = add_row(api, rows, reasons, who); !done) return std::unexpected(done.error());
    if (!api.daemon.has_time()) break;
  }
  return rows.at < rows.jobs.size();
}

/// `,"earlier":[7,6]`, the latest few; nothing if there is none.
std::string earlier_text(const std::vector<JobId>& jobs) {
  constexpr std::size_t kMostTold = 100;
  std::string list;
  for (const JobId job : jobs | std::views::take(kMostTold)) {
    list += (list.empty() ? "" : ",") + std::to_string(job.value());
  }
  return list.empty() ? "" : ",\"earlier\":[" + list + "]";
}

Reading list_handles(Api& api, const Call& call) {
  const http::Request& request = call.exchange->request();
  const auto wanted = parse_wanted(request);
  if (!wanted) return denied(wanted.error());
  const auto whole = query_flag(request, "whole_arrays");
  if (!whole) return denied(whole.error());
  const auto list = [&api, exchange = call.exchange, whole = *whole](const FoundJobs& found) {
    const auto rows = std::make_shared<Rows>(Rows{.jobs = found.jobs, .wholes = {}});
    if (whole) rows->wholes = found.wholes;
    const auto advance = [&api, exchange, rows] { return add_rows(api, exchange, *rows); };
    const std::string end = "]" + earlier_text(found.earlier) + "}";
    api.in_slices(exchange, advance, [exchange, rows, end] {
      exchange->respond({.status = 200, .body = std::move(rows->text) + end});
    });
  };
  return [&api, exchange = call.exchange, wanted = *wanted, list] {
    api.find(exchange, wanted, list);
  };
}

/// Nothing where there is none, or none any more.
std::optional<std::int64_t> log_size(const Daemon& daemon, JobId id) {
  const std::string path = daemon.options().state + "/logs/" + log_name(id);
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? std::optional(status.st_size) : std::nullopt;
}

Expected<std::string> detail(Api& api, const Exchange& exchange, JobId id, Presenter::Words words) {
  auto detail =
      api.daemon.presenter().detail(id, api.viewer(exchange), log_size(api.daemon, id), words);
  if (const auto file = api.daemon.site().output_of(id); file && detail) {
    detail->back() = ',';
    *detail += to_body({{"output_file", *file}}).substr(1);
  }
  return detail;
}

/// A command that is written in slices.
struct LongWords {
  Presenter::LongCommand command;
  std::size_t at = 0;
};

Expected<bool> append_arguments(const Daemon& daemon, LongWords& words) {
  while (words.at < words.command.more.size()) {
    const auto blob = daemon.keeper().store().blob(words.command.more[words.at++]);
    auto list = blob ? live::decode_environment(*blob) : std::unexpected(blob.error());
    if (!list) return std::unexpected(list.error());
    fill(*list, words.command.point);
    for (const std::string& word : *list) {
      words.command.json += ',';
      append_json(words.command.json, word);
    }
    if (!daemon.has_time()) return true;
  }
  return false;
}

void show_job(Api& api, const Exchange& exchange, JobId id) {
  auto command = api.daemon.presenter().long_command(id, api.viewer(exchange));
  if (!command) return answer(exchange, detail(api, exchange, id, Presenter::Words::All));
  const auto words = std::make_shared<LongWords>(std::move(*command));
  const auto advance = [&api, words] { return append_arguments(api.daemon, *words); };
  api.in_slices(exchange, advance, [&api, exchange, id, words] {
    auto rest = detail(api, exchange, id, Presenter::Words::None);
    if (rest) *rest = words->command.json + "]," + rest->substr(1);
    answer(exchange, std::move(rest));
  });
}

void show_found(Api& api, const Exchange& exchange, const FoundJobs& found) {
  if (found.array) {
    return answer(exchange, api.daemon.presenter().array(*found.array, api.viewer(exchange)));
  }
  if (found.jobs.size() == 1) return show_job(api, exchange, found.jobs.front());
  refuse(exchange, 400,
         "these are " + std::to_string(found.jobs.size()) + " jobs; GET /v1/jobs?jobs= lists them");
}

void follow(Api& api, const Exchange& exchange, std::optional<JobId> job) {
  Followers& followers = api.daemon.followers();
  const Viewer who = api.viewer(exchange);
  Expected<std::string> now = "";
  if (job) now = api.daemon.presenter().job(*job, who);
  if (!now) return refuse(exchange, now.error());
  const std::string why_not = job ? "" : followers.why_not(who.user);
  if (!why_not.empty()) return refuse(exchange, 429, why_not);
  const auto stream = exchange->stream("text/event-stream");
  stream->write(job ? "event: job\ndata: " + *now + "\n\n" : ": listening\n\n");
  const bool over = job && !api.view().knows(*job);
  if (over) return stream->close();
  if (job) api.daemon.attendants().on_follower(*job, exchange->request().peer.pid);
  followers.follow(stream, job, who);
}

}  // namespace

Reading list(Api& api, const Call& call) {
  const http::Request& request = call.exchange->request();
  const auto is_chosen = query_flag(request, "chosen");
  if (!is_chosen) return denied(is_chosen.error());
  if (*is_chosen || request.parameter("jobs")) return list_handles(api, call);
  const auto page = parse_page(request);
  if (!page) return denied(page.error());
  // Made when its turn has come: a page that waits costs nothing.
  return [&api, exchange = call.exchange, page = *page] {
    const auto listing = std::make_shared<Listing>(api.daemon.keeper(), api.daemon.presenter(),
                                                   page, api.viewer(exchange));
    const auto advance = [&api, listing] { return listing->advance(api.has_time()); };
    api.in_slices(exchange, advance, [exchange, listing] {
      exchange->respond({.status = 200, .body = listing->take()});
    });
  };
}

Reading show(Api& api, const Call& call) {
  return [&api, exchange = call.exchange, wanted = Api::wanted(call)] {
    api.find(exchange, wanted,
             [&api, exchange](const FoundJobs& found) { show_found(api, exchange, found); });
  };
}

Reading events(Api& api, const Call& call) {
  const auto text = call.exchange->request().parameter("job");
  if (!text) return [&api, exchange = call.exchange] { follow(api, exchange, std::nullopt); };
  auto handles = parse_handles(*text);
  if (!handles) return denied(handles.error());
  Wanted wanted = Api::wanted(call);
  wanted.handles = std::move(*handles);
  return [&api, exchange = call.exchange, wanted] {
    api.find_one(exchange, wanted, [&api, exchange](JobId id) { follow(api, exchange, id); });
  };
}

Reading log(Api& api, const Call& call) {
  const auto offset = query_number(call.exchange->request(), "offset", std::uint64_t{1} << 62);
  const auto follow = query_flag(call.exchange->request(), "follow");
  if (!offset) return denied(offset.error());
  if (!follow) return denied(follow.error());
  const auto send = [&api, call, from = offset->value_or(0), wanted = *follow](JobId id) {
    if (!api.may_act(call, id)) return;
    if (const auto file = api.daemon.site().output_of(id)) {
      return refuse(call.exchange, 409,
                    api.changes.name_of(id) + ": its output is in " + *file + "; read it there");
    }
    const bool goes_on = wanted && api.view().knows(id);
    api.daemon.logs().send(call.exchange, log_name(id), from,
                           goes_on ? Follow::UntilEnd : Follow::No);
  };
  return [&api, call, send] { api.find_one(call.exchange, Api::wanted(call), send); };
}

}  // namespace berth::daemon::handlers
