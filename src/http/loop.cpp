#include "http/loop.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "http/connection.hpp"

namespace berth::http {

namespace {

using Clock = std::chrono::steady_clock;

/// Bounded, so that "for ever" can be added to a time.
Clock::duration bounded(Duration duration) {
  return std::clamp<Duration>(duration, Duration::zero(), hours(24 * 366));
}

}  // namespace

Loop::Loop(const Limits& of_server, Handler of_requests)
    : limits(of_server), handler(std::move(of_requests)) {}

bool Loop::post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (is_open_) boost::asio::post(io, std::move(task));
  return is_open_;
}

void Loop::run() { io.run(); }

void Loop::close() {
  {
    const std::lock_guard lock(mutex_);
    is_open_ = false;
  }
  for (auto& list : lists_) {
    while (!list.empty()) std::shared_ptr(list.front())->close();
  }
  timer_.cancel();
  work_.reset();
}

std::size_t Loop::connections_of(uid_t user) const {
  const auto of_user = of_user_.find(user);
  return of_user == of_user_.end() ? 0 : of_user->second.connections;
}

std::optional<uid_t> Loop::greediest() const {
  std::optional<uid_t> found;
  for (const auto& [user, has] : of_user_) {
    if (user != 0 && (!found || has.connections > connections_of(*found))) found = user;
  }
  return found;
}

/// What waits for its next request is missed least, then what sends one, then what is answered.
void Loop::close_idlest(uid_t user) {
  for (const Patience patience : {Patience::Idle, Patience::Request, Patience::Endless}) {
    for (const auto& connection : list(patience)) {
      if (connection->user() == user) return std::shared_ptr(connection)->close();
    }
  }
}

std::optional<std::string> Loop::make_room(uid_t user) {
  const std::size_t own = connections_of(user);
  if (own >= limits.per_user) {
    return "uid " + std::to_string(user) + " has " + std::to_string(limits.per_user) +
           " connections, which is the limit for one user; close some";
  }
  const std::size_t all = lists_[0].size() + lists_[1].size() + lists_[2].size();
  if (all < limits.connections) return std::nullopt;
  const auto most = greediest();
  const bool may_push = most && (user == 0 || own + 1 < connections_of(*most));
  if (!may_push) {
    return "there are " + std::to_string(limits.connections) +
           " connections, which is the limit; try again";
  }
  close_idlest(*most);
  return std::nullopt;
}

void Loop::enter(std::shared_ptr<Connection> connection) {
  Connection& entered = *connection;
  ++of_user_[entered.user()].connections;
  auto& endless = list(Patience::Endless);
  entered.place = {.at = endless.insert(endless.end(), std::move(connection))};
  entered.start();
}

void Loop::wait(Place& place, Patience patience) {
  auto& to = list(patience);
  to.splice(to.end(), list(place.patience), place.at);
  place.patience = patience;
  if (patience == Patience::Endless) return;
  place.until = Clock::now() + bounded(patience == Patience::Idle ? limits.idle : limits.request);
  if (place.until < armed_) arm(place.until);
}

void Loop::leave(const Place& place, uid_t user) {
  list(place.patience).erase(place.at);
  if (--of_user_[user].connections == 0) of_user_.erase(user);
}

bool Loop::hold(uid_t user, std::size_t bytes) {
  return (of_user_[user].held += bytes) <= limits.unanswered;
}

void Loop::arm(Clock::time_point at) {
  armed_ = at;
  timer_.expires_at(at);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) expire();
  });
}

void Loop::expire() {
  const auto now = Clock::now();
  armed_ = Clock::time_point::max();
  for (const Patience patience : {Patience::Idle, Patience::Request}) {
    auto& waiting = list(patience);
    while (!waiting.empty() && waiting.front()->place.until <= now) {
      std::shared_ptr(waiting.front())->expire();
    }
    if (!waiting.empty() && waiting.front()->place.until < armed_) {
      arm(waiting.front()->place.until);
    }
  }
}

}  // namespace berth::http
