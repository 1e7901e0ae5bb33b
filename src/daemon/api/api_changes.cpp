// What users do to jobs: cancel, hold and the like, of one or of many, and `leave` and `attach`.
#include <utility>

#include "core/text/words.hpp"
#include "daemon/answers/queries.hpp"
#include "daemon/api/api_handlers.hpp"
#include "daemon/loop/processes.hpp"
#include "daemon/requests/requests.hpp"
#include "live/command.hpp"

namespace berth::daemon::handlers {

namespace {

/// The last word of its path.
JobVerb verb_of(const Route& route) {
  return job_verb(route.path.substr(route.path.rfind('/') + 1)).value();
}

/// The client of a job that waits goes, and the job stays.
void leave_job(Api& api, const Call& call, JobId id) {
  if (!api.may_act(call, id)) return;
  const Job* const job = api.view().find(id);
  const std::string name = api.changes.name_of(id);
  if (job == nullptr) return refuse(call.exchange, 409, name + ": has ended already");
  if (holds_berth(job->state)) {
    return refuse(call.exchange, 409,
                  name + ": is " + std::string(word_for(shown_state(*job))) +
                      ", only a job that waits can be left so");
  }
  const auto tell = [&api, id](JobId) {
    return http::Response{.status = 200, .body = to_body(api.daemon.presenter().brief(id))};
  };
  api.daemon.ask({.submission = std::nullopt,
                  .inputs = {},
                  .exchange = call.exchange,
                  .answer = tell,
                  .left = id});
}

/// Why nobody can attach to this job, or not the peer: the client reads and types as the job's
/// user, so nobody else may be one, root neither.
std::optional<Denial> why_not_attached(Api& api, const Call& call, const Job* job, JobId id) {
  const std::string name = api.changes.name_of(id);
  if (job == nullptr) return Denial{.status = 409, .message = name + ": has ended already"};
  const uid_t peer = call.exchange->request().peer.user;
  const uid_t owner = job->spec.user.value();
  if (owner != peer) {
    return Denial{.status = 403,
                  .message = name + ": belongs to " + api.changes.user_text(owner) + ", you are " +
                             api.changes.user_text(peer) +
                             "; only a job's own user may attach to it"};
  }
  if (is_adopted(job->spec)) {
    return Denial{.message = name + ": was started by hand: its terminal is where that was"};
  }
  if (const std::string why = api.daemon.site().why_not_attended(); !why.empty()) {
    return Denial{.message = name + ": " + why};
  }
  if (!is_waiting(job->state) || has_idle_process(*job)) return std::nullopt;
  return Denial{.message = name + ": is " + std::string(word_for(shown_state(*job))) +
                           ", only a job that runs can be attached to"};
}

void attach_job(Api& api, const Call& call, JobId id, const shim::Attach& client) {
  if (!api.may_act(call, id)) return;
  const Job* const job = api.view().find(id);
  if (const auto denial = why_not_attached(api, call, job, id)) {
    return refuse(call.exchange, *denial);
  }
  const auto blob = api.daemon.keeper().store().blob(job->spec.command);
  const auto command = blob ? live::decode_command(*blob) : std::unexpected(blob.error());
  if (!command) return refuse(call.exchange, command.error());
  if (auto done = api.daemon.site().attend(id, job->attempt, client); !done) {
    const bool is_early = done.error().code == ErrorCode::NotFound;
    return refuse(call.exchange, is_early ? 409 : status_of(done.error().code),
                  api.changes.name_of(id) + ": " + done.error().message);
  }
  answer(call.exchange, {{"id", id.value()},
                         {"terminal", command->attach && command->attach->terminal},
                         {"input", command->attach.has_value()}});
}

/// Reads the body of POST /v1/cancel and the like.
std::expected<ManyJobs, Denial> read_many(const Call& call, JobVerb verb) {
  const auto deny = [](const char* why) {
    return denied({.code = ErrorCode::InvalidArgument, .message = why});
  };
  const auto user = query_number(call.exchange->request(), "user", 0xFFFFFFFF);
  if (!user) return denied(user.error());
  auto many = parse_many(call.exchange->take_body());
  if (!many) return denied(many.error());
  if (*user) many->users.insert(UserId(static_cast<std::uint32_t>(**user)));
  if ((verb == JobVerb::Update) != many->change.has_value()) {
    return deny(many->change ? "change: is of update alone" : "change: is missing");
  }
  if (!many->handles.empty() || !many->users.empty()) return std::move(*many);
  if (verb != JobVerb::Cancel) return deny("jobs: is missing");
  many->users.insert(UserId(call.exchange->request().peer.user));
  return std::move(*many);
}

}  // namespace

/// Of all that the handles stand for and that has not ended.
Reading change_named(Api& api, const Call& call) {
  const JobVerb verb = verb_of(call.route);
  Change change;
  if (verb == JobVerb::Update) {
    auto wished = parse_change(call.exchange->take_body());
    if (!wished) return denied(wished.error());
    change = std::move(*wished);
  }
  Wanted wanted = Api::wanted(call);
  wanted.among = Among::Live;
  wanted.goes_on = true;
  const auto carry_out = [&api, call, verb, change](const FoundJobs& found) {
    using Answer = JobsToChange::Answer;
    api.changes.carry_out({.exchange = call.exchange,
                           .verb = verb,
                           .jobs = found.jobs,
                           .missing = found.missing,
                           .change = change,
                           .answer = found.is_one ? Answer::OfOne : Answer::OfMany,
                           .on_others = call.route.who.on_others});
  };
  return [&api, call, wanted, carry_out] { api.find(call.exchange, wanted, carry_out); };
}

Reading change_many(Api& api, const Call& call) {
  const JobVerb verb = verb_of(call.route);
  const auto many = read_many(call, verb);
  if (!many) return std::unexpected(many.error());
  const auto carry_out = [&api, call, verb, many = *many](const FoundJobs& found) {
    api.changes.carry_out({.exchange = call.exchange,
                           .verb = verb,
                           .jobs = found.jobs,
                           .missing = found.missing,
                           .change = many.change.value_or(Change{}),
                           .on_others = call.route.who.on_others});
  };
  return [&api, call, many = *many, carry_out] {
    if (many.handles.empty()) {
      for (const UserId user : many.users) {
        const auto denial = api.changes.why_not_of(*call.exchange, user, call.route.who.on_others);
        if (denial) return refuse(call.exchange, *denial);
      }
    }
    api.find(call.exchange,
             {.handles = many.handles,
              .users = many.users,
              .own = UserId(call.exchange->request().peer.user),
              .among = Among::Live,
              .goes_on = true},
             carry_out);
  };
}

Reading leave(Api& api, const Call& call) {
  return [&api, call] {
    api.find_one(call.exchange, Api::wanted(call),
                 [&api, call](JobId id) { leave_job(api, call, id); });
  };
}

Reading attach(Api& api, const Call& call) {
  auto client = parse_attach(call.exchange->take_body());
  if (!client) return denied(client.error());
  client->socket = path_from_here(client->socket, call.exchange->request().peer.pid);
  return [&api, call, client = *client] {
    api.find_one(call.exchange, Api::wanted(call),
                 [&api, call, client](JobId id) { attach_job(api, call, id, client); });
  };
}

}  // namespace berth::daemon::handlers
