#include "scale/followers.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <string_view>

#include "live/queues.hpp"

namespace berth::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kHappenings = 50;
constexpr int kSubmits = 100;
constexpr int kPatience = 30'000;  ///< Milliseconds without anything for anybody.
/// Stands once in every line and every event, and in no header.
constexpr char kMark = '~';

std::unexpected<Error> system_error(const std::string& what) {
  return fail(ErrorCode::Io, what + ": " + std::strerror(errno));
}

/// Connections that wait for marks.
class Followers {
 public:
  Followers() : events_(epoll_create1(EPOLL_CLOEXEC)) {}
  ~Followers() {
    for (const Follower& follower : all_) close(follower.socket);
    close(events_);
  }
  Followers(const Followers&) = delete;
  Followers& operator=(const Followers&) = delete;

  Expected<void> add(const std::string& path, const std::string& target) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), std::min(path.size(), sizeof address.sun_path - 1));
    const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made < 0) return system_error("socket");
    Follower& follower = all_.emplace_back(made);
    const auto* const at = reinterpret_cast<const sockaddr*>(&address);
    if (connect(made, at, sizeof address) != 0) return system_error(path);
    const std::string request = "GET " + target + " HTTP/1.1\r\nHost: berth\r\n\r\n";
    if (send(made, request.data(), request.size(), MSG_NOSIGNAL) < 0) return system_error(path);
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.ptr = &follower;
    if (epoll_ctl(events_, EPOLL_CTL_ADD, made, &event) == 0) return {};
    return system_error("epoll_ctl");
  }

  /// Until everybody has been answered: from then on they hear what happens.
  Expected<void> wait_for_answers() {
    for (const Follower& follower : all_) {
      pollfd answer{follower.socket, POLLIN, 0};
      if (poll(&answer, 1, kPatience) <= 0) return fail(ErrorCode::Io, "a follower has no answer");
    }
    return {};
  }

  /// Until everybody has so many marks in all. Returns: milliseconds from `from` on, of each one.
  /// Errors: Conflict if anybody has more.
  Expected<std::vector<double>> wait_for(int marks, Clock::time_point from) {
    std::vector<double> took;
    while (took.size() < all_.size()) {
      std::array<epoll_event, 256> ready;
      const int count = epoll_wait(events_, ready.data(), ready.size(), kPatience);
      if (count <= 0) return fail(ErrorCode::Io, "followers hear nothing");
      for (int i = 0; i < count; ++i) {
        auto& follower = *static_cast<Follower*>(ready[static_cast<std::size_t>(i)].data.ptr);
        const int before = follower.marks;
        if (!follower.receive()) return fail(ErrorCode::Io, "berthd closed a stream");
        if (follower.marks > marks) return fail(ErrorCode::Conflict, "a line came twice");
        if (before == marks || follower.marks != marks) continue;
        took.push_back(std::chrono::duration<double, std::milli>(Clock::now() - from).count());
      }
    }
    return took;
  }

 private:
  struct Follower {
    explicit Follower(int made) : socket(made) {}
    bool receive() {
      std::array<char, 65'536> bytes;
      const ssize_t got = recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (got <= 0) return got < 0 && errno == EAGAIN;
      marks += static_cast<int>(std::count(bytes.data(), bytes.data() + got, kMark));
      return true;
    }
    int socket;
    int marks = 0;
  };

  int events_;
  std::deque<Follower> all_;
};

/// Makes something happen some times and adds how long it took until a follower heard. `before`:
/// marks that each has already.
Expected<std::vector<double>> time_marks(Followers& followers, int before,
                                         const std::function<Expected<void>(int)>& happen) {
  std::vector<double> all;
  for (int i = 1; i <= kHappenings; ++i) {
    const auto from = Clock::now();
    if (auto done = happen(i); !done) return std::unexpected(done.error());
    const auto took = followers.wait_for(before + i, from);
    if (!took) return took;
    all.insert(all.end(), took->begin(), took->end());
  }
  return all;
}

Expected<std::vector<double>> time_submits(Berthd& daemon) {
  std::vector<double> took;
  for (int i = 0; i < kSubmits; ++i) {
    const auto from = Clock::now();
    const auto job = daemon.submit({"true"}, usual_environment(), {{"held", true}});
    if (!job) return std::unexpected(job.error());
    took.push_back(std::chrono::duration<double, std::milli>(Clock::now() - from).count());
  }
  return took;
}

class Bench {
 public:
  Bench(Berthd& daemon, int count, Figures& figures)
      : daemon_(daemon), count_(count), figures_(figures) {}

  Expected<void> follow_log(int job, const Gate& gate) {
    Followers followers;
    const std::string target = "/v1/jobs/" + std::to_string(job) + "/log?follow=true";
    if (auto done = gather(followers, target); !done) return done;
    const auto took = time_marks(followers, 0, [&](int i) -> Expected<void> {
      gate.pass("line " + std::to_string(i) + " of a log that many read ~\n");
      return {};
    });
    if (!took) return std::unexpected(took.error());
    note("log_line", *took);
    figures_.counters["rss_mib"] = kib_of(daemon_.pid(), "status", {"VmRSS"}) / 1024;
    const auto submits = time_submits(daemon_);
    if (!submits) return std::unexpected(submits.error());
    figures_.counters["submit_p50_ms"] = quantile(*submits, 0.5);
    return {};
  }

  Expected<void> follow_events(int job) {
    Followers followers;
    const std::string events = "/v1/events?job=" + std::to_string(job);
    if (auto done = gather(followers, events); !done) return done;
    const auto now = followers.wait_for(1, Clock::now());  // as it is
    if (!now) return std::unexpected(now.error());
    const std::string target = "/v1/jobs/" + std::to_string(job);
    const auto took = time_marks(followers, 1, [&](int i) {
      return daemon_.post(target + (i % 2 == 1 ? "/release" : "/hold"));
    });
    if (!took) return std::unexpected(took.error());
    note("event", *took);
    return {};
  }

 private:
  Expected<void> gather(Followers& followers, const std::string& target) {
    for (int i = 0; i < count_; ++i) {
      if (auto done = followers.add(daemon_.socket(), target); !done) return done;
    }
    return followers.wait_for_answers();
  }

  void note(const std::string& what, const std::vector<double>& took) {
    figures_.counters[what + "_p50_ms"] = quantile(took, 0.5);
    figures_.counters[what + "_p99_ms"] = quantile(took, 0.99);
    figures_.counters[what + "_max_ms"] = quantile(took, 1);
  }

  Berthd& daemon_;
  int count_;
  Figures& figures_;
};

}  // namespace

Expected<Figures> followers(int count) {
  const Bed bed;
  auto daemon = Berthd::start(bed, "1x24GiB");
  if (!daemon) return std::unexpected(daemon.error());
  const Gate gate(bed, "gate");
  const auto writer = daemon->submit(gate.copier(), usual_environment());
  if (!writer) return std::unexpected(writer.error());
  const auto marked =
      daemon->submit({"true"}, usual_environment(), {{"name", "~"}, {"held", true}});
  if (!marked) return std::unexpected(marked.error());
  Figures figures;
  const auto alone = time_submits(*daemon);
  if (!alone) return std::unexpected(alone.error());
  figures.counters["submit_alone_p50_ms"] = quantile(*alone, 0.5);
  figures.counters["rss_alone_mib"] = kib_of(daemon->pid(), "status", {"VmRSS"}) / 1024;
  Bench bench(*daemon, count, figures);
  auto done = bench.follow_log(*writer, gate);
  if (done) done = bench.follow_events(*marked);
  if (!done) return std::unexpected(done.error());
  figures.time = Seconds(figures.counters["log_line_p50_ms"] / 1000);
  return figures;
}

}  // namespace berth::bench
