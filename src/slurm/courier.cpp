#include "slurm/courier.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

namespace berth::slurm {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kShortest = std::chrono::milliseconds(100);  ///< Between two looks.
constexpr auto kLongest = std::chrono::milliseconds(2000);
constexpr auto kAgain = std::chrono::milliseconds(500);     ///< After a controller that is away.
constexpr auto kSilence = std::chrono::milliseconds(3000);  ///< After which it answers no more.
constexpr int kCostShare = 5;  ///< Looks take at most this part of the time, as 1 in 5.

/// That this thread has computed.
Duration own_time() {
  timespec at{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return seconds(at.tv_sec) +
         std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(at.tv_nsec));
}

}  // namespace

Expected<News> Courier::first_look(Client& client) {
  client.forget();
  News news;
  auto jobs = client.jobs();
  if (!jobs) return std::unexpected(jobs.error());
  auto nodes = client.nodes();
  if (!nodes) return std::unexpected(nodes.error());
  news.jobs = std::move(jobs->jobs);
  if (*nodes) news.nodes = std::move(**nodes);
  std::ranges::sort(news.jobs, {}, &JobRecord::id);
  return news;
}

Courier::Courier(Client client, const News& known, Post post, std::function<void(News)> tell)
    : client_(std::move(client)), post_(std::move(post)), tell_(std::move(tell)) {
  for (const NodeRecord& node : known.nodes) nodes_[node.name] = node;
  thread_ = std::thread([this] { run(); });
}

Courier::~Courier() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Courier::send(Order order, Answer answer) {
  {
    const std::lock_guard lock(mutex_);
    errands_.push_back({std::move(order), std::move(answer)});
  }
  wake_.notify_all();
}

std::string Courier::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void Courier::set_trouble(const std::string& text) {
  const std::lock_guard lock(mutex_);
  trouble_ = text;
}

void Courier::note_answer() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  if (now - answered_at_ > kSilence) answers_since_ = now;
  answered_at_ = now;
  trouble_.clear();
}

void Courier::note_cost(const Cost& cost) {
  const std::lock_guard lock(mutex_);
  cost_ = cost;
}

Courier::Cost Courier::cost() const {
  const std::lock_guard lock(mutex_);
  return cost_;
}

Duration Courier::answers_for() const {
  const std::lock_guard lock(mutex_);
  if (!trouble_.empty() || Clock::now() - answered_at_ > kSilence) return seconds(0);
  return std::chrono::duration_cast<Duration>(answered_at_ - answers_since_);
}

void Courier::run() {
  auto next_look = Clock::now();
  for (;;) {
    std::optional<Errand> errand;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_until(lock, next_look, [&] { return stopping_ || !errands_.empty(); });
      if (stopping_) return;
      if (!errands_.empty()) {
        errand = std::move(errands_.front());
        errands_.pop_front();
      }
    }
    if (errand) deliver(*errand);
    const auto began = Clock::now();
    if (errand && began < next_look) continue;
    look();
    const auto cost = Clock::now() - began;
    next_look = Clock::now() + std::clamp<Clock::duration>(cost * kCostShare, kShortest, kLongest);
  }
}

/// Until it is answered: an order may be repeated without harm, but for a submission, which the
/// controller may have taken without saying so.
void Courier::deliver(Errand& errand) {
  for (;;) {
    auto done = client_.perform(errand.order);
    const bool is_answered = done || done.error().code != ErrorCode::Io;
    set_trouble(is_answered ? "" : done.error().message);
    if (is_answered || std::holds_alternative<Submit>(errand.order)) {
      return post_([answer = std::move(errand.answer), done = std::move(done)] { answer(done); });
    }
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, kAgain, [this] { return stopping_; })) return;
  }
}

void Courier::look() {
  const auto began = Clock::now();
  const Duration own = own_time();
  auto jobs = client_.jobs();
  if (!jobs) return set_trouble(jobs.error().message);
  if (jobs->looked_at > 0) {
    note_cost({.jobs = jobs->looked_at,
               .all = std::chrono::duration_cast<Duration>(Clock::now() - began),
               .own = own_time() - own});
  }
  News news{.jobs = std::move(jobs->jobs), .gone = std::move(jobs->gone), .nodes = {}};
  std::ranges::sort(news.jobs, {}, &JobRecord::id);
  auto nodes = client_.nodes();
  if (!nodes) {
    set_trouble(nodes.error().message);
  } else {
    note_answer();
  }
  if (nodes && *nodes) {
    for (NodeRecord& node : **nodes) {
      NodeRecord& known = nodes_[node.name];
      if (known == node) continue;
      known = node;
      news.nodes.push_back(std::move(node));
    }
  }
  if (news.jobs.empty() && news.gone.empty() && news.nodes.empty()) return;
  post_([this, news = std::move(news)]() mutable { tell_(std::move(news)); });
}

}  // namespace berth::slurm
