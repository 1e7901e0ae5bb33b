// The HTTP API: routes and rights. doc/openapi.yaml is its contract.
//
// Requests are read on the server's thread, those with large bodies on one of their own
// (body_reader.hpp); whatever looks at the engine happens on the daemon's.
#pragma once

#include <memory>

#include "daemon/daemon.hpp"
#include "http/server.hpp"

namespace berth::daemon {

/// Answers one request. For http::Server::open; the daemon must outlive the server.
http::Handler make_api(Daemon& daemon);

}  // namespace berth::daemon
