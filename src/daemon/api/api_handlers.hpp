// What answers the routes of the API (routes.hpp), and what these functions share.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/answers/forecaster.hpp"
#include "daemon/answers/present.hpp"
#include "daemon/answers/selection.hpp"
#include "daemon/api/routes.hpp"
#include "daemon/daemon.hpp"
#include "daemon/loop/processes.hpp"
#include "daemon/requests/job_changes.hpp"

namespace berth::daemon {

int status_of(ErrorCode code);
void refuse(const Exchange& exchange, const Denial& denial);
void refuse(const Exchange& exchange, int status, const std::string& message);
void refuse(const Exchange& exchange, const Error& error);
void answer(const Exchange& exchange, const Json& json);
void answer(const Exchange& exchange, Expected<std::string> json);
std::unexpected<Denial> denied(const Error& error);

/// Slices of what `advance()` does until it says that there is no more; then `then()` goes on. Its
/// error is the answer.
template <class Advance, class Then>
Slices sliced(const Exchange& exchange, Advance advance, Then then) {
  return [exchange, advance = std::move(advance), then = std::move(then)]() mutable {
    const Expected<bool> more = advance();
    if (more && *more) return true;
    more ? then() : refuse(exchange, more.error());
    return false;
  };
}

/// What handles stand for.
struct FoundJobs {
  std::vector<JobId> jobs;
  bool is_one = false;                ///< One job was asked for, by its own handle.
  std::optional<ArraySpan> array;     ///< An array was, by its number or name.
  std::set<JobId> wholes = {};        ///< Arrays among them by their number or name.
  std::vector<Missing> missing = {};  ///< Handles of jobs to change that stand for none.
  std::vector<JobId> earlier = {};    ///< Of the same names, before those.
};

/// Belongs to the engine's thread. Requires: the daemon outlives it and what is under way.
struct Api {
  Daemon& daemon;
  JobChanges changes{daemon};
  UserNames names = {};
  bool is_adopting = false;  ///< One at a time: two could be of one process.

  std::function<bool()> has_time() {
    return [this] { return daemon.has_time(); };
  }
  void in_slices(const Exchange& exchange, Slices slices) {
    daemon.in_slices_for(exchange->request().peer.user, std::move(slices));
  }
  template <class Advance, class Then>
  void in_slices(const Exchange& exchange, Advance advance, Then then) {
    in_slices(exchange, sliced(exchange, std::move(advance), std::move(then)));
  }
  ClusterView view() const { return daemon.keeper().engine().view(); }
  Rights rights(const Exchange& exchange) const;
  Viewer viewer(const Exchange& exchange) const;
  /// Whether the peer has these rights; if not, an answer was given.
  bool has(Rights needed, const Exchange& exchange);
  /// Whether there is such a job and the peer may act on it; if not, an answer was given.
  bool may_act(const Call& call, JobId id);

  /// All jobs, ended or not, that the handles stand for where the peer asks.
  static Wanted wanted(const Call& call);
  /// Looks jobs up, at once as far as most handles need, then in slices. An answer is given for
  /// handles that stand for nothing.
  void find(const Exchange& exchange, Wanted wanted, std::function<void(const FoundJobs&)> then);
  /// The same for one job. An answer is given for handles that stand for several.
  void find_one(const Exchange& exchange, Wanted wanted, std::function<void(JobId)> then);
};

/// Why the peer may have no jobs here; nothing if it may.
std::optional<Denial> why_not_served(const Api& api, const http::Peer& peer);

/// Answers what becomes of the job, on another thread.
void look_ahead(Api& api, const Exchange& exchange, const Subject& about);

namespace handlers {

Reading metrics(Api& api, const Call& call);
Reading version(Api& api, const Call& call);
Reading gpus(Api& api, const Call& call);
Reading doctor(Api& api, const Call& call);
Reading usage(Api& api, const Call& call);
Reading interference(Api& api, const Call& call);
Reading reload(Api& api, const Call& call);
Reading drain(Api& api, const Call& call);
Reading undrain(Api& api, const Call& call);
Reading reservations(Api& api, const Call& call);
Reading reserve(Api& api, const Call& call);
Reading unreserve(Api& api, const Call& call);
Reading submit(Api& api, const Call& call);
Reading adopt(Api& api, const Call& call);
Reading list(Api& api, const Call& call);
Reading events(Api& api, const Call& call);
Reading starts(Api& api, const Call& call);
Reading show(Api& api, const Call& call);
Reading why(Api& api, const Call& call);
Reading log(Api& api, const Call& call);
Reading change_many(Api& api, const Call& call);
Reading change_named(Api& api, const Call& call);
Reading leave(Api& api, const Call& call);
Reading again(Api& api, const Call& call);
Reading attach(Api& api, const Call& call);

}  // namespace handlers

}  // namespace berth::daemon
