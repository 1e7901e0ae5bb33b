#include "cli/attend/attend.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>

#include "cli/ask/job_watch.hpp"
#include "cli/ask/polled_request.hpp"
#include "cli/attend/raw_terminal.hpp"
#include "cli/attend/relay.hpp"
#include "cli/attend/rendezvous.hpp"
#include "cli/attend/signal_queue.hpp"
#include "cli/job/submission.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "cli/tell/attempt_text.hpp"
#include "cli/tell/job_text.hpp"
#include "cli/tell/own_wait.hpp"
#include "cli/tell/why_text.hpp"

namespace berth::cli {

namespace {

using std::chrono::seconds;

/// How long a daemon may be away before the shim's word for how the job ended is enough.
constexpr seconds kTrustAfter{5};
/// A terminal that another process group has is looked at again after this long.
constexpr seconds kLookAgain{1};
constexpr seconds kKeepPlace{5};  ///< Between two looks whether the socket is still there.

constexpr pollfd kNothing{.fd = -1, .events = 0, .revents = 0};

int signal_code(int signal) { return 128 + signal; }

/// Says things on standard error, in order and once. A line is broken between words where the
/// terminal ends.
class Narrator {
 public:
  explicit Narrator(const std::string& job) : job_("job " + job) {}

  /// Why it waits, which a file gets too: it is all that happens there for a long time.
  void waits(const std::string& what) {
    if (what == last_) return;
    last_ = what;
    told_of_waiting_ = true;
    tell(job_ + " " + what);
  }
  /// What ends a wait that was told of.
  void goes_on(const std::string& what) {
    if (told_of_waiting_ && isatty(STDERR_FILENO) == 0) tell(job_ + " " + what);
    told_of_waiting_ = false;
    progress(what);
  }

  /// Progress, which only a terminal gets.
  void progress(const std::string& what) {
    if (isatty(STDERR_FILENO) == 0 || what == last_) return;
    last_ = what;
    tell(job_ + " " + what);
  }
  void tell(const std::string& what) const {
    const auto width = look_of(STDERR_FILENO).width;
    const std::string whole = "berth: " + what;
    for (const std::string& line : width ? wrapped(whole, *width) : std::vector{whole}) {
      std::fprintf(stderr, "%s%s", line.c_str(), is_raw_ ? "\r\n" : "\n");
    }
  }
  void about_job(const std::string& what) const { tell(job_ + ": " + what); }
  void set_raw(bool raw) { is_raw_ = raw; }

 private:
  std::string job_;
  std::string last_;
  bool told_of_waiting_ = false;
  bool is_raw_ = false;  ///< Then a new line does not begin at the left by itself.
};

/// A request that is sent until a daemon has answered it.
class Posting {
 public:
  Posting(std::string socket, std::string target, std::string body = {})
      : socket_(std::move(socket)), target_(std::move(target)), body_(std::move(body)) {}
  /// One that asks for something.
  static Posting get(std::string socket, std::string target) {
    Posting asking(std::move(socket), std::move(target));
    asking.method_ = "GET";
    return asking;
  }

  pollfd interest() const { return request_ ? request_->interest() : kNothing; }
  Clock::time_point due() const {
    return request_ || answered_ ? Clock::time_point::max() : next_try_;
  }
  bool is_answered() const { return answered_; }
  bool is_unreachable() const { return unreachable_; }
  /// A refusal is one too. Requires: is_answered().
  const http::Response& answer() const { return answer_; }

  void advance(Clock::time_point now, const pollfd& polled) {
    if (answered_) return;
    if (!request_ && now >= next_try_) send(now);
    if (!request_ || polled.revents == 0) return;
    const auto progress =
        request_->advance([this](std::string_view bytes) { answer_.body.append(bytes); });
    if (progress == PolledRequest::Progress::Open) return;
    answer_.status = request_->status();
    const bool is_final = answer_.status < 500 || method_ == "GET";
    answered_ = progress == PolledRequest::Progress::Ended && is_final;
    request_.reset();
    if (!answered_) retry(now);
  }

 private:
  void send(Clock::time_point now) {
    answer_.body.clear();
    auto opened =
        PolledRequest::open(socket_, {.method = method_, .target = target_, .body = body_});
    unreachable_ = !opened;
    if (!opened) return retry(now);
    request_ = std::move(*opened);
  }
  void retry(Clock::time_point now) {
    request_.reset();
    next_try_ = now + backoff_.next();
  }

  std::string_view method_ = "POST";
  std::string socket_;
  std::string target_;
  std::string body_;
  std::optional<PolledRequest> request_;
  http::Response answer_{.status = 0};
  Backoff backoff_;
  Clock::time_point next_try_{};
  bool answered_ = false;
  bool unreachable_ = false;
};

enum class Screen { Plain, Terminal };

/// A job gets a terminal where this process is in the front of one.
Screen screen_here() {
  const bool both = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
  return both && is_foreground(STDIN_FILENO) ? Screen::Terminal : Screen::Plain;
}

/// Whether this client began its job, or came to it later.
enum class Role : std::uint8_t { First, Later };

/// What holds from the submission to the end.
struct Place {
  std::string socket;  ///< The daemon's.
  Rendezvous& rendezvous;
  const SignalQueue& signals;
  Screen screen = Screen::Plain;
  bool has_keys = true;  ///< Else the job has no input.
  Role role = Role::First;
  LeavingRules leaving = {};
};

/// What the shim is told of this client.
Json attach_body(const Place& place) {
  Json attach = {{"socket", place.rendezvous.path()}};
  if (place.screen == Screen::Terminal) {
    const TerminalSize size = size_of(STDOUT_FILENO);
    attach["rows"] = size.rows;
    attach["columns"] = size.columns;
    if (isatty(STDERR_FILENO) == 0) attach["errors_apart"] = true;  // as with 2>err.log
  }
  return attach;
}

/// How long a shim may take to connect to a client that comes later.
constexpr seconds kShimPatience{10};

class Attendance {
 public:
  Attendance(const Place& place, const std::string& job)
      : place_(place), job_(job), narrator_(job), watch_(place.socket, job) {
    if (!comes_later()) told_ = 0;
    if (place.has_keys) return;
    input_ = Input::Ended;
    narrator_.set_raw(true);  // as the other has set the terminal
    narrator_.about_job("has no input: another berth run has the keys of this terminal");
  }

  /// Who came later makes the shim come.
  bool comes_later() const { return place_.role == Role::Later; }
  /// A signal that came while the job had no number yet.
  void give_up(const QueuedSignal& signal) { on_signal(signal); }
  Attended stay() {
    while (!outcome_) turn();
    leave_terminal();
    outcome_->had_keys = had_keys_ && is_foreground(STDIN_FILENO);
    return *outcome_;
  }
  /// The job as it ended; null if that is not known.
  const Json& ended() const { return final_; }

 private:
  // ---- One turn of the loop ------------------------------------------------------------------

  struct Polls {
    pollfd signals;
    pollfd rendezvous;
    pollfd watch;
    pollfd cancel;
    pollfd joining;
    pollfd asking;
    pollfd recounting;
    pollfd leaving;
    pollfd typed;
    Relay::Polls relay;
  };

  Polls interests() const {
    const Relay::Polls none{kNothing, kNothing, kNothing, kNothing};
    return {.signals = {.fd = place_.signals.descriptor(), .events = POLLIN, .revents = 0},
            .rendezvous = {.fd = relay_ || !is_expected() ? -1 : place_.rendezvous.descriptor(),
                           .events = POLLIN,
                           .revents = 0},
            .watch = watch_.interest(),
            .cancel = cancelling_ ? cancelling_->interest() : kNothing,
            .joining = joining_ ? joining_->interest() : kNothing,
            .asking = asking_ ? asking_->interest() : kNothing,
            .recounting = recounting_ ? recounting_->interest() : kNothing,
            .leaving = leaving_ ? leaving_->interest() : kNothing,
            .typed = {.fd = reads_keys() ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
            .relay = relay_ ? relay_->interests() : none};
  }

  void turn() {
    auto all = std::bit_cast<std::array<pollfd, sizeof(Polls) / sizeof(pollfd)>>(interests());
    poll(all.data(), all.size(), timeout(Clock::now()));
    const auto polls = std::bit_cast<Polls>(all);
    const auto now = Clock::now();
    if (polls.signals.revents != 0) on_signals();
    // `fg` of a client that runs in the background says nothing to it.
    if (raw_) raw_->follow();
    if (eager_) eager_->follow();
    if (relay_) relay_->advance(polls.relay);
    watch_.advance(now, polls.watch, [this](const Json& job) { on_change(job); });
    if (cancelling_) cancelling_->advance(now, polls.cancel);
    if (joining_) join(now, polls.joining);
    if (asking_) hear(now, polls.asking);
    if (recounting_) hear_of_attempts(now, polls.recounting);
    if (polls.typed.revents != 0) read_keys();
    if (leaving_) leave(now, polls.leaving);
    if (!relay_) meet_shim();
    if (relay_) look_at_relay(now);
    ask_for_shim();
    ask_about_attempts();
    tell_of_absence();
    if (!outcome_) outcome_ = judge(now);
  }

  int timeout(Clock::time_point now) const {
    auto due = watch_.due().value_or(Clock::time_point::max());
    if (cancelling_) due = std::min(due, cancelling_->due());
    if (joining_) due = std::min({due, joining_->due(), joined_by_});
    if (asking_) due = std::min(due, asking_->due());
    if (recounting_) due = std::min(due, recounting_->due());
    if (leaving_) due = std::min(due, leaving_->due());
    if (const auto trusted = trusted_at()) due = std::min(due, *trusted);
    if ((relay_ || eager_) && !is_foreground(STDIN_FILENO)) due = std::min(due, now + kLookAgain);
    if (!relay_) due = std::min(due, now + kKeepPlace);
    if (due == Clock::time_point::max()) return -1;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(due - now).count();
    return static_cast<int>(std::clamp<std::int64_t>(wait, 0, 60'000));
  }

  // ---- The shim ------------------------------------------------------------------------------

  /// A shim may be faster than the daemon's word for what its job has.
  bool is_expected() const { return !comes_later() || (joining_ && joining_->is_answered()); }

  void meet_shim() {
    place_.rendezvous.keep();
    if (!is_expected()) return;
    auto shim = place_.rendezvous.accept();
    if (!shim) return;
    exit_code_.reset();
    joining_.reset();
    was_there_ = true;
    ++shims_;
    const bool is_terminal =
        place_.screen == Screen::Terminal && job_has_terminal_ && place_.has_keys;
    relay_.emplace(std::move(*shim), input_,
                   is_terminal ? std::optional(place_.leaving.keys) : std::nullopt);
    const std::string& keys = place_.leaving.keys.words();
    if (comes_later()) {
      const bool may_leave = (is_terminal || looks_on()) && !keys.empty();
      narrator_.progress("is attached" + (may_leave ? "; " + keys + " detaches" : "") +
                         (looks_on() ? "; Ctrl-C reaches the job" : ""));
    }
    eager_.reset();
    if (looks_on()) eager_ = keys_come(TerminalMode::Keys::Eager);
    relay_->type(typed_ahead_);
    typed_ahead_.clear();
    if (!is_terminal) return;
    raw_ = keys_come(TerminalMode::Keys::Raw);
    had_keys_ = true;
    narrator_.set_raw(true);
    relay_->send_size(size_of(STDOUT_FILENO));
  }

  /// At a job without input, of whose keys only those that leave it are read.
  bool looks_on() const {
    return comes_later() && place_.screen == Screen::Terminal && place_.has_keys &&
           input_ == Input::Ended;
  }

  /// Asks the daemon to send the shim here.
  void join(Clock::time_point now, const pollfd& polled) {
    const bool was_answered = joining_->is_answered();
    joining_->advance(now, polled);
    if (!joining_->is_answered()) return;
    if (!was_answered) {
      const auto answer = answer_of(joining_->answer());
      if (!answer) {
        narrator_.tell(answer.error().message);
        outcome_ = Attended{.code = kFailed};
        return;
      }
      job_has_terminal_ = part_of(*answer, "terminal") == true;
      if (part_of(*answer, "input") == false) input_ = Input::Ended;
      joined_by_ = now + kShimPatience;
    } else if (now >= joined_by_) {
      narrator_.about_job("its shim does not answer");
      outcome_ = Attended{.code = kFailed};
    }
  }

  static std::unique_ptr<TerminalMode> keys_come(TerminalMode::Keys keys) {
    return std::make_unique<TerminalMode>(STDIN_FILENO, keys);
  }

  void leave_terminal() {
    raw_.reset();
    eager_.reset();
    narrator_.set_raw(false);
  }

  void look_at_relay(Clock::time_point now) {
    if (const auto failure = relay_->failure(); failure && !output_failed_) on_failure(*failure);
    if (relay_->take_wish_to_detach()) relay_->detach();
    if (!relay_->is_over()) return;
    if (const auto parting = relay_->parting()) return part(*parting);
    exit_code_ = relay_->exit_code();
    exit_at_ = now;
    input_ = relay_->input();
    relay_.reset();
    leave_terminal();
  }

  void part(shim::Parting how) {
    relay_.reset();
    leave_terminal();
    const std::string number = job_;
    narrator_.tell(how == shim::Parting::Wished
                       ? "detached from job " + number + "; berth attach " + number + " returns"
                       : "job " + number + " is attached elsewhere now");
    outcome_ = Attended{.code = 0};
  }

  /// A reader that is gone ends the job that was begun for it; the shim does that when this end
  /// closes.
  void on_failure(int error) {
    output_failed_ = true;
    if (error == EPIPE) {
      if (!comes_later()) relay_->send_signal(SIGPIPE);
      outcome_ = Attended{.code = signal_code(SIGPIPE), .broken_pipe = true};
    } else {
      narrator_.tell(std::string("standard output: ") + std::strerror(error) +
                     "; what follows is in: berth logs " + job_);
    }
  }

  // ---- The daemon ----------------------------------------------------------------------------

  void on_change(const Json& job) {
    const std::string state = text_of(job, "state");
    if (state != state_) {
      asking_.reset();
      asked_about_.reset();
      state_ = state;
    }
    const bool is_waiting = state == "queued" || state == "held" || state == "deferred";
    count_attempts(job, is_waiting);
    look_at_keys(is_waiting);
    if (is_waiting) {
      exit_code_.reset();  // of an attempt that was not the last
      const std::string reason = printable(text_of(job, "reason_brief"));
      state == "held" ? tell_waiting(reason) : ask_why(reason);
    } else if (comes_later()) {
      const bool is_there = state != "starting" && !has_ended(job);
      attempt_there_ = is_there ? integer_of(job, "attempt") : std::nullopt;
    } else if (state == "running") {
      const std::string gpus = gpu_list(part_of(job, "gpus"));
      narrator_.goes_on("started" + (gpus.empty() ? "" : " on " + gpus));
    }
    if (has_ended(job)) final_ = job;
  }

  // ---- Keys while it waits -------------------------------------------------------------------

  /// What is typed is for the job, but for the keys that leave it.
  void look_at_keys(bool is_waiting) {
    const bool may = is_waiting && !comes_later() && !relay_ && !was_there_ && place_.has_keys &&
                     place_.screen == Screen::Terminal && !place_.leaving.keys.words().empty();
    if (may && !eager_) eager_ = keys_come(TerminalMode::Keys::Eager);
  }
  bool reads_keys() const { return eager_ && !leaving_ && is_foreground(STDIN_FILENO); }
  /// `; ~d leaves it in the queue`, where that is so.
  std::string way_out() const {
    const std::string& keys = place_.leaving.keys.words();
    return eager_ ? "; " + keys.substr(0, keys.find(' ')) + " leaves it in the queue" : "";
  }

  void read_keys() {
    std::array<char, 4096> bytes;
    const auto got = read_in_front(STDIN_FILENO, bytes);
    if (!got) return;
    if (*got == 0) return eager_.reset();
    const auto sorted = keys_.take({bytes.data(), *got});
    if (comes_later()) return relay_ && sorted.detaches ? relay_->detach() : void();
    typed_ahead_ += sorted.for_job;
    if (sorted.detaches) leaving_.emplace(place_.socket, job_target(job_, "/leave"));
  }

  /// A job that starts at that moment is not left: it is here.
  void leave(Clock::time_point now, const pollfd& polled) {
    leaving_->advance(now, polled);
    if (!leaving_->is_answered()) return;
    const auto answer = answer_of(leaving_->answer());
    leaving_.reset();
    if (!answer) return narrator_.tell(answer.error().message);
    leave_terminal();
    const std::string number = job_;
    narrator_.tell("job " + number + " stays in the queue; berth attach " + number +
                   " returns, berth logs " + number + " has its output");
    outcome_ = Attended{.code = 0};
  }

  /// When it starts is not in the news of the job. Once for each reason.
  void ask_why(const std::string& reason) {
    if (asking_ || reason == asked_about_) return;
    asked_about_ = reason;
    asking_ = Posting::get(place_.socket, job_target(job_, "/why"));
  }

  void hear(Clock::time_point now, const pollfd& polled) {
    asking_->advance(now, polled);
    if (!asking_->is_answered()) return;
    const auto why = answer_of(asking_->answer());
    asking_.reset();
    // Too many jobs to look ahead, perhaps: then the reason alone.
    const std::string line = why ? waiting_line(*why, wall_now()) : asked_about_.value_or("");
    if (!why || text_of(*why, "state") == state_) tell_waiting(line);
  }

  /// `waits: needs 8 GiB more on GPU 0, starts ~10:20`, `deferred: waits for job 7 to end well`.
  void tell_waiting(const std::string& line) {
    if (line.empty() && state_ == "queued") return;
    narrator_.waits((state_ == "queued" ? "waits" : state_) + (line.empty() ? "" : ": " + line) +
                    way_out());
  }

  // ---- Attempts that were not the last -------------------------------------------------------

  /// The news say no more of them than their number.
  void count_attempts(const Json& job, bool is_waiting) {
    if (has_ended(job)) {
      if (!comes_later()) over_ = std::max(over_, shims_ - 1);
      return;
    }
    const auto attempt = integer_of(job, "attempt");
    if (!attempt) return;
    over_ = std::max(over_, is_waiting ? *attempt : *attempt - 1);
    if (!told_) told_ = over_;  // what was before this came
    if (state_ != "stopping") latest_ = job;
  }

  void ask_about_attempts() {
    if (recounting_ || !told_ || over_ <= *told_) return;
    recounting_ = Posting::get(place_.socket, job_target(job_));
  }

  void hear_of_attempts(Clock::time_point now, const pollfd& polled) {
    recounting_->advance(now, polled);
    if (!recounting_->is_answered()) return;
    const auto job = answer_of(recounting_->answer());
    recounting_.reset();
    const std::int64_t told = *told_;
    told_ = over_;
    if (!job) return;
    for (const AttemptOver& over : attempts_over(*job, told, latest_)) {
      narrator_.about_job(over.text);
      told_ = std::max(*told_, over.attempt);
    }
  }

  /// Each attempt has a shim of its own. News of the next may come before the last word of the one
  /// before.
  void ask_for_shim() {
    if (!attempt_there_ || relay_ || attempt_there_ == joined_attempt_) return;
    joined_attempt_ = attempt_there_;
    joined_by_ = Clock::time_point::max();
    joining_.emplace(place_.socket, job_target(job_, "/attach"), attach_body(place_).dump());
  }

  void tell_of_absence() {
    const bool away = watch_.is_unreachable() && final_.is_null();
    if (away && !told_of_absence_) {
      told_of_absence_ = true;
      narrator_.tell("berthd is away; " + std::string(relay_ ? "the job goes on" : "waiting"));
    }
    if (cancelling_ && cancelling_->is_unreachable() && !told_of_cancel_) {
      told_of_cancel_ = true;
      narrator_.about_job("is cancelled when berthd is back; once more to leave it");
    }
  }

  // ---- Signals -------------------------------------------------------------------------------

  void on_signals() {
    while (const auto signal = place_.signals.next()) {
      const int number = signal->number;
      if (number == SIGTSTP) {
        stop_here();
      } else if (number == SIGWINCH || number == SIGCONT) {
        if (number == SIGCONT && raw_) raw_->enter();
        if (number == SIGCONT && eager_) eager_->enter();
        if (raw_) relay_->send_size(size_of(STDOUT_FILENO));
      } else {
        on_signal(*signal);
      }
    }
  }

  /// Ctrl-Z of a shell, which stops its own child: the job is berthd's.
  void stop_here() {
    narrator_.about_job(
        relay_ ? "goes on while this is stopped; fg returns to it"
               : "stays in the queue while this is stopped, and may start; fg returns to it");
    SignalQueue::stop();
  }

  /// Of a job that was not begun here only a key ends more than this client.
  bool leaves_at(const QueuedSignal& taken) const {
    if (comes_later()) return !relay_ || !taken.is_of_a_key;
    return taken.number == SIGHUP && place_.leaving.hangup_leaves;
  }

  /// A job that runs gets it; one that does not is cancelled, and the second time it is left alone.
  void on_signal(const QueuedSignal& taken) {
    const int signal = taken.number;
    if (taken.is_news()) return relay_ ? relay_->send_signal(signal) : void();
    if (leaves_at(taken)) {
      if (relay_) {
        narrator_.about_job(std::string("goes on; this is no longer attached, by SIG") +
                            sigabbrev_np(signal));
      }
      outcome_ = Attended{.code = signal_code(signal)};
      return;
    }
    if (relay_) return relay_->send_signal(signal);
    if (exit_code_) {
      outcome_ = Attended{.code = *exit_code_};
    } else if (cancelling_) {
      narrator_.about_job("may go on; berthd has not answered yet");
      outcome_ = Attended{.code = signal_code(gave_up_by_)};
    } else {
      gave_up_by_ = signal;
      cancelling_.emplace(place_.socket, job_target(job_, "/cancel"));
    }
  }

  // ---- The end -------------------------------------------------------------------------------

  /// From when the shim's word is enough; nothing while the daemon is there, or there is no word.
  std::optional<Clock::time_point> trusted_at() const {
    const auto away = watch_.away_since();
    if (!exit_code_ || !away) return std::nullopt;
    return std::max(exit_at_, *away) + kTrustAfter;
  }

  std::optional<Attended> judge(Clock::time_point now) {
    if (relay_) return std::nullopt;  // it has more to say
    // The news of the job's end may overtake the answer.
    const bool cancelled = text_of(final_, "state") == "cancelled";
    if (cancelling_ && (cancelling_->is_answered() || cancelled)) {
      return Attended{.code = signal_code(gave_up_by_)};
    }
    if (!final_.is_null()) {
      if (recounting_ && !recounting_->is_unreachable()) return std::nullopt;
      if (!was_there_ && comes_later()) {
        narrator_.about_job("has ended: " + printable(text_of(final_, "state")));
      }
      return Attended{.code = with_output(final_code())};
    }
    const auto trusted = trusted_at();
    if (trusted && now >= *trusted) return Attended{.code = with_output(*exit_code_)};
    if (!watch_.refusal()) return std::nullopt;
    if (exit_code_) return Attended{.code = with_output(*exit_code_)};
    narrator_.tell(*watch_.refusal());
    return Attended{.code = kFailed};
  }

  /// The shim knows the job's code, the daemon why berth ended it.
  int final_code() const {
    const std::string words = what_ended_it();
    if (!words.empty()) narrator_.about_job(words);
    const std::string advice = isatty(STDERR_FILENO) != 0 ? memory_advice(final_) : "";
    if (!advice.empty()) narrator_.about_job(advice);
    const std::string state = text_of(final_, "state");
    const bool by_itself = state == "done" || state == "failed";
    return by_itself && exit_code_ ? *exit_code_ : exit_code_of(final_);
  }

  /// What the code does not say; that the log has less than was shown here is no cause.
  std::string what_ended_it() const {
    const std::string note = printable(text_of(final_, "note"));
    if (text_of(final_, "state") == "done" && note.contains("left behind")) {
      return note + "; a script that ends with `wait` waits for what it began";
    }
    const bool has_failed = text_of(final_, "state") == "failed";
    if (has_failed && note.empty() && exit_code_) return words_of_signal(*exit_code_);
    const bool has_cause = has_failed && !note.starts_with("log capped");
    return has_cause ? note : ending(final_);
  }

  /// As shells say it, but for what a key or a reader that is gone did.
  static std::string words_of_signal(int code) {
    const std::string name = signal_of_code(code);
    if (name.empty() || name == "SIGINT" || name == "SIGPIPE") return "";
    return exit_text(code) + ": " + sigdescr_np(code - 128);
  }

  /// Output that was lost on the way is a failure, however the job ended.
  int with_output(int code) const { return output_failed_ ? kFailed : code; }

  const Place& place_;
  std::string job_;  ///< Its handle.
  Narrator narrator_;
  JobWatch watch_;
  std::optional<Relay> relay_;
  std::unique_ptr<TerminalMode> raw_;
  bool had_keys_ = false;  ///< The keys of the terminal went to the job.
  Input input_ = Input::Open;
  bool job_has_terminal_ = true;
  std::optional<Posting> cancelling_;
  std::optional<Posting> joining_;
  std::optional<Posting> asking_;           ///< Why it waits.
  std::optional<std::string> asked_about_;  ///< The reason that was asked about.
  std::string state_;                       ///< The job's, by the latest news.
  std::optional<Posting> recounting_;       ///< How attempts ended.
  std::optional<std::int64_t> told_;        ///< Up to this attempt, as far as this is its business;
  std::int64_t over_ = 0;                   ///< and those up to this one have ended.
  std::int64_t shims_ = 0;                  ///< That were met.
  Json latest_;                             ///< The job while it waited, was started or ran.
  std::unique_ptr<TerminalMode> eager_;
  DetachKeys keys_ = place_.leaving.keys;
  std::string typed_ahead_;
  std::optional<Posting> leaving_;             ///< Left while it waits.
  std::optional<std::int64_t> attempt_there_;  ///< That runs, as far as is known.
  std::optional<std::int64_t> joined_attempt_;
  Clock::time_point joined_by_ = Clock::time_point::max();
  bool was_there_ = false;  ///< It met a shim.
  int gave_up_by_ = 0;
  std::optional<int> exit_code_;
  Clock::time_point exit_at_{};
  Json final_;
  bool output_failed_ = false;
  bool told_of_absence_ = false;
  bool told_of_cancel_ = false;
  std::optional<Attended> outcome_;
};

/// The answer to the submission, and the first signal that came meanwhile.
struct Submitted {
  http::Response response;
  std::optional<QueuedSignal> signal;
};

constexpr int kSubmitPatience = static_cast<int>(micros(http::kClientPatience) / 1000);

/// Errors: Io if the daemon goes away before it answers or is silent, or by a second signal.
Expected<Submitted> submit(const Place& place, const Json& body) {
  auto request = PolledRequest::open(place.socket,
                                     {.method = "POST", .target = "/v1/jobs", .body = body.dump()});
  if (!request && request.error().code != ErrorCode::NotFound) {
    return std::unexpected(request.error());
  }
  if (!request) return fail(ErrorCode::NotFound, nobody_answers(place.socket, geteuid()));
  Submitted submitted{.response = {.status = 0}};
  auto progress = PolledRequest::Progress::Open;
  while (progress == PolledRequest::Progress::Open) {
    std::array polls = {request->interest(),
                        pollfd{.fd = place.signals.descriptor(), .events = POLLIN, .revents = 0}};
    const int ready = poll(polls.data(), polls.size(), kSubmitPatience);
    if (ready == 0) {
      return fail(ErrorCode::Io, place.socket + ": " + http::silence(http::kClientPatience));
    }
    while (const auto signal = place.signals.next()) {
      if (signal->number == SIGTSTP) SignalQueue::stop();
      if (signal->is_news()) continue;
      if (submitted.signal) return fail(ErrorCode::Io, "left before berthd took the job");
      submitted.signal = signal;
    }
    progress =
        request->advance([&](std::string_view bytes) { submitted.response.body.append(bytes); });
  }
  if (progress == PolledRequest::Progress::Lost) {
    return fail(ErrorCode::Io, place.socket + ": berthd went away before it took the job");
  }
  submitted.response.status = request->status();
  return submitted;
}

void put_attach(Json& body, const Place& place) {
  Json attach = attach_body(place);
  attach["terminal"] = place.screen == Screen::Terminal;
  if (place.leaving.hangup_leaves) attach["optional"] = true;
  body["attach"] = std::move(attach);
}

}  // namespace

Attended attend(const CommonOptions& common, Json body, const LeavingRules& leaving) {
  const SignalQueue signals;
  auto rendezvous = Rendezvous::open();
  if (!rendezvous) return {.code = report_failure(rendezvous.error().message)};
  const Screen screen = screen_here();
  const TerminalKeys keys_here(screen == Screen::Terminal ? STDIN_FILENO : -1);
  const Place place{.socket = choose_socket(common).path,
                    .rendezvous = *rendezvous,
                    .signals = signals,
                    .screen = screen,
                    .has_keys = keys_here.are_ours(),
                    .leaving = leaving};
  put_attach(body, place);
  const auto submitted = submit(place, body);
  if (!submitted) return {.code = report_failure(submitted.error().message)};
  const auto answer = answer_to_post("/v1/jobs", submitted->response);
  if (!answer) return {.code = report_failure(answer.error().message)};
  const auto job = integer_of(*answer, "id");
  if (!job || *job <= 0) return {.code = report_failure("berthd gives the new job no number")};
  report_warnings(*answer);
  if (auto daemon = Daemon::open(place.socket)) {
    tell_if_it_waits_for_us(*daemon, static_cast<std::uint64_t>(*job));
  }
  Attendance attendance(place, std::to_string(*job));
  if (submitted->signal) attendance.give_up(*submitted->signal);
  Attended outcome = attendance.stay();
  outcome.was_taken = true;
  if (common.json && !attendance.ended().is_null()) {
    std::fputs(json_text(attendance.ended()).c_str(), stderr);
  }
  return outcome;
}

Attended attend_again(const CommonOptions& common, const std::string& job, const DetachKeys& keys) {
  const SignalQueue signals;
  auto rendezvous = Rendezvous::open();
  if (!rendezvous) return {.code = report_failure(rendezvous.error().message)};
  const Screen screen = screen_here();
  const TerminalKeys keys_here(screen == Screen::Terminal ? STDIN_FILENO : -1);
  const Place place{.socket = choose_socket(common).path,
                    .rendezvous = *rendezvous,
                    .signals = signals,
                    .screen = screen,
                    .has_keys = keys_here.are_ours(),
                    .role = Role::Later,
                    .leaving = {.keys = keys, .hangup_leaves = true}};
  Attendance attendance(place, job);
  const Attended outcome = attendance.stay();
  if (common.json && !attendance.ended().is_null()) {
    std::fputs(json_text(attendance.ended()).c_str(), stderr);
  }
  return outcome;
}

}  // namespace berth::cli
