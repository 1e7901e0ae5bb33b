#include "daemon/notices/announcer.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/codec.hpp"
#include "core/text/words.hpp"
#include "daemon/loop/json_text.hpp"
#include "daemon/loop/processes.hpp"
#include "daemon/machine/machine.hpp"

namespace berth::daemon {

inline auto members(Message& v) {
  return std::tie(v.as, v.directory, v.arguments, v.environment, v.input);
}

namespace {

constexpr std::size_t kMostSaid = 500;             ///< Of what a failed program wrote.
constexpr auto kNobodys = static_cast<uid_t>(-1);  ///< Its slices are no user's.

constexpr std::string_view kSystemPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::string_view kMailPath = "/usr/local/sbin:/usr/sbin:/usr/lib";

/// What has an @ and is no command of the shell.
bool is_address(std::string_view to) {
  return to.contains('@') && to.find_first_of(" /'\"$;|&<>()") == to.npos;
}

bool is_web_address(std::string_view to) {
  return to.starts_with("http://") || to.starts_with("https://");
}

bool has_program(std::string_view folders, std::string_view name) {
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    folders.remove_prefix(std::min(folder.size() + 1, folders.size()));
    const std::string path = std::string(folder) + "/" + std::string(name);
    if (::access(path.c_str(), X_OK) == 0) return true;
  }
  return false;
}

/// On one line, so that it is no header of a mail.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return text;
}

/// Each line of what a program said once, as one that tried three times says the same three times.
std::string what_was_said(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line = one_line(std::string(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && std::ranges::find(lines, line) == lines.end()) {
      lines.push_back(std::move(line));
    }
  }
  std::string said;
  for (const std::string& line : lines) said += (said.empty() ? "" : " ") + line;
  return said;
}

std::string text_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

/// `198 done, 2 failed`.
std::string states_text(const Json& tasks) {
  std::string text;
  for (const auto& [state, count] : tasks.items()) {
    text += (text.empty() ? "" : ", ") + count.dump() + " " + state;
  }
  return text;
}

/// `berth: job 7 (train) on gpu1: failed, exit code 1`.
std::string subject_of(const Json& job, live::Occasion occasion) {
  const std::string name = text_in(job, "name");
  const bool is_array = job.contains("tasks");
  std::string text = (is_array ? "berth: array " : "berth: job ") + text_in(job, "id") +
                     (name.empty() ? "" : " (" + name + ")") + " on " + host_name() + ": ";
  if (occasion == live::Occasion::Start) return one_line(text + "started");
  const bool is_warning = occasion == live::Occasion::Idle || occasion == live::Occasion::Overuse;
  if (is_warning) return one_line(text + text_in(job, "reason"));
  text += text_in(job, "state");
  const std::string code = text_in(job, "exit_code");
  if (!code.empty() && code != "0") text += ", exit code " + code;
  if (is_array) text += " (" + states_text(job["tasks"]) + ")";
  return one_line(text);
}

std::string mail_of(const std::string& to, const std::string& subject, const Json& job) {
  std::string body;
  for (const auto& [label, key] : {std::pair("job", "id"),
                                   {"name", "name"},
                                   {"user", "user_name"},
                                   {"state", "state"},
                                   {"exit code", "exit_code"},
                                   {"note", "note"},
                                   {"command", "command_line"}}) {
    const std::string value = one_line(text_in(job, key));
    if (!value.empty()) body += std::string(label) + ": " + value + "\n";
  }
  return "To: " + one_line(to) + "\nSubject: " + subject +
         "\nAuto-Submitted: auto-generated\nContent-Type: text/plain; charset=utf-8\n\n" + body;
}

void set_variable(std::vector<std::string>& environment, const std::string& name,
                  const std::string& value) {
  std::erase_if(environment,
                [&](const std::string& variable) { return variable.starts_with(name + "="); });
  environment.push_back(name + "=" + value.substr(0, value.find('\0')));
}

/// Posts standard input: three times at most if nobody listens or the receiver says that it is busy
/// or does not answer in time, all in all within kPatience.
std::vector<std::string> curl_to(const std::string& address) {
  return {"curl",
          "-fsS",
          "--connect-timeout",
          "5",
          "--max-time",
          "8",
          "--retry",
          "2",
          "--retry-delay",
          "1",
          "--retry-connrefused",
          "-o",
          "/dev/null",
          "--data-binary",
          "@-",
          "-H",
          "Content-Type: application/json",
          "--",
          address};
}

/// The job's, and where a mail system has its program, which is on no user's.
std::string path_for_mail(const std::vector<std::string>& environment) {
  const auto its = std::ranges::find_if(
      environment, [](const std::string& variable) { return variable.starts_with("PATH="); });
  const std::string first =
      its == environment.end() ? "/usr/local/bin:/usr/bin:/bin" : its->substr(5);
  return first + ":" + std::string(kMailPath);
}

/// A job may have ended by the time when its start is told, which is told as it was.
Json as_it_started(Json job) {
  job["state"] = "running";
  for (const char* const later : {"ended_at", "exit_code"}) {
    if (job.contains(later)) job[later] = nullptr;
  }
  if (job.contains("note")) job["note"] = "";
  return job;
}

}  // namespace

std::string encode(const Message& message) {
  ByteWriter out;
  codec::put(out, message);
  return out.take();
}

Expected<Message> decode_message(std::string_view bytes) {
  ByteReader in(bytes);
  Message message;
  codec::get(in, message);
  const bool is_whole = !in.failed() && in.at_end() && !message.arguments.empty();
  if (is_whole) return message;
  return fail(ErrorCode::BadData, std::to_string(bytes.size()) + " bytes are no message");
}

Message message_to(const std::string& to, const News& news, const live::Command& command,
                   const std::vector<std::string>& environment) {
  Json job = Json::parse(news.job, nullptr, false);
  if (!job.is_object()) job = Json::object();
  if (news.occasion == live::Occasion::Start) job = as_it_started(std::move(job));
  const std::string event(word_for(news.occasion));
  const Json told = {{"event", event}, {"host", host_name()}, {"job", job}};
  Message message{.as = command.owner,
                  .directory = command.directory,
                  .arguments = {"/bin/sh", "-c", to},
                  .environment = environment,
                  .input = told.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"};
  for (const auto& [name, key] : {std::pair("BERTH_JOB_ID", "id"),
                                  {"BERTH_JOB_NAME", "name"},
                                  {"BERTH_JOB_STATE", "state"},
                                  {"BERTH_JOB_USER", "user_name"},
                                  {"BERTH_EXIT_CODE", "exit_code"},
                                  {"BERTH_NOTE", "note"}}) {
    set_variable(message.environment, name, text_in(job, key));
  }
  set_variable(message.environment, "BERTH_EVENT", event);
  if (is_web_address(to)) {
    message.arguments = curl_to(to);
  } else if (is_address(to)) {
    set_variable(message.environment, "PATH", path_for_mail(environment));
    message.arguments = {"sendmail", "-t", "-i"};
    message.input = mail_of(to, subject_of(job, news.occasion), job);
  }
  return message;
}

Message message_of_administrator(const std::string& to, const News& news,
                                 const live::Command& command) {
  live::Command clean = command;
  clean.directory = "/";
  return message_to(to, news, clean,
                    {"PATH=" + std::string(kSystemPath) + ":/usr/lib", "LANG=C.UTF-8"});
}

bool is_broken_mail_address(std::string_view to) {
  const std::size_t at = to.find('@');
  const bool is_whole = at > 0 && at + 1 < to.size() && to.rfind('@') == at;
  return !is_web_address(to) && is_address(to) && !is_whole;
}

std::string why_untold(const std::string& to) {
  const std::string folders = std::string(kSystemPath) + ":" + std::string(kMailPath);
  if (is_web_address(to)) {
    return has_program(folders, "curl") ? "" : "there is no curl to post with on this machine";
  }
  if (!is_address(to) || has_program(folders, "sendmail")) return "";
  return "there is no mail program (sendmail) on this machine";
}

Announcer::Announcer(const Parts& parts, Hooks hooks, live::Audience& others)
    : parts_(parts), hooks_(std::move(hooks)), others_(others), runs_(parts.loop) {}

// ---- What happens ----------------------------------------------------------------------------

std::optional<live::Command> Announcer::command_of(JobId id) const {
  const Job* const job = parts_.keeper.engine().view().find(id);
  BlobId blob;
  if (job != nullptr) {
    blob = job->spec.command;
  } else {
    const auto row = parts_.keeper.store().job(id);
    if (!row || !*row || (*row)->is_damaged) return std::nullopt;
    blob = (*row)->spec.command;
  }
  const auto bytes = parts_.keeper.store().blob(blob);
  const auto command = bytes ? live::decode_command(*bytes) : std::unexpected(bytes.error());
  return command ? std::optional(*command) : std::nullopt;
}

void Announcer::recover(const std::vector<JobId>& ended_early) {
  const ClusterView view = parts_.keeper.engine().view();
  for (const JobId id : view.running()) {
    if (const auto command = command_of(id)) begin(id, *command);
    if (const auto array = array_of(id)) begun_arrays_.insert(array->first);
  }
  for (const JobId id : ended_early) {
    const auto row = parts_.keeper.store().job(id);
    const bool is_well = row && *row && (*row)->end && (*row)->end->outcome == Outcome::Done;
    events_.push_back({id, is_well ? live::Occasion::End : live::Occasion::Fail});
  }
  tell_all();
}

void Announcer::begin(JobId id, const live::Command& command) {
  begun_[id] = command.notice;
  const Job* const job = parts_.keeper.engine().view().find(id);
  if (job != nullptr && hooks_.began) hooks_.began(*job, command);
}

void Announcer::on_step(const live::StepTaken& step) {
  for (const Input& input : step.inputs) {
    const auto* const started = std::get_if<Started>(&input);
    if (started == nullptr) continue;
    const auto command = command_of(started->job);
    if (!command) continue;
    const bool is_known = begun_.contains(started->job);
    begin(started->job, *command);
    if (is_known) continue;  // it starts again, or was found running
    const auto first = parts_.keeper.store().first_start_of(started->job, started->job);
    if (!first || *first != step.now) continue;  // its first start was told by an earlier daemon
    events_.push_back({started->job, live::Occasion::Start, step.now});
  }
  for (const Effect& effect : step.effects.list) {
    if (const auto* const finished = std::get_if<Finished>(&effect)) {
      const bool is_well = finished->outcome == Outcome::Done;
      events_.push_back({finished->job, is_well ? live::Occasion::End : live::Occasion::Fail});
    }
  }
  others_.on_step(step);
}

/// The rows of the step are written by now.
void Announcer::on_changed(const std::vector<JobId>& jobs) {
  others_.on_changed(jobs);
  tell_all();
}

/// Thousands may start or end in one step.
void Announcer::tell_all() {
  if (events_.empty() || std::exchange(is_telling_, true)) return;
  parts_.loop.ask_long(kNobodys, [this] { return tell_some(); });
}

/// Returns: whether there is more to tell.
bool Announcer::tell_some() {
  do {
    const Event event = events_.front();
    events_.pop_front();
    if (!begun_.contains(event.job)) {  // it ended without a start that this daemon saw
      const auto command = command_of(event.job);
      begun_[event.job] = command ? command->notice : std::nullopt;
    }
    announce(event);
    if (event.occasion != live::Occasion::Start) begun_.erase(event.job);
  } while (!events_.empty() && parts_.loop.has_time());
  is_telling_ = !events_.empty();
  if (!is_telling_) ended_arrays_.clear();
  return is_telling_;
}

namespace {

/// A failure is an end, too.
bool wants_to_hear(const std::vector<live::Occasion>& on, live::Occasion occasion) {
  const auto has = [&](live::Occasion one) { return std::ranges::find(on, one) != on.end(); };
  return has(occasion) || (occasion == live::Occasion::Fail && has(live::Occasion::End));
}

}  // namespace

/// The administrator's program is told of each job, its user of an array as of one.
void Announcer::announce(const Event& event) {
  const auto& notice = begun_[event.job];
  const auto array = notice ? array_of(event.job) : std::nullopt;
  const bool is_of_one =
      !array || event.occasion == live::Occasion::Idle || event.occasion == live::Occasion::Overuse;
  const bool hears_user = notice && is_of_one && wants_to_hear(notice->on, event.occasion);
  const Options& options = parts_.options;
  const bool hears_administrator =
      !options.notify_command.empty() && wants_to_hear(options.notify_on, event.occasion);
  if (hears_user || hears_administrator) {
    const auto job = hooks_.describe(event.job);
    if (hears_user) send_to({Listener::User, notice->to, event.job}, event, job);
    if (hears_administrator) {
      send_to({Listener::Administrator, options.notify_command, event.job}, event, job);
    }
  }
  if (!is_of_one) announce_array(event, *array);
}

/// Its first start, and the end of the last of its jobs: a failure if one of them is.
void Announcer::announce_array(const Event& event, const ArraySpan& array) {
  const live::Notice notice = *begun_[event.job];
  const journal::Store& store = parts_.keeper.store();
  Event whole = event;
  if (event.occasion == live::Occasion::Start) {
    if (!begun_arrays_.insert(array.first).second) return;
    const auto first = store.first_start_of(array.first, array.last);
    if (!first || *first != event.at) return;  // an earlier daemon told
  } else {
    const auto next = parts_.keeper.engine().view().job_from(array.first);
    if ((next && array.has(*next)) || !ended_arrays_.insert(array.first).second) return;
    begun_arrays_.erase(array.first);
    const auto failures = store.failures_of(array.first, array.last, 1);
    const bool is_well = failures && failures->empty();
    whole.occasion = is_well ? live::Occasion::End : live::Occasion::Fail;
  }
  if (wants_to_hear(notice.on, whole.occasion)) {
    send_to({Listener::User, notice.to, array.first}, whole, hooks_.describe_array(array));
  }
}

/// The array that a job is of, ended or not; nothing for one of one job.
std::optional<ArraySpan> Announcer::array_of(JobId id) const {
  ArrayPlace place;
  if (const Job* const job = parts_.keeper.engine().view().find(id)) {
    place = job->spec.conditions->array;
  } else if (const auto row = parts_.keeper.store().job(id); row && *row && !(*row)->is_damaged) {
    place = (*row)->spec.conditions->array;
  }
  return place.tasks > 1 ? berth::array_of(id, place) : std::nullopt;
}

void Announcer::send_to(const Address& address, const Event& event,
                        const Expected<std::string>& job) {
  const auto command = command_of(event.job);
  if (!command || !job) return;
  const News news{.occasion = event.occasion, .job = *job};
  if (address.listener == Listener::Administrator) {
    return send(
        {address.about, address.listener, message_of_administrator(address.to, news, *command)});
  }
  const auto bytes = parts_.keeper.store().blob(command->environment);
  const auto environment = bytes ? live::decode_environment(*bytes)
                                 : Expected<std::vector<std::string>>(std::vector<std::string>());
  send({address.about, address.listener,
        message_to(address.to, news, *command, environment.value_or(std::vector<std::string>()))});
}

// ---- Sending ---------------------------------------------------------------------------------

void Announcer::send(Waiting waiting) {
  if (waiting_.size() == kMostWaiting) drop_one();
  waiting_.push_back(std::move(waiting));
  parts_.loop.post([this] { send_next(); });  // the effects of the step come first
}

/// Of the lane with the most: who sends a lot takes no other's message away.
void Announcer::drop_one() {
  std::map<Lane, std::size_t> lengths;
  for (const Waiting& waiting : waiting_) ++lengths[waiting.lane()];
  const Lane longest =
      std::ranges::max_element(lengths, {}, [](const auto& lane) { return lane.second; })->first;
  const auto oldest = std::ranges::find(waiting_, longest, &Waiting::lane);
  note_failure(oldest->job, "was not sent: " + std::to_string(kMostWaiting) + " messages wait");
  waiting_.erase(oldest);
}

/// Messages of one job to one listener go one after the other, so that its end is not told before
/// its start. Every lane has a place, however many others hang: what a receiver holds up is its
/// own.
bool Announcer::may_go(const Waiting& waiting) const {
  const Lane lane = waiting.lane();
  std::size_t own = 0;
  for (const Sending& sending : sending_) {
    if (sending.lane != lane) continue;
    if (sending.job == waiting.job) return false;
    ++own;
  }
  return own == 0 || (own < kAtOnceOfLane && sending_.size() < kAtOnce);
}

void Announcer::note_failure(JobId job, const std::string& why) {
  const bool is_of_job = job != JobId(0);
  std::fprintf(stderr, "berthd: %s: %s\n",
               is_of_job ? ("job " + std::to_string(job.value()) + ": its notification").c_str()
                         : "an old snapshot stays",
               why.c_str());
  if (!is_of_job) return;
  untold_[job] = why;
  if (untold_.size() > kMostUntold) untold_.erase(untold_.begin());
}

std::string Announcer::failure_of(JobId job) const {
  const auto found = untold_.find(job);
  return found == untold_.end() ? "" : found->second;
}

void Announcer::send_next() {
  while (sending_.size() < kMostAtOnce) {
    const auto found =
        std::ranges::find_if(waiting_, [this](const Waiting& each) { return may_go(each); });
    if (found == waiting_.end()) return;
    const Waiting next = std::move(*found);
    waiting_.erase(found);
    const auto sending = sending_.insert(sending_.end(), {next.job, next.lane()});
    const auto started =
        runs_.start({.flag = kAnnounce,
                     .input = encode(next.message),
                     .variables = {},
                     .most = kPatience,
                     .ends_group = true},
                    [this, sending](const HelperEnd& end) { on_end(sending, end); });
    if (started) continue;
    sending_.erase(sending);
    note_failure(next.job, "was not sent: " + started.error().message);
  }
}

void Announcer::on_end(std::list<Sending>::iterator sending, const HelperEnd& end) {
  const JobId job = sending->job;
  sending_.erase(sending);
  if (end.is_well) {
    untold_.erase(job);
  } else {
    const std::string said = what_was_said(std::string_view(end.said).substr(0, kMostSaid));
    note_failure(
        job, end.was_too_slow ? "failed: it took longer than 30 s; " + said : "failed: " + said);
  }
  parts_.loop.post([this] { send_next(); });
}

}  // namespace berth::daemon
