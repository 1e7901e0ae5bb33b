#include "http/parser.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/assert.hpp"
#include "http/beast.hpp"

namespace berth::http {

namespace {

namespace beast = boost::beast;
using beast::http::field;
using ErrorFlag = beast::error_code;

constexpr std::size_t kBodyReserve = 64 * 1024;      // what a promise of more is believed
constexpr std::size_t kResponseHeader = 256 * 1024;  // our own server sends far less

std::string_view plain(beast::string_view text) { return {text.data(), text.size()}; }

bool same_word(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, {}, [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
}

enum class Kind : bool { Response, Request };

/// Beast asks for a function for each of its events; this has those that need nothing done.
template <Kind kind>
class Events : public beast::http::basic_parser<kind == Kind::Request> {
 private:
  void on_request_impl(beast::http::verb, beast::string_view, beast::string_view, int,
                       ErrorFlag&) override {}
  void on_response_impl(int, beast::string_view, int, ErrorFlag&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorFlag&) override {}
  void on_chunk_header_impl(std::uint64_t, beast::string_view, ErrorFlag&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view bytes,
                                 ErrorFlag& error) override {
    return this->on_body_impl(bytes, error);
  }
  void on_finish_impl(ErrorFlag&) override {}
};

/// Makes a Request of them.
class RequestEvents final : public Events<Kind::Request> {
 public:
  explicit RequestEvents(const Limits& limits) : limits_(limits) {
    header_limit(static_cast<std::uint32_t>(
        std::min<std::size_t>(limits.header, std::numeric_limits<std::int32_t>::max())));
    body_limit(limits.body);
    eager(true);
  }

  Request request;
  std::optional<Fault> fault;
  bool wants_continue = false;
  bool is_http10 = false;

 private:
  void refuse(int status, std::string message, ErrorFlag& error) {
    if (!fault) fault = Fault{status, std::move(message)};
    error = beast::http::error::bad_value;
  }

  /// Beast holds the request line and the fields to the limit one by one.
  void count(std::size_t bytes, ErrorFlag& error) {
    header_bytes_ += bytes;
    if (header_bytes_ > limits_.header) error = beast::http::error::header_limit;
  }

  void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target,
                       int version, ErrorFlag& error) override {
    request.method = plain(method);
    is_http10 = version == 10;
    if (auto parsed = read_target(plain(target), request); !parsed) {
      refuse(parsed.error().status, std::move(parsed.error().message), error);
    }
    count(method.size() + target.size(), error);
  }

  void on_field_impl(field name, beast::string_view text, beast::string_view value,
                     ErrorFlag& error) override {
    count(text.size() + value.size() + 4, error);
    if (!header_read_ && !error) use_field(name, plain(value), error);
  }

  void use_field(field name, std::string_view value, ErrorFlag& error) {
    if (name == field::host) {
      if (std::exchange(has_host_, true)) refuse(400, "two Host fields", error);
    } else if (name == field::content_type) {
      request.content_type = value;
    } else if (name == field::expect) {
      wants_continue = same_word(value, "100-continue");
    } else if (name == field::transfer_encoding && !same_word(value, "chunked")) {
      // Beast would read such a body as the next request.
      refuse(400, "Transfer-Encoding '" + std::string(value) + "', only chunked is known", error);
    }
  }

  void on_header_impl(ErrorFlag& error) override {
    header_read_ = true;
    if (!has_host_ && !is_http10) refuse(400, "no Host field", error);
    if (chunked() && is_http10) refuse(400, "chunked is not part of HTTP/1.0", error);
    wants_continue = wants_continue && !is_http10;
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>& length, ErrorFlag&) override {
    if (length) request.body.reserve(std::min<std::size_t>(*length, kBodyReserve));
  }

  std::size_t on_body_impl(beast::string_view bytes, ErrorFlag&) override {
    request.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  const Limits& limits_;
  std::size_t header_bytes_ = 0;
  bool has_host_ = false;
  bool header_read_ = false;
};

Fault header_fault(const Limits& limits) {
  return {431, "the header is larger than " + std::to_string(limits.header) + " bytes"};
}

Fault fault_of(const RequestEvents& events, const ErrorFlag& error, const Limits& limits) {
  if (events.fault) return *events.fault;
  if (error == beast::http::error::header_limit) return header_fault(limits);
  if (error == beast::http::error::body_limit) {
    return {413, "the body is larger than " + std::to_string(limits.body) + " bytes"};
  }
  return {400, "no HTTP/1.1 request: " + error.message()};
}

/// RFC 9112, 2.2: an empty line before a request is to be ignored.
std::size_t empty_lines(std::string_view bytes) {
  std::size_t used = 0;
  while (bytes.substr(used).starts_with("\r\n")) used += 2;
  return used;
}

}  // namespace

struct RequestParser::State {
  explicit State(const Limits& of_server) : limits(of_server) { events.emplace(limits); }

  const Limits& limits;
  std::optional<RequestEvents> events;
};

RequestParser::RequestParser(const Limits& limits) : state_(std::make_unique<State>(limits)) {}
RequestParser::RequestParser(RequestParser&&) noexcept = default;
RequestParser& RequestParser::operator=(RequestParser&&) noexcept = default;
RequestParser::~RequestParser() = default;

std::expected<std::size_t, Fault> RequestParser::feed(std::string_view bytes) {
  RequestEvents& events = *state_->events;
  BERTH_ASSERT(!events.is_done());
  const std::size_t skipped = events.got_some() ? 0 : empty_lines(bytes);
  bytes.remove_prefix(skipped);
  if (bytes.empty() || bytes == "\r") return skipped;
  ErrorFlag error;
  const std::size_t used = events.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  const bool needs_more = error == beast::http::error::need_more;
  if (error && !needs_more) return std::unexpected(fault_of(events, error, state_->limits));
  // Beast has no limit on what stands between chunks.
  const bool hoards = needs_more && bytes.size() - used > state_->limits.header;
  if (hoards) return std::unexpected(header_fault(state_->limits));
  return skipped + used;
}

bool RequestParser::is_done() const { return state_->events->is_done(); }

bool RequestParser::take_continue() {
  RequestEvents& events = *state_->events;
  if (!events.got_some() || !events.is_header_done() || events.is_done()) return false;
  return std::exchange(events.wants_continue, false);
}

KeepAlive RequestParser::keep_alive() const {
  const RequestEvents& events = *state_->events;
  if (!events.is_done() || !events.keep_alive()) return KeepAlive::No;
  return events.is_http10 ? KeepAlive::AsAsked : KeepAlive::Yes;
}

bool RequestParser::is_http10() const { return state_->events->is_http10; }

Request RequestParser::take() {
  BERTH_ASSERT(is_done());
  Request request = std::move(state_->events->request);
  state_->events.emplace(state_->limits);
  return request;
}

// ---- Answers ---------------------------------------------------------------------------------

namespace {

class ResponseEvents final : public Events<Kind::Response> {
 public:
  explicit ResponseEvents(ResponseParser::Body body) {
    header_limit(kResponseHeader);
    // "No limit" would compare as less than any length in Boost 1.74.
    body_limit(std::numeric_limits<std::uint64_t>::max());
    eager(true);
    if (body == ResponseParser::Body::None) skip(true);
  }

  int status = 0;
  std::string content_type;
  const ResponseParser::Piece* piece = nullptr;

 private:
  void on_response_impl(int code, beast::string_view, int, ErrorFlag&) override { code_ = code; }

  void on_field_impl(field name, beast::string_view, beast::string_view value,
                     ErrorFlag&) override {
    if (name == field::content_type && status == 0) content_type = plain(value);
  }

  void on_header_impl(ErrorFlag&) override { status = code_; }

  std::size_t on_body_impl(beast::string_view bytes, ErrorFlag&) override {
    if (!bytes.empty()) (*piece)(plain(bytes));
    return bytes.size();
  }

  int code_ = 0;
};

}  // namespace

struct ResponseParser::State {
  explicit State(Body of_answer) : body(of_answer) { events.emplace(body); }

  Body body;
  std::optional<ResponseEvents> events;
};

ResponseParser::ResponseParser(Body body) : state_(std::make_unique<State>(body)) {}
ResponseParser::~ResponseParser() = default;

Expected<std::size_t> ResponseParser::feed(std::string_view bytes, const Piece& piece) {
  std::size_t used = 0;
  while (used < bytes.size() && !is_done()) {
    ResponseEvents& events = *state_->events;
    events.piece = &piece;
    ErrorFlag error;
    used += events.put(boost::asio::buffer(bytes.data() + used, bytes.size() - used), error);
    if (error == beast::http::error::need_more) break;
    if (error) return fail(ErrorCode::BadData, "no HTTP/1.1 answer: " + error.message());
    const bool is_interim = events.is_done() && events.status / 100 == 1;
    if (is_interim) state_->events.emplace(state_->body);
  }
  return used;
}

Expected<void> ResponseParser::end() {
  ErrorFlag error = beast::http::error::partial_message;
  if (is_done()) return {};
  if (state_->events->got_some()) state_->events->put_eof(error);
  if (!error) return {};
  return fail(ErrorCode::Io, "the peer went away before the end of its answer");
}

bool ResponseParser::is_done() const { return state_->events->is_done(); }
bool ResponseParser::keep_alive() const { return state_->events->keep_alive(); }
int ResponseParser::status() const { return state_->events->status; }
const std::string& ResponseParser::content_type() const { return state_->events->content_type; }

}  // namespace berth::http
