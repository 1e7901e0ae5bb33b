#include "cli/fake_daemon.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "cli/program.hpp"

namespace berth::test {

void FakeDaemon::start() {
  auto opened = http::Server::open(
      {.path = socket()}, [this](std::shared_ptr<http::Exchange> exchange) { handle(exchange); });
  ASSERT_TRUE(opened) << opened.error().message;
  server_ = std::move(*opened);
}

void FakeDaemon::stop() {
  server_.reset();
  const std::lock_guard lock(mutex_);
  for (auto& [route, streams] : streams_) streams.clear();
}

void FakeDaemon::answer(const std::string& route, std::vector<http::Response> responses) {
  const std::lock_guard lock(mutex_);
  answers_[route].assign(responses.begin(), responses.end());
}

void FakeDaemon::answer_in_pieces(const std::string& route) {
  const std::lock_guard lock(mutex_);
  streams_[route];
}

void FakeDaemon::forget_pieces(const std::string& route) {
  const std::lock_guard lock(mutex_);
  streams_.erase(route);
}

void FakeDaemon::handle(const std::shared_ptr<http::Exchange>& exchange) {
  const std::lock_guard lock(mutex_);
  const http::Request& request = exchange->request();
  const std::string route = request.method + " " + request.path;
  requests_[route].push_back(request);
  if (const auto pieces = streams_.find(route); pieces != streams_.end()) {
    pieces->second.push_back(exchange->stream("text/event-stream"));
  } else if (const auto canned = answers_.find(route); canned != answers_.end()) {
    exchange->respond(canned->second.front());
    if (canned->second.size() > 1) canned->second.pop_front();
  } else {
    exchange->respond({.status = 404, .body = http::error_body(request.path + ": no such job")});
  }
  came_.notify_all();
}

http::Request FakeDaemon::take(const std::string& route) {
  std::unique_lock lock(mutex_);
  const auto there = [&] { return !requests_[route].empty(); };
  if (!came_.wait_for(lock, kPatience, there)) {
    ADD_FAILURE() << "nobody asked " << route;
    return {};
  }
  http::Request request = std::move(requests_[route].front());
  requests_[route].pop_front();
  return request;
}

std::shared_ptr<http::Stream> FakeDaemon::take_stream(const std::string& route) {
  std::unique_lock lock(mutex_);
  const auto there = [&] { return !streams_[route].empty(); };
  if (!came_.wait_for(lock, kPatience, there)) {
    ADD_FAILURE() << "nobody asked " << route;
    return nullptr;
  }
  auto stream = std::move(streams_[route].front());
  streams_[route].pop_front();
  return stream;
}

std::string job_event(const std::string& json) { return "event: job\ndata: " + json + "\n\n"; }

}  // namespace berth::test
