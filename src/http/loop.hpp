// The server's thread: its events, its connections and how long each may keep it waiting.
//
// Shared by the server and every unanswered Exchange, so that an answer that comes after the server
// has gone finds a closed door and not freed memory.
#pragma once

#include <utility>  // Boost 1.74 needs it and does not include it.
// Not above it.
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "http/server.hpp"

namespace berth::http {

class Connection;

/// What a connection is waited for, and so for how long.
enum class Patience { Endless, Idle, Request };

/// A connection's place among those that are waited for alike.
struct Place {
  Patience patience = Patience::Endless;
  std::chrono::steady_clock::time_point until;
  std::list<std::shared_ptr<Connection>>::iterator at;
};

class Loop {
 public:
  Loop(const Limits& limits, Handler handler);

  // From any thread.

  /// Runs `task` on the loop's thread, after those posted before. Returns: false if the loop has
  /// ended; the task is then dropped.
  bool post(std::function<void()> task);
  bool is_here() { return io.get_executor().running_in_this_thread(); }

  // On the loop's thread only.

  /// Serves until close().
  void run();
  /// Takes no more tasks and closes every connection; run() returns once all have ended.
  void close();

  /// Where all places are taken, and this user has clearly fewer than the one with most, that one
  /// loses the connection that has been idle for longest; root's are left alone, and root always
  /// gets one. Returns: why another connection of this user is refused; nothing if it is not.
  std::optional<std::string> make_room(uid_t user);
  void enter(std::shared_ptr<Connection> connection);
  /// From now on it has `patience`, until its expire() is called.
  void wait(Place& place, Patience patience);
  void leave(const Place& place, uid_t user);
  /// More bytes of a request that is not answered yet, or of an answer that is not sent. Returns:
  /// false if that is more than one user may have here.
  bool hold(uid_t user, std::size_t bytes);
  void let_go(uid_t user, std::size_t bytes) { of_user_[user].held -= bytes; }

  const Limits limits;
  const Handler handler;
  boost::asio::io_context io{1};
  /// What every connection reads into: one reads at a time.
  std::array<char, 64 * 1024> scratch;

 private:
  std::size_t connections_of(uid_t user) const;
  /// The user with most, but for root; nothing if there is none.
  std::optional<uid_t> greediest() const;
  void close_idlest(uid_t user);
  std::list<std::shared_ptr<Connection>>& list(Patience patience) {
    return lists_[static_cast<std::size_t>(patience)];
  }
  void arm(std::chrono::steady_clock::time_point at);
  void expire();

  std::mutex mutex_;  ///< Over is_open_, and over posting, which must not come after the end.
  bool is_open_ = true;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io.get_executor()};
  /// By patience. All of one list wait equally long, so each is in the order of its ends.
  std::array<std::list<std::shared_ptr<Connection>>, 3> lists_;
  struct OfUser {
    std::size_t connections = 0;
    std::size_t held = 0;  ///< Bytes of requests without an answer, and of answers.
  };
  std::map<uid_t, OfUser> of_user_;  ///< Of those with a connection.
  boost::asio::steady_timer timer_{io};
  std::chrono::steady_clock::time_point armed_ = std::chrono::steady_clock::time_point::max();
};

}  // namespace berth::http
