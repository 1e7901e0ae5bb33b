// The thread that talks to Slurm: polls what changed, and delivers orders one after the other.
//
// A controller that is away for long holds up this thread and nothing else. Orders are delivered in
// the order they were given in, each until Slurm has said yes or no.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "slurm/client.hpp"

namespace berth::slurm {

/// What changed in Slurm since the last news; the first has all.
struct News {
  std::vector<JobRecord> jobs;  ///< New or changed, ascending.
  std::vector<SlurmId> gone;    ///< That Slurm has forgotten.
  std::vector<NodeRecord> nodes;
};

class Courier {
 public:
  /// Runs a task on the thread that news and answers are for; from any thread.
  using Post = std::function<void(std::function<void()>)>;
  using Answer = std::function<void(const Expected<SlurmId>&)>;

  /// All there is, so that what follows is what changed. Waits for the controller. Errors: Io.
  static Expected<News> first_look(Client& client);

  /// The client that first_look() was given, and what that told.
  Courier(Client client, const News& known, Post post, std::function<void(News)> tell);
  ~Courier();  ///< What was not delivered is left out.

  void send(Order order, Answer answer);
  /// Why the controller does not answer; "" while it does. From any thread.
  std::string trouble() const;
  /// For how long it has answered in time, up to now; nothing while it does not. From any thread.
  Duration answers_for() const;

  /// Of the latest look in which Slurm told all its jobs.
  struct Cost {
    std::size_t jobs = 0;
    Duration all{0};
    Duration own{0};  ///< Of that, what this process computed.
  };
  Cost cost() const;  ///< From any thread.

 private:
  struct Errand {
    Order order;
    Answer answer;
  };

  void run();
  void deliver(Errand& errand);
  void look();
  void set_trouble(const std::string& text);
  void note_answer();
  void note_cost(const Cost& cost);
  std::chrono::milliseconds wait_for(std::chrono::steady_clock::duration cost) const;

  Client client_;
  Post post_;
  std::function<void(News)> tell_;
  std::map<std::string, NodeRecord> nodes_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Errand> errands_;
  bool stopping_ = false;
  std::string trouble_;
  Cost cost_;
  std::chrono::steady_clock::time_point answers_since_;
  std::chrono::steady_clock::time_point answered_at_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace berth::slurm
