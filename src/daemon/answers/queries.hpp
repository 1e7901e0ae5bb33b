// The parameters of a request's query, checked; pure functions of it.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/error.hpp"
#include "daemon/answers/listing.hpp"
#include "daemon/answers/selection.hpp"
#include "http/server.hpp"

namespace berth::daemon {

/// `true`, `1` or nothing behind the key; absent is false. Errors: InvalidArgument naming it.
Expected<bool> query_flag(const http::Request& request, const char* key);

/// Decimal digits; nothing if the key is absent. Errors: InvalidArgument naming key, text and
/// limit.
Expected<std::optional<std::uint64_t>> query_number(const http::Request& request, const char* key,
                                                    std::uint64_t most);

/// GET /v1/jobs. Errors: InvalidArgument as above, and for keys that exclude each other.
Expected<Page> parse_page(const http::Request& request);

/// The `jobs` (handles) and `user`s of GET /v1/jobs, each as often as they are there; with `all`
/// also jobs that have ended. Errors: as parse_handles(), and InvalidArgument as above.
Expected<Wanted> parse_wanted(const http::Request& request);

}  // namespace berth::daemon
