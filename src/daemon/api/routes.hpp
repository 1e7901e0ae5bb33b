// The routes of the HTTP API as one table: a method and a path, who may, where the work is done,
// and by what. doc/openapi.yaml describes the same routes; a test compares them.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/handle.hpp"
#include "daemon/requests/job_changes.hpp"
#include "daemon/settings/roles.hpp"
#include "http/server.hpp"

namespace berth::daemon {

struct Api;
struct Route;

using Exchange = std::shared_ptr<http::Exchange>;

/// The rights that a peer needs for a route, and with it for jobs of others.
struct Who {
  Rights always = Rights::User;
  Rights on_others = Rights::User;
};

/// The part of a turn of the engine's thread in which the work is done (loop.hpp).
enum class Part : std::uint8_t {
  Request,
  Slice,  ///< What takes a millisecond or more, and is no hurry.
};

/// A request, and what it names.
struct Call {
  Exchange exchange;
  const Route& route;
  std::vector<Handle> handles;  ///< What stands for `{id}` in the path.
};

/// What is left to do on the engine's thread, or why the request is refused.
using Reading = std::expected<std::function<void()>, Denial>;

struct Route {
  std::string_view method;  ///< GET is HEAD, too.
  std::string_view path;    ///< `{id}` stands for handles.
  Who who;
  Part part;
  /// Reads a request on the thread that has it: the server's, or that of large bodies.
  Reading (*read)(Api&, const Call&);
};

std::span<const Route> routes();

struct RouteFound {
  const Route* route = nullptr;   ///< Null if there is none.
  std::optional<std::string> id;  ///< What stands for `{id}`.
  std::string allow = {};         ///< Of a path that has none by this method: those it has.
};
RouteFound find_route(std::string_view method, std::string_view path);

}  // namespace berth::daemon
