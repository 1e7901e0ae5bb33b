#include "daemon/api/routes.hpp"

#include <algorithm>
#include <array>

#include "daemon/api/api_handlers.hpp"

namespace berth::daemon {

namespace {

constexpr std::string_view kId = "{id}";

constexpr Who kAnyone{};
constexpr Who kOwnerOrOperator{.on_others = Rights::Operator};
constexpr Who kOwnerOrAdmin{.on_others = Rights::Admin};
constexpr Who kOperator{.always = Rights::Operator};
constexpr Who kAdmin{.always = Rights::Admin};

constexpr auto kRoutes = std::to_array<Route>({
    {"GET", "/metrics", kAnyone, Part::Slice, handlers::metrics},
    {"GET", "/v1/version", kAnyone, Part::Slice, handlers::version},
    {"GET", "/v1/gpus", kAnyone, Part::Slice, handlers::gpus},
    {"GET", "/v1/doctor", kAnyone, Part::Slice, handlers::doctor},
    {"GET", "/v1/usage", kAnyone, Part::Slice, handlers::usage},
    {"GET", "/v1/interference", kAnyone, Part::Slice, handlers::interference},
    {"POST", "/v1/reload", kAdmin, Part::Request, handlers::reload},

    {"POST", "/v1/drain", kOperator, Part::Request, handlers::drain},
    {"POST", "/v1/undrain", kOperator, Part::Request, handlers::undrain},
    {"GET", "/v1/reservations", kAnyone, Part::Slice, handlers::reservations},
    {"POST", "/v1/reserve", kOperator, Part::Request, handlers::reserve},
    {"POST", "/v1/unreserve", kOperator, Part::Request, handlers::unreserve},

    {"POST", "/v1/jobs", kAnyone, Part::Request, handlers::submit},
    {"GET", "/v1/jobs", kAnyone, Part::Slice, handlers::list},
    // An administrator also those of others, as the answer says.
    {"POST", "/v1/adopt", kAnyone, Part::Request, handlers::adopt},
    {"GET", "/v1/events", kAnyone, Part::Request, handlers::events},
    {"GET", "/v1/starts", kAnyone, Part::Slice, handlers::starts},
    {"POST", "/v1/cancel", kOwnerOrOperator, Part::Request, handlers::change_many},
    {"POST", "/v1/hold", kOwnerOrOperator, Part::Request, handlers::change_many},
    {"POST", "/v1/release", kOwnerOrOperator, Part::Request, handlers::change_many},
    {"POST", "/v1/suspend", kOwnerOrOperator, Part::Request, handlers::change_many},
    {"POST", "/v1/resume", kOwnerOrOperator, Part::Request, handlers::change_many},
    {"POST", "/v1/update", kOwnerOrOperator, Part::Request, handlers::change_many},

    {"GET", "/v1/jobs/{id}", kAnyone, Part::Request, handlers::show},
    {"GET", "/v1/jobs/{id}/why", kAnyone, Part::Request, handlers::why},
    {"GET", "/v1/jobs/{id}/log", kOwnerOrAdmin, Part::Request, handlers::log},
    {"POST", "/v1/jobs/{id}/cancel", kOwnerOrOperator, Part::Request, handlers::change_named},
    {"POST", "/v1/jobs/{id}/hold", kOwnerOrOperator, Part::Request, handlers::change_named},
    {"POST", "/v1/jobs/{id}/release", kOwnerOrOperator, Part::Request, handlers::change_named},
    {"POST", "/v1/jobs/{id}/suspend", kOwnerOrOperator, Part::Request, handlers::change_named},
    {"POST", "/v1/jobs/{id}/resume", kOwnerOrOperator, Part::Request, handlers::change_named},
    {"POST", "/v1/jobs/{id}/update", kOwnerOrOperator, Part::Request, handlers::change_named},
    {"POST", "/v1/jobs/{id}/again", kOwnerOrOperator, Part::Request, handlers::again},
    {"POST", "/v1/jobs/{id}/leave", kOwnerOrAdmin, Part::Request, handlers::leave},
    // Not an administrator either, as the answer says.
    {"POST", "/v1/jobs/{id}/attach", kOwnerOrAdmin, Part::Request, handlers::attach},
});

/// Whether a path is of this pattern, and what stands for `{id}`: all up to the next slash.
bool is_of(std::string_view path, std::string_view pattern, std::optional<std::string>& id) {
  const std::size_t at = pattern.find(kId);
  if (at == pattern.npos) return path == pattern;
  if (!path.starts_with(pattern.substr(0, at))) return false;
  const std::string_view rest = path.substr(at);
  const std::size_t end = std::min(rest.find('/'), rest.size());
  const std::string_view verb = pattern.substr(at + kId.size());
  id = rest.substr(0, end);
  return rest.substr(end) == verb || (verb.empty() && rest.substr(end) == "/");
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

RouteFound find_route(std::string_view method, std::string_view path) {
  RouteFound found;
  for (const Route& route : kRoutes) {
    std::optional<std::string> id;
    if (!is_of(path, route.path, id)) continue;
    const bool is_get = route.method == "GET";
    if (route.method == method || (is_get && method == "HEAD")) {
      return {.route = &route, .id = std::move(id)};
    }
    found.allow += (found.allow.empty() ? "" : ", ") + std::string(route.method);
    if (is_get) found.allow += ", HEAD";
  }
  return found;
}

}  // namespace berth::daemon
