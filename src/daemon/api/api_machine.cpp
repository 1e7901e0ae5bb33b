// The machine and its GPUs: what there is and how it is used; drains, reservations, a new
// configuration.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/text/words.hpp"
#include "daemon/answers/interference.hpp"
#include "daemon/answers/metrics.hpp"
#include "daemon/answers/queries.hpp"
#include "daemon/answers/reservations.hpp"
#include "daemon/api/api_handlers.hpp"
#include "daemon/notices/usage.hpp"
#include "daemon/requests/doctor.hpp"
#include "daemon/requests/requests.hpp"

namespace berth::daemon::handlers {

namespace {

enum class Draining : std::uint8_t { Begin, End };

http::Response answer_of(const Json& json) { return {.body = to_body(json)}; }

Json all_reservations(Api& api) {
  return {{"reservations", reservations_json(api.view(), api.names)}};
}

Bytes largest_gpu(const Cluster& cluster) {
  Bytes largest(0);
  for (const GpuSpec& gpu : cluster.gpus()) largest = std::max(largest, gpu.capacity);
  return largest;
}

/// Asks the next step for these.
void ask(Api& api, const Exchange& exchange, std::vector<Input> inputs,
         std::function<http::Response()> tell) {
  api.daemon.ask({.submission = std::nullopt,
                  .inputs = std::move(inputs),
                  .exchange = exchange,
                  .answer = [tell = std::move(tell)](JobId) { return tell(); }});
}

/// Of GPUs that are asked for by their numbers; "" if berthd was given them all.
std::string why_not_ours(const Daemon& daemon,
                         const std::optional<std::vector<std::uint32_t>>& gpus) {
  std::string why;
  for (std::size_t i = 0; gpus && why.empty() && i < gpus->size(); ++i) {
    why = daemon.why_not_ours(GpuId((*gpus)[i]));
  }
  return why;
}

Reading begin_or_end_drain(Api& api, const Call& call, Draining what) {
  const auto gpus = static_cast<std::uint32_t>(api.daemon.machine().devices.list.size());
  const auto wish = parse_drain(call.exchange->take_body(), gpus);
  if (!wish) return denied(wish.error());
  return [&api, exchange = call.exchange, wish = *wish, what, gpus] {
    if (const std::string why = why_not_ours(api.daemon, wish.gpus); !why.empty()) {
      return refuse(exchange, 409, why);
    }
    std::optional<Drain> drain;
    if (what == Draining::Begin) {
      const UserId by(exchange->request().peer.user);
      drain = Drain{.until = wish.until,
                    .by = by,
                    .reason = wish.reason,
                    .shown = drained_as(api.names.of(by.value()), wish.until)};
    }
    std::vector<Input> inputs;
    const std::uint32_t count = wish.gpus ? static_cast<std::uint32_t>(wish.gpus->size()) : gpus;
    for (std::uint32_t i = 0; i < count; ++i) {
      const GpuId gpu(wish.gpus ? (*wish.gpus)[i] : i);
      if (api.daemon.not_given_by(gpu).empty()) inputs.emplace_back(Drained{gpu, drain});
    }
    ask(api, exchange, std::move(inputs),
        [&api, who = api.viewer(exchange)] { return answer_of(api.daemon.presenter().gpus(who)); });
  };
}

http::Response reserved(Api& api, ReservationId id, const Reservation& made) {
  const ClusterView view = api.view();
  const auto found = view.calendar().find(id);
  if (found == view.calendar().end() || found->second != made) {
    return {.status = 409, .body = http::error_body("another was made meanwhile; ask again")};
  }
  Json json = all_reservations(api);
  json["id"] = id.value();
  json["in_the_way"] = in_the_way(made, view, api.names);
  return answer_of(json);
}

/// `made` has what is known before its turn.
void make_reservation(Api& api, const Exchange& exchange, const ReservationWish& wish,
                      Reservation made) {
  const ClusterView view = api.view();
  const Instant now = api.daemon.now();
  if (const std::string why = why_not_ours(api.daemon, wish.gpus); !why.empty()) {
    return refuse(exchange, 409, why);
  }
  std::erase_if(made.gpus, [&](GpuId gpu) { return !api.daemon.not_given_by(gpu).empty(); });
  if (made.gpus.empty()) return refuse(exchange, 409, "gpus: berthd was given none");
  made.from = std::max(wish.from.value_or(now), now);
  if (made.until <= made.from) return refuse(exchange, 400, "until_at: is not after it begins");
  made.shown = shown_as(wish.users, made, now);
  if (const auto conflict = conflict_of(made, view); !conflict.empty()) {
    return refuse(exchange, 409, conflict);
  }
  const auto id = view.next_reservation();
  if (!id) {
    return refuse(exchange, 409,
                  "there are " + std::to_string(kMostReservations) +
                      " reservations already, which is the most");
  }
  ask(api, exchange, {Reserved{*id, made}},
      [&api, id = *id, made] { return reserved(api, id, made); });
}

}  // namespace

Reading metrics(Api& api, const Call& call) {
  return [&api, exchange = call.exchange] {
    const Json gpus = api.daemon.presenter().gpus(api.viewer(exchange));
    exchange->respond({.status = 200,
                       .body = open_metrics({.view = api.view(),
                                             .gpus = gpus,
                                             .policy = api.daemon.options().rules.policy,
                                             .turns = api.daemon.turns(),
                                             .is_unwritten = api.daemon.unwritten().has_value()},
                                            api.names),
                       .content_type = kOpenMetrics});
  };
}

Reading version(Api& api, const Call& call) {
  return [&api, exchange = call.exchange] {
    const Options& options = api.daemon.options();
    Json told = {{"version", BERTH_VERSION},
                 {"api", 1},
                 {"schema", journal::kSchema},
                 {"pid", ::getpid()},
                 {"user", ::geteuid()},
                 {"policy", options.rules.policy},
                 {"place", options.rules.place},
                 {"admission", word_for(api.view().settings().admission.mode)},
                 {"emulated", api.daemon.machine().emulated},
                 {"state_directory", options.state}};
    if (const Duration longest = api.daemon.longest_time(); longest != kForever) {
      told["longest_time_seconds"] = static_cast<double>(micros(longest)) / 1e6;
    }
    answer(exchange, told);
  };
}

Reading gpus(Api& api, const Call& call) {
  return [&api, exchange = call.exchange] {
    answer(exchange, api.daemon.presenter().gpus(api.viewer(exchange)));
  };
}

Reading doctor(Api& api, const Call& call) {
  return [&api, exchange = call.exchange] { answer(exchange, examine(api.daemon)); };
}

Reading usage(Api& api, const Call& call) {
  const auto since = query_number(call.exchange->request(), "since", std::uint64_t{1} << 40);
  if (!since) return denied(since.error());
  const Instant from = kStart + seconds(static_cast<std::int64_t>(since->value_or(0)));
  return [&api, exchange = call.exchange, from] {
    const auto sums = std::make_shared<UsageSums>(api.daemon.keeper(), from, api.daemon.now(),
                                                  largest_gpu(api.view().cluster()));
    const auto advance = [&api, sums] { return sums->advance(api.has_time()); };
    api.in_slices(exchange, advance, [&api, exchange, from, sums] {
      const auto name_of = [&api](UserId user) { return api.names.of(user.value()); };
      answer(exchange, {{"since", micros(from) / 1'000'000},
                        {"until", micros(api.daemon.now()) / 1'000'000},
                        {"groups", sums->take(name_of)}});
    });
  };
}

Reading interference(Api& api, const Call& call) {
  return [&api, exchange = call.exchange] {
    const auto rows = std::make_shared<InterferenceRows>(
        api.daemon.keeper(), api.viewer(exchange),
        [&api](UserId user) { return api.names.of(user.value()); });
    const auto advance = [&api, rows] { return rows->advance(api.has_time()); };
    api.in_slices(exchange, advance, [exchange, rows] { answer(exchange, rows->take()); });
  };
}

Reading drain(Api& api, const Call& call) { return begin_or_end_drain(api, call, Draining::Begin); }

Reading undrain(Api& api, const Call& call) { return begin_or_end_drain(api, call, Draining::End); }

Reading reservations(Api& api, const Call& call) {
  return [&api, exchange = call.exchange] { answer(exchange, all_reservations(api)); };
}

Reading reserve(Api& api, const Call& call) {
  const std::size_t gpus = api.daemon.machine().devices.list.size();
  const auto wish = parse_reserve(call.exchange->take_body(), gpus);
  if (!wish) return denied(wish.error());
  const auto users = users_named(wish->users);
  if (!users) return denied(users.error());
  if (gpus == 0) return denied({ErrorCode::InvalidArgument, "gpus: this machine has none"});
  Reservation made{.users = *users,
                   .until = wish->until,
                   .by = UserId(call.exchange->request().peer.user),
                   .reason = wish->reason};
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    const bool is_named = !wish->gpus || std::ranges::find(*wish->gpus, gpu) != wish->gpus->end();
    if (is_named) made.gpus.emplace_back(gpu);
  }
  return [&api, exchange = call.exchange, wish = *wish, made] {
    make_reservation(api, exchange, wish, made);
  };
}

Reading unreserve(Api& api, const Call& call) {
  const auto ids = parse_unreserve(call.exchange->take_body());
  if (!ids) return denied(ids.error());
  return [&api, exchange = call.exchange, ids = *ids] {
    std::vector<Input> inputs;
    for (const ReservationId id : ids) {
      if (!api.view().calendar().contains(id)) {
        return refuse(
            exchange, 404,
            "reservation " + std::to_string(id.value()) + ": there is none, or it is over");
      }
      inputs.emplace_back(Unreserved{id});
    }
    ask(api, exchange, std::move(inputs), [&api] { return answer_of(all_reservations(api)); });
  };
}

Reading reload(Api& api, const Call& call) {
  return [&api, exchange = call.exchange] {
    auto done = api.daemon.reload();
    if (!done) return refuse(exchange, done.error());
    const Json json = {{"at_next_start", done->at_next_start}, {"warnings", done->warnings}};
    if (done->inputs.empty()) return answer(exchange, json);
    ask(api, exchange, std::move(done->inputs), [json] { return answer_of(json); });
  };
}

}  // namespace berth::daemon::handlers
