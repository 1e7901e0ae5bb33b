// A request on its way to the handler and its answer on the way back.
#pragma once

#include <memory>

#include "http/server.hpp"

namespace berth::http {

class Connection;

std::shared_ptr<Exchange> make_exchange(std::shared_ptr<Connection> connection, Request request);

}  // namespace berth::http
