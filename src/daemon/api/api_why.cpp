// What becomes of jobs: GET /v1/jobs/ID/why, GET /v1/starts, and the answer to a dry run.
#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/answers/first_jobs.hpp"
#include "daemon/answers/hiding.hpp"
#include "daemon/api/api_handlers.hpp"

namespace berth::daemon {

namespace {

/// What is not changed by an update here.
std::set<Wanting> fixed_here(const Daemon& daemon) {
  std::set<Wanting> fixed;
  for (const auto& [wanting, field] : {std::pair{Wanting::Gpus, "gpus"},
                                       {Wanting::Types, "gpus"},
                                       {Wanting::Only, "gpus"},
                                       {Wanting::Time, "time_limit_seconds"},
                                       {Wanting::Vram, "vram_bytes"},
                                       {Wanting::Share, "share"},
                                       {Wanting::Suspend, "suspend"},
                                       {Wanting::Cpus, "cpus"},
                                       {Wanting::Mem, "mem_bytes"}}) {
    if (!daemon.site().why_fixed(field).empty()) fixed.insert(wanting);
  }
  return fixed;
}

/// Finds them in slices, and goes on.
void with_first_jobs(Api& api, const Exchange& exchange, std::function<void(FirstJobs&)> then) {
  const auto first = std::make_shared<FirstJobs>(Forecaster::kMostJobs);
  const auto advance = [&api, first] { return first->advance(api.view(), api.has_time()); };
  api.in_slices(exchange, advance, [first, then = std::move(then)] { then(*first); });
}

/// The first ones, and what the question is about with all that it waits for.
void choose_jobs(const ClusterView& view, Question& question, FirstJobs& first) {
  std::vector<JobId> chosen = first.take();
  std::vector<JobId> about;
  if (const auto* const job = std::get_if<JobId>(&question.about)) {
    about.push_back(*job);
    const Job* const known = view.find(*job);
    const bool comes = known != nullptr && comes_by_itself(*known);
    question.is_beyond = comes && !std::ranges::binary_search(chosen, *job);
  } else if (const auto* const wish = std::get_if<Wish>(&question.about)) {
    for (const Dependency& on : wish->spec.conditions->after) about.push_back(on.job);
    question.is_beyond = first.leaves_out(wish->spec.user);
  }
  about = with_what_they_wait_for(view, std::move(about), Forecaster::kMostJobs);
  std::vector<JobId> all;
  std::ranges::set_union(chosen, about, std::back_inserter(all));
  question.first = std::move(all);
  question.waiting = first.waiting();
}

void look_ahead_now(Api& api, Question question) {
  Daemon& daemon = api.daemon;
  const Exchange exchange = question.exchange;
  question.now = daemon.now();
  question.foreign = daemon.presenter().foreign_texts();
  question.fixed = fixed_here(daemon);
  question.longest_time = daemon.longest_time();
  if (const auto* const job = std::get_if<JobId>(&question.about)) {
    const UserId owner = api.view().find(*job)->spec.user;
    question.note = Sight(owner, api.viewer(exchange)).note(daemon.keeper().note_of(*job));
    question.memory_limit = daemon.presenter().rung_line(*job);
    question.links = daemon.presenter().links_line(*job);
    const bool may_update =
        owner == UserId(exchange->request().peer.user) || api.rights(exchange) >= Rights::Operator;
    if (!may_update) question.fixed = {kAllWanting.begin(), kAllWanting.end()};
  }
  const auto asked = daemon.forecaster().ask(daemon.keeper().engine(), std::move(question));
  if (!asked) refuse(exchange, 503, asked.error().message);
}

/// Answered on another thread; why a job that has ended waits no more is known at once.
void tell_why(Api& api, const Exchange& exchange, JobId id) {
  Presenter& presenter = api.daemon.presenter();
  if (api.view().knows(id)) return look_ahead(api, exchange, id);
  const auto job = presenter.job(id, api.viewer(exchange));
  if (!job) return refuse(exchange, job.error());
  Json json = presenter.brief(id);
  const std::string note = Json::parse(*job).value("note", "");
  json["reason"] = "it has ended as " + json.value("state", "") + (note.empty() ? "" : ": " + note);
  answer(exchange, json);
}

/// Of an array why its next job waits.
void tell_why(Api& api, const Exchange& exchange, const FoundJobs& found) {
  if (!found.array && found.jobs.size() != 1) {
    return refuse(exchange, 400,
                  "these are " + std::to_string(found.jobs.size()) + " jobs; ask of one");
  }
  if (!found.array) return tell_why(api, exchange, found.jobs.front());
  const auto row = array_row(api.daemon.keeper(), *found.array);
  if (!row) return refuse(exchange, row.error());
  if (!row->exit_code) return tell_why(api, exchange, row->row.job);
  answer(exchange, {{"id", row->span.first.value()},
                    {"state", row->state},
                    {"reason", "it has ended as " + std::string(row->state)}});
}

void ask_each(Api& api, Question question) {
  const Exchange exchange = question.exchange;
  const Engine& engine = api.daemon.keeper().engine();
  const auto done = api.daemon.forecaster().ask_each(engine, std::move(question));
  if (!done) refuse(exchange, 503, done.error().message);
}

}  // namespace

/// With all jobs, or where there are too many with the first ones of every user.
void look_ahead(Api& api, const Exchange& exchange, const Subject& about) {
  if (api.view().job_count() <= Forecaster::kMostJobs) {
    return look_ahead_now(api, {.about = about, .now = {}, .exchange = exchange});
  }
  with_first_jobs(api, exchange, [&api, exchange, about](FirstJobs& first) {
    Question question{.about = about, .now = {}, .exchange = exchange};
    choose_jobs(api.view(), question, first);
    const auto* const job = std::get_if<JobId>(&about);
    if (job != nullptr && !api.view().knows(*job)) return tell_why(api, exchange, *job);
    look_ahead_now(api, std::move(question));
  });
}

namespace handlers {

Reading why(Api& api, const Call& call) {
  return [&api, exchange = call.exchange, wanted = Api::wanted(call)] {
    api.find(exchange, wanted,
             [&api, exchange](const FoundJobs& found) { tell_why(api, exchange, found); });
  };
}

Reading starts(Api& api, const Call& call) {
  return [&api, exchange = call.exchange] {
    const auto question = [&api, exchange] {
      return Question{.about = EachStart{},
                      .now = api.daemon.now(),
                      .exchange = exchange,
                      .longest_time = api.daemon.longest_time(),
                      .fixed = fixed_here(api.daemon)};
    };
    const Engine& engine = api.daemon.keeper().engine();
    if (api.daemon.forecaster().answer_again(engine, question())) return;
    if (api.view().job_count() <= Forecaster::kMostJobs) return ask_each(api, question());
    with_first_jobs(api, exchange, [&api, question](FirstJobs& first) {
      Question each = question();
      choose_jobs(api.view(), each, first);
      ask_each(api, std::move(each));
    });
  };
}

}  // namespace handlers

}  // namespace berth::daemon
