#include "http/exchange.hpp"

#include <atomic>
#include <utility>

#include "http/connection.hpp"

namespace berth::http {

namespace {

class PendingExchange final : public Exchange {
 public:
  PendingExchange(std::shared_ptr<Connection> connection, Request request)
      : connection_(std::move(connection)), request_(std::move(request)) {}

  ~PendingExchange() override {
    if (!is_answered_) respond({.status = 500, .body = error_body("no answer was given")});
  }

  const Request& request() const override { return request_; }
  std::string take_body() override { return std::exchange(request_.body, {}); }

  void respond(Response response) override {
    if (is_answered_.exchange(true)) return;
    if (loop().is_here()) {
      connection_->answer(std::move(response));
      return;
    }
    loop().post([connection = connection_, answer = std::move(response)]() mutable {
      connection->answer(std::move(answer));
    });
  }

  std::shared_ptr<Stream> stream(const std::string& content_type) override {
    auto state = std::make_shared<StreamState>(connection_);
    const bool begins = !is_answered_.exchange(true) &&
                        loop().post([connection = connection_, state, content_type] {
                          connection->begin_stream(state, content_type);
                        });
    if (!begins) state->end();
    return handle_of(std::move(state));
  }

 private:
  Loop& loop() const { return connection_->loop(); }

  const std::shared_ptr<Connection> connection_;
  Request request_;
  std::atomic<bool> is_answered_ = false;
};

}  // namespace

std::shared_ptr<Exchange> make_exchange(std::shared_ptr<Connection> connection, Request request) {
  return std::make_shared<PendingExchange>(std::move(connection), std::move(request));
}

}  // namespace berth::http
