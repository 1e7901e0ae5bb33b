#include "engine/engine.hpp"

#include "core/base/assert.hpp"

namespace berth {

Engine::Engine(Cluster cluster, const EngineOptions& options, std::unique_ptr<Policy> policy)
    : state_(std::move(cluster), options.settings), policy_(std::move(policy)) {
  state_.seed = options.seed;
  state_.bounds = options.bounds;
  value_gpus();
}

void Engine::begin(Instant now) {
  BERTH_ASSERT(now >= now_);
  now_ = now;
  effects_.list.clear();
  effects_.decisions.clear();
  effects_.wake_at.reset();
  ended_.clear();
  state_.answer.reset();
}

void Engine::take_inputs(std::span<const Input> inputs) {
  for (const Input& input : inputs) {
    std::visit([this](const auto& what) { on(what); }, input);
  }
  enforce_time_limits();
  end_leases();
  relieve_again();
  end_drains();
  end_reservations();
  settle_deferrals();
  bar_jobs();
  order_own_jobs();
}

void Engine::enforce_time_limits() {
  if (!state_.settings.ends_at_limit) return;
  while (!time_limits_.empty() && time_limits_.begin()->first <= now_) {
    Job& job = state_.jobs.at(time_limits_.begin()->second);
    time_limits_.erase(time_limits_.begin());
    if (is_running(job.state)) {
      stop_for_good(job, Outcome::Timeout, StopFor::TimeLimit);
    }
  }
}

void Engine::wake(Instant at) {
  if (at > now_ && at < effects_.wake_at.value_or(kNever)) effects_.wake_at = at;
}

/// When the engine itself has something to do if nothing happens before.
void Engine::wake_for_bounds() {
  if (!time_limits_.empty() && state_.settings.ends_at_limit) wake(time_limits_.begin()->first);
  if (!leases_.empty()) wake(leases_.begin()->first);
  for (const auto& [gpu, at] : reliefs_) wake(at);
  if (!deferrals_.begins.empty()) wake(deferrals_.begins.begin()->first);
  for (const auto& [gpu, drain] : state_.drains) wake(drain.until);
  for (const auto& [id, reservation] : state_.calendar) wake(reservation.until);
  wake(next_bar_);
}

void Engine::apply_all(std::span<Decision> list) {
  for (Decision& decision : list) {
    if (std::visit([this](const auto& what) { return apply(what); }, decision)) {
      effects_.decisions.push_back(std::move(decision));
    } else {
      ++dropped_;
    }
  }
  const std::size_t before = events_.size();
  settle_deferrals();  // some decisions end jobs
  if (events_.size() > before) wake(now_ + Duration(1));
}

const Effects& Engine::step(Instant now, std::span<const Input> inputs) {
  begin(now);
  take_inputs(inputs);
  Decisions decisions = policy_->decide(view(), events_);
  ++state_.decisions;
  events_.clear();
  apply_all(decisions.list);
  if (decisions.wake_at) wake(*decisions.wake_at);
  if (decisions.question) consult(std::move(*decisions.question));
  wake_for_bounds();
  return effects_;
}

/// A policy says the same question in each pass until it has the answer.
void Engine::consult(Question question) {
  const std::uint64_t number = question.number();
  if (std::exchange(consulted_, number) == number) return;
  effects_.list.emplace_back(Consult{std::move(question)});
}

void Engine::on(const Solved& solved) {
  state_.answer = solved.answer;
  if (consulted_ == solved.answer.number) consulted_ = 0;
}

std::optional<Refused> Engine::refused(JobId id) const {
  if (auto decided = policy_->refused(id, view())) return decided;
  const JobView job = view().job(id);
  if (is_within_limits(*view().find(id), job.gpus())) return std::nullopt;
  return Refused{.ask = ask_of(job), .refusal = {.why = Why::Limit}};
}

const Effects& Engine::replay(Instant now, std::span<const Input> inputs,
                              std::span<const Decision> list) {
  begin(now);
  take_inputs(inputs);
  ++state_.decisions;
  std::vector<Decision> recorded(list.begin(), list.end());
  apply_all(recorded);
  wake_for_bounds();
  return effects_;
}

}  // namespace berth
