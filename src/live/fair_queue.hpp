// Requests of users, taken one user after the other: a user with a thousand requests waits for all
// of them and delays other users by one.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace berth::live {

template <class T>
class FairQueue {
 public:
  bool empty() const { return turns_.empty(); }
  /// How much this user waits for.
  std::size_t size_of(uid_t user) const {
    const auto of_user = waiting_.find(user);
    return of_user == waiting_.end() ? 0 : of_user->second.size();
  }

  /// Behind what this user waits for already.
  void push(uid_t user, T value) { queue_of(user).push_back(std::move(value)); }
  /// Before it: what was taken and is not done.
  void push_again(uid_t user, T value) { queue_of(user).push_front(std::move(value)); }

  /// What pop() takes; null if there is nothing. Good until the queue changes.
  const T* next() const {
    return turns_.empty() ? nullptr : &waiting_.find(turns_.front())->second.front();
  }
  template <class Is>
  bool any_of(Is is) const {
    return std::ranges::any_of(
        waiting_, [&](const auto& of_user) { return std::ranges::any_of(of_user.second, is); });
  }
  /// Takes these out, whose turn it is or not.
  template <class Is>
  std::vector<T> take_if(Is is) {
    std::vector<T> taken;
    for (auto& [user, queue] : waiting_) {
      std::erase_if(queue, [&](T& value) {
        if (!is(std::as_const(value))) return false;
        taken.push_back(std::move(value));
        return true;
      });
    }
    std::erase_if(turns_, [&](uid_t user) { return waiting_.find(user)->second.empty(); });
    std::erase_if(waiting_, [](const auto& of_user) { return of_user.second.empty(); });
    return taken;
  }

  /// The oldest request of the user whose turn it is; the next call serves another user.
  std::optional<std::pair<uid_t, T>> pop() {
    if (turns_.empty()) return std::nullopt;
    const uid_t user = turns_.front();
    turns_.pop_front();
    const auto of_user = waiting_.find(user);
    std::optional<std::pair<uid_t, T>> first(std::in_place, user,
                                             std::move(of_user->second.front()));
    of_user->second.pop_front();
    if (of_user->second.empty()) {
      waiting_.erase(of_user);
    } else {
      turns_.push_back(user);
    }
    return first;
  }

 private:
  std::deque<T>& queue_of(uid_t user) {
    const auto [of_user, is_new] = waiting_.try_emplace(user);
    if (is_new) turns_.push_back(user);
    return of_user->second;
  }

  std::map<uid_t, std::deque<T>> waiting_;  ///< By user with waiting requests.
  std::deque<uid_t> turns_;                 ///< The same users; the next one first.
};

}  // namespace berth::live
