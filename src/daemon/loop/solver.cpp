#include "daemon/loop/solver.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "core/base/codec.hpp"
#include "solve/solve.hpp"

namespace berth::daemon {

namespace {

constexpr std::size_t kMostAnswered = std::size_t{64} << 20;  ///< Of an answer: ten bytes a column.

}  // namespace

int solve_one() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string text;
  char bytes[65'536];
  for (ssize_t got = 0; (got = ::read(STDIN_FILENO, bytes, sizeof bytes)) > 0;) {
    text.append(bytes, static_cast<std::size_t>(got));
  }
  berth::Question question;
  if (!codec::get_kept(text, question)) return 2;
  const std::string answer = codec::kept(solve::answer(question));
  for (std::size_t done = 0; done < answer.size();) {
    const ssize_t written = ::write(STDOUT_FILENO, answer.data() + done, answer.size() - done);
    if (written <= 0) return 1;
    done += static_cast<std::size_t>(written);
  }
  return 0;
}

void Solver::solve(berth::Question question) {
  if (is_at_work_) {
    next_ = std::move(question);
  } else {
    begin(question);
  }
}

void Solver::begin(const berth::Question& question) {
  is_at_work_ = true;
  const std::uint64_t number = question.number();
  const HelperOrder order{.flag = kSolver,
                          .input = codec::kept(question),
                          .variables = {},
                          .most = kMost,
                          .most_said = kMostAnswered};
  const auto begun = runs_.start(order, [this, number](const HelperEnd& end) {
    Answer answer;
    const bool is_whole = end.is_well && codec::get_kept(end.said, answer);
    if (!is_whole) {
      hooks_.failed(end.was_too_slow ? "the solver took more than 5 minutes: it was ended"
                                     : "the solver died; the policy goes on with its last plan");
    }
    conclude(is_whole ? std::move(answer) : Answer{.number = number, .values = {}});
  });
  if (begun) return;
  is_at_work_ = false;  // the policy does without
  hooks_.failed(begun.error().message);
}

void Solver::conclude(Answer answer) {
  is_at_work_ = false;
  hooks_.answered(std::move(answer));
  if (const auto next = std::exchange(next_, std::nullopt)) begin(*next);
}

}  // namespace berth::daemon
