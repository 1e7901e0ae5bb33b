// POST /v1/jobs: a submission is read, finds the jobs that it waits for, is checked, and is taken
// in with the next step once there is room for it.
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "core/text/text.hpp"
#include "daemon/answers/queries.hpp"
#include "daemon/api/api_handlers.hpp"
#include "daemon/attempts/hints.hpp"
#include "daemon/loop/processes.hpp"
#include "daemon/requests/admit.hpp"
#include "daemon/requests/after_search.hpp"
#include "daemon/requests/again.hpp"
#include "daemon/requests/requests.hpp"

namespace berth::daemon {

/// A daemon without root cannot become anybody else.
std::optional<Denial> why_not_served(const Api& api, const http::Peer& peer) {
  const std::string name = "uid " + std::to_string(peer.user);
  if (::geteuid() != 0 && peer.user != ::geteuid()) {
    return Denial{.status = 403,
                  .message = name + " asks a daemon of uid " + std::to_string(::geteuid()) +
                             ", which serves only its own user, because it is not root"};
  }
  if (api.daemon.may_submit(UserId(peer.user))) return std::nullopt;
  return Denial{.status = 403,
                .message = name +
                           " may submit no jobs here: the administrator has it so "
                           "(submit = false)"};
}

}  // namespace berth::daemon

namespace berth::daemon::handlers {

namespace {

constexpr int kNoRoom = 507;

/// A submission on its way.
struct Submitting {
  Api& api;
  Exchange exchange;
  bool is_dry = false;  ///< Changes nothing.
  live::Submission job;
};
using Kept = std::shared_ptr<Submitting>;

bool is_memory_learned(const JobSpec& spec) {
  return spec.request.gpu.vram == Bytes(0) && spec.vram_estimate > Bytes(0) &&
         spec.request.gpu.sharing != Sharing::Alone;
}

std::string learned_memory_text(const JobSpec& spec) {
  return "without --vram the job is charged " + to_text(spec.vram_estimate) +
         " per GPU, by the peaks of earlier runs of this program; say --vram SIZE, or --vram max, "
         "to have it charged otherwise";
}

/// What will not go as its user may think.
std::vector<std::string> warnings_for(const Daemon& daemon, const live::Submission& job) {
  std::vector<std::string> warnings =
      memory_warnings(job.command.arguments, job.spec.request.gpu, daemon.machine().devices.list);
  if (job.spec.time_limit == daemon.longest_time() && job.spec.time_limit != kForever) {
    warnings.push_back("the job is ended after " + seconds_text(job.spec.time_limit) +
                       " s: the administrator allows no longer time limit");
  }
  if (!job.command.notice) return warnings;
  const std::string why = why_untold(job.command.notice->to);
  if (!why.empty()) {
    warnings.push_back("--notify " + job.command.notice->to + " may reach nobody: " + why);
  }
  return warnings;
}

void take_in(const Kept& kept) {
  Api& api = kept->api;
  const auto jobs = std::max<std::int64_t>(1, std::ssize(kept->job.tasks));
  auto warnings = warnings_for(api.daemon, kept->job);
  api.daemon.ask({.submission = std::move(kept->job),
                  .inputs = {},
                  .exchange = kept->exchange,
                  .answer = [&api, warnings = std::move(warnings), jobs](JobId id) {
                    Json json = api.daemon.presenter().brief(id);
                    json.erase("handle");  // the number is that of all of them
                    if (jobs > 1) json["jobs"] = jobs;
                    json["warnings"] = warnings;
                    const Job* const known = api.view().find(id);
                    if (known != nullptr && is_memory_learned(known->spec)) {
                      json["vram_learned_bytes"] = known->spec.vram_estimate.raw();
                      json["warnings"].push_back(learned_memory_text(known->spec));
                    }
                    return http::Response{.status = 201, .body = to_body(json)};
                  }});
}

void take_room(const Kept& kept) {
  Daemon& daemon = kept->api.daemon;
  const auto taken = daemon.user_totals().take(daemon.keeper(), kept->job);
  if (!taken) return refuse(kept->exchange, 429, taken.error().message);
  if (kept->job.more_arguments.empty() && kept->job.more_environment.empty()) return take_in(kept);
  kept->api.in_slices(kept->exchange, [&daemon, kept] {
    Expected<bool> more = true;
    do {
      more = daemon.store_part(kept->job);
    } while (more && *more && daemon.has_time());
    if (more && *more) return true;
    if (more) take_in(kept);
    if (!more) refuse(kept->exchange, kNoRoom, "nothing was changed: " + more.error().message);
    return false;
  });
}

/// What a user's jobs take is counted again where they may have less than is known.
void count_then_take_room(const Kept& kept) {
  Api& api = kept->api;
  if (!api.daemon.user_totals().may_have_less(api.daemon.keeper(), kept->job)) {
    return take_room(kept);
  }
  using Count = live::UserTotals::Count;
  const auto count = std::make_shared<Count>(Count{.user = kept->job.spec.user});
  const auto advance = [&api, count] {
    return api.daemon.user_totals().count(*count, api.daemon.keeper(), api.has_time());
  };
  api.in_slices(kept->exchange, advance, [kept] { take_room(kept); });
}

/// To the site's own queue, if it has one.
bool submit_there(const Kept& kept) {
  return kept->api.daemon.site().submit(kept->job, [kept](const Expected<JobId>& id) {
    if (!id) return refuse(kept->exchange, id.error());
    Json json = kept->api.daemon.presenter().brief(*id);
    json["warnings"] = Json::array();
    kept->exchange->respond({.status = 201, .body = to_body(json)});
  });
}

void take(const Kept& kept) {
  Api& api = kept->api;
  live::Submission& job = kept->job;
  const Exchange& exchange = kept->exchange;
  const live::Keeper& keeper = api.daemon.keeper();
  if (auto done = accept_gpus(job, api.view().cluster()); !done) {
    return refuse(exchange, done.error());
  }
  if (auto done = check_share(job, api.daemon); !done) {
    return refuse(exchange, 422, done.error().message);
  }
  const std::string& key = job.spec.conditions->unique;
  if (const auto same = keeper.engine().job_with_key(job.spec.user, key); !key.empty() && same) {
    Json json = api.daemon.presenter().brief(*same);
    json["already"] = key;
    return answer(exchange, json);
  }
  if (auto done = check_machine(job, api.daemon); !done) {
    return refuse(exchange, 422, done.error().message);
  }
  if (kept->is_dry) {
    JobSpec spec = keeper.learning().with_estimate(job);
    if (auto done = keeper.note_ended(spec); !done) return refuse(exchange, done.error());
    return look_ahead(api, exchange, Wish{spec, job.held});
  }
  if (!submit_there(kept)) count_then_take_room(kept);
}

/// The jobs to wait for may be thousands, so they are looked for in slices.
void find_after(const Kept& kept) {
  Api& api = kept->api;
  const auto search = std::make_shared<AfterSearch>(std::exchange(kept->job.after, {}),
                                                    find_jobs_of(api.daemon.keeper()));
  const auto advance = [&api, search] { return search->advance(api.has_time()); };
  api.in_slices(kept->exchange, advance, [kept, search] {
    kept->job.spec.conditions.edit().after = search->take();
    if (auto done = add_counterparts(kept->job, search->counterparts()); !done) {
      return refuse(kept->exchange, done.error());
    }
    take(kept);
  });
}

/// Of jobs of one user, which the peer may act on.
void submit_again(Api& api, const Call& call, const std::shared_ptr<Again>& search) {
  if (const std::string why = api.daemon.site().why_not_again(); !why.empty()) {
    return refuse(call.exchange, 409, why);
  }
  auto job = search->take();
  if (!job) return refuse(call.exchange, job.error());
  if (!api.daemon.may_submit(job->spec.user)) {
    return refuse(call.exchange, 403,
                  "uid " + std::to_string(job->spec.user.value()) +
                      " may submit no jobs here: the administrator has it so (submit = false)");
  }
  take(Kept(new Submitting{api, call.exchange, false, std::move(*job)}));
}

}  // namespace

/// Those that the handle stands for and that have ended, as new jobs.
Reading again(Api& api, const Call& call) {
  const auto which = parse_again(call.exchange->take_body());
  if (!which) return denied(which.error());
  const auto found = [&api, call, which = *which](const FoundJobs& jobs) {
    if (jobs.jobs.empty() || !api.may_act(call, jobs.jobs.front())) return;
    const auto search = std::make_shared<Again>(api.daemon.keeper(), jobs.jobs, which);
    const auto advance = [&api, search] { return search->advance(api.has_time()); };
    api.in_slices(call.exchange, advance,
                  [&api, call, search] { submit_again(api, call, search); });
  };
  return
      [&api, call, wanted = Api::wanted(call), found] { api.find(call.exchange, wanted, found); };
}

Reading submit(Api& api, const Call& call) {
  const http::Request& request = call.exchange->request();
  const auto deny = [](int status, const std::string& why) {
    return std::unexpected(Denial{.status = status, .message = why});
  };
  if (const auto denial = why_not_served(api, request.peer)) return std::unexpected(*denial);
  const std::string& type = request.content_type;
  if (!type.empty() && !type.starts_with("application/json")) {
    return deny(415, "content type '" + type.substr(0, 60) + "', must be application/json");
  }
  const auto is_dry = query_flag(request, "dry_run");
  if (!is_dry) return denied(is_dry.error());
  auto job = parse_submission(call.exchange->take_body(), request.peer,
                              {.cpu = api.daemon.default_cpu(),
                               .shrinks = api.daemon.options().shrinks,
                               .sharing = api.daemon.default_sharing(UserId(request.peer.user)),
                               .longest_time = api.daemon.longest_time()});
  if (!job) return denied(job.error());
  if (auto& client = job->command.attach) {
    client->socket = path_from_here(client->socket, request.peer.pid);
  }
  const Kept kept(new Submitting{api, call.exchange, *is_dry, std::move(*job)});
  return [kept] { kept->job.after.empty() ? take(kept) : find_after(kept); };
}

}  // namespace berth::daemon::handlers
