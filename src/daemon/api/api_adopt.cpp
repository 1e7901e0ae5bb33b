// POST /v1/adopt: a process that its user started by hand becomes a job.
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/api/api_handlers.hpp"
#include "daemon/requests/adoption.hpp"

namespace berth::daemon::handlers {

namespace {

Json charges_json(const std::vector<AdoptedShare>& shares) {
  Json list = Json::array();
  for (const AdoptedShare& share : shares) {
    list.push_back({{"gpu", share.gpu.value()},
                    {"held_bytes", share.held.raw()},
                    {"charge_bytes", share.charge.raw()}});
  }
  return list;
}

/// What became of it in the step: what was promised meanwhile may have taken its room.
http::Response adopted(Api& api, JobId id, const Json& charges) {
  Json json = api.daemon.presenter().brief(id);
  if (api.view().knows(id)) {
    json["charges"] = charges;
    return {.status = 201, .body = to_body(json)};
  }
  const auto row = api.daemon.keeper().store().job(id);
  const bool is_told = row && *row && (*row)->end;
  return {.status = 409,
          .body = http::error_body(is_told ? (*row)->end->note
                                           : api.changes.name_of(id) + ": was not adopted")};
}

void adopt_process(Api& api, const Exchange& exchange, const AdoptWish& wish) {
  if (api.is_adopting) {
    return refuse(exchange, 409, "another process is being adopted now; ask again");
  }
  auto job =
      admit_adoption({.wish = wish,
                      .peer = exchange->request().peer.user,
                      .rights = api.rights(exchange),
                      .user_text = [&api](uid_t user) { return api.changes.user_text(user); }},
                     api.daemon);
  if (!job) return refuse(exchange, job.error());
  const auto taken = api.daemon.user_totals().take(api.daemon.keeper(), *job);
  if (!taken) return refuse(exchange, 429, taken.error().message);
  api.is_adopting = true;
  const Json charges = charges_json(job->adopted);
  api.daemon.ask({.submission = std::move(*job),
                  .inputs = {},
                  .exchange = exchange,
                  .answer =
                      [&api, charges](JobId id) {
                        api.is_adopting = false;
                        return adopted(api, id, charges);
                      },
                  .fail = [&api] { api.is_adopting = false; }});
}

}  // namespace

Reading adopt(Api& api, const Call& call) {
  if (const auto denial = why_not_served(api, call.exchange->request().peer)) {
    return std::unexpected(*denial);
  }
  const auto wish = parse_adopt(call.exchange->take_body());
  if (!wish) return denied(wish.error());
  return [&api, exchange = call.exchange, wish = *wish] { adopt_process(api, exchange, wish); };
}

}  // namespace berth::daemon::handlers
