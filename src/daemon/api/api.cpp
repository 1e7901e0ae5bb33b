#include "daemon/api/api.hpp"

#include <memory>

#include "daemon/answers/queries.hpp"
#include "daemon/api/api_handlers.hpp"
#include "daemon/notices/audit.hpp"

namespace berth::daemon {

namespace {

/// Of a body that the server's thread reads by itself, as quickly as it reads the rest of a
/// request: the thousand connections that one user may have delay others by little.
constexpr std::size_t kSmallBody = std::size_t{4} << 10;
constexpr int kFewLooks = 16;  ///< What most handles need; others have their slices.

/// By what it does, not by what it says of itself: the one POST that changes nothing is a
/// submission which is a dry run.
bool may_change(const http::Request& request) {
  if (request.method == "GET" || request.method == "HEAD") return false;
  const bool is_submission = request.method == "POST" && request.path == "/v1/jobs";
  return !(is_submission && query_flag(request, "dry_run").value_or(false));
}

void refuse_route(const Exchange& exchange, const std::string& allow) {
  const http::Request& request = exchange->request();
  if (allow.empty()) return refuse(exchange, 404, request.path + ": no such path");
  const std::string what = request.method + " " + request.path + ": method not allowed here";
  exchange->respond({.status = 405, .body = http::error_body(what), .allow = allow});
}

/// Reads the request here, and does what it asks on the engine's thread.
void serve_request(Api& api, const Exchange& given) {
  const Exchange exchange =
      may_change(given->request()) ? audited(given, api.daemon.audit()) : given;
  const http::Request& request = exchange->request();
  const RouteFound found = find_route(request.method, request.path);
  if (found.route == nullptr) return refuse_route(exchange, found.allow);
  Call call{.exchange = exchange, .route = *found.route, .handles = {}};
  if (found.id) {
    auto handles = parse_handles(*found.id);
    if (!handles) return refuse(exchange, handles.error());
    call.handles = std::move(*handles);
  }
  auto reading = call.route.read(api, call);
  if (!reading) return refuse(exchange, reading.error());
  Task work = [&api, exchange, needed = call.route.who.always, go = std::move(*reading)] {
    if (api.has(needed, exchange)) go();
  };
  if (call.route.part == Part::Request) {
    return api.daemon.on_turn_of(request.peer.user, std::move(work));
  }
  api.in_slices(exchange, [work = std::move(work)] {
    work();
    return false;
  });
}

}  // namespace

// ---- Answers ---------------------------------------------------------------------------------

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
    case ErrorCode::BadData:
      return 400;
    case ErrorCode::NotFound:
      return 404;
    case ErrorCode::Conflict:
      return 409;
    case ErrorCode::Io:
    case ErrorCode::Lost:
      return 500;
  }
  return 500;
}

void refuse(const Exchange& exchange, const Denial& denial) {
  exchange->respond({.status = denial.status, .body = http::error_body(denial.message)});
}

void refuse(const Exchange& exchange, int status, const std::string& message) {
  refuse(exchange, Denial{.status = status, .message = message});
}

void refuse(const Exchange& exchange, const Error& error) {
  refuse(exchange, status_of(error.code), error.message);
}

std::unexpected<Denial> denied(const Error& error) {
  return std::unexpected(Denial{.status = status_of(error.code), .message = error.message});
}

void answer(const Exchange& exchange, const Json& json) {
  exchange->respond({.status = 200, .body = to_body(json)});
}

void answer(const Exchange& exchange, Expected<std::string> json) {
  if (!json) return refuse(exchange, json.error());
  exchange->respond({.status = 200, .body = std::move(*json)});
}

// ---- Rights ----------------------------------------------------------------------------------

Rights Api::rights(const Exchange& exchange) const {
  return rights_of(exchange->request().peer, daemon.options().roles);
}

Viewer Api::viewer(const Exchange& exchange) const {
  return {.user = UserId(exchange->request().peer.user),
          .sees_all = !daemon.options().hide_arguments || rights(exchange) == Rights::Admin,
          .is_admin = rights(exchange) == Rights::Admin};
}

bool Api::has(Rights needed, const Exchange& exchange) {
  if (rights(exchange) >= needed) return true;
  const std::string who = changes.user_text(exchange->request().peer.user);
  refuse(exchange, 403,
         needed == Rights::Admin
             ? "only an administrator may do that (root, berthd's own user, `admins` in "
               "berth.toml), you are " +
                   who
             : "only an operator may do that (`operators` in berth.toml, and administrators), "
               "you are " +
                   who);
  return false;
}

bool Api::may_act(const Call& call, JobId id) {
  const auto denial = changes.why_not(*call.exchange, id, call.route.who.on_others);
  if (denial) refuse(call.exchange, *denial);
  return !denial;
}

// ---- Jobs by their handles -------------------------------------------------------------------

Wanted Api::wanted(const Call& call) {
  return {.handles = call.handles,
          .users = {},
          .own = UserId(call.exchange->request().peer.user),
          .among = Among::All};
}

void Api::find(const Exchange& exchange, Wanted wanted,
               std::function<void(const FoundJobs&)> then) {
  struct Lookup {
    Lookup(const live::Keeper& keeper, Wanted wanted)
        : jobs(keeper), selection(jobs, std::move(wanted)) {}
    KeptJobs jobs;
    Selection selection;
  };
  const auto lookup = std::make_shared<Lookup>(daemon.keeper(), std::move(wanted));
  const auto advance = [this, lookup] { return lookup->selection.advance(has_time()); };
  Slices looks = sliced(exchange, advance, [lookup, then = std::move(then)] {
    Selection& selection = lookup->selection;
    then({.jobs = selection.take(),
          .is_one = selection.is_one(),
          .array = selection.array(),
          .wholes = selection.wholes(),
          .missing = selection.missing(),
          .earlier = selection.earlier()});
  });
  for (int look = 0; look < kFewLooks; ++look) {
    if (!looks()) return;
  }
  in_slices(exchange, std::move(looks));
}

void Api::find_one(const Exchange& exchange, Wanted wanted, std::function<void(JobId)> then) {
  find(exchange, std::move(wanted), [exchange, then = std::move(then)](const FoundJobs& found) {
    if (found.jobs.size() == 1) return then(found.jobs.front());
    const std::string count = std::to_string(found.jobs.size()) + " jobs";
    if (!found.array) return refuse(exchange, 400, "these are " + count + "; name one");
    const std::string array = std::to_string(found.array->first.value());
    refuse(exchange, 400, "array " + array + " is " + count + "; name one, as " + array + "_1");
  });
}

http::Handler make_api(Daemon& daemon) {
  return [api = std::make_shared<Api>(daemon)](const Exchange& given) {
    const http::Request& request = given->request();
    if (request.body.size() <= kSmallBody) return serve_request(*api, given);
    api->daemon.read_body_for(request.peer.user, [api, given] { serve_request(*api, given); });
  };
}

}  // namespace berth::daemon
