#include "daemon/notices/audit.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/loop/json_text.hpp"

namespace berth::daemon {

namespace {

constexpr std::size_t kMostAsked = 2000;  ///< Bytes of a body that are kept.
constexpr std::size_t kMostWhy = 500;
constexpr int kUnanswered = 500;  ///< As the server answers then.

/// `2026-11-24T00:12:03.123456Z`.
std::string time_text() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::tm parts{};
  ::gmtime_r(&now.tv_sec, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string micros = std::to_string(1'000'000 + now.tv_nsec / 1000).substr(1);
  return std::string(text.data()) + "." + micros + "Z";
}

/// `submit`, `cancel`, `drain`: the last part of the path that is no number.
std::string what_of(std::string_view request) {
  const std::string_view path = request.substr(0, request.find('?'));
  if (path.ends_with("/v1/jobs")) return "submit";
  return std::string(path.substr(path.rfind('/') + 1));
}

/// The job in `POST /v1/jobs/7/cancel`; nothing for another handle than a number.
std::optional<std::int64_t> job_asked_of(std::string_view request) {
  constexpr std::string_view kJobs = "/v1/jobs/";
  const std::size_t at = request.find(kJobs);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string digits(request.substr(at + kJobs.size(), 18));
  char* end = nullptr;
  const long long job = std::strtoll(digits.c_str(), &end, 10);
  const bool is_number = job > 0 && (*end == '\0' || *end == '/' || *end == '?');
  return is_number ? std::optional<std::int64_t>(job) : std::nullopt;
}

/// What was asked, without the blanks that it may be blown up with, for padding must hide nothing:
/// its beginning where it is long. Here, as it comes in, and not on the engine's thread.
std::string without_blanks(std::string_view body) {
  std::string text;
  bool is_quoted = false;
  bool is_escaped = false;
  for (const char c : body) {
    const bool is_blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (is_blank && !is_quoted) continue;
    if (c == '"' && !is_escaped) is_quoted = !is_quoted;
    is_escaped = is_quoted && c == '\\' && !is_escaped;
    if (text.size() == kMostAsked) return text + "...";
    text += c;
  }
  return text;
}

/// As the object that it is; as a text where it is cut. Null for nothing.
Json asked_of(const std::string& body) {
  if (body.empty()) return nullptr;
  Json asked = Json::parse(body, nullptr, false);
  return asked.is_object() ? asked : Json(body);
}

std::string outcome_of(int status) {
  if (status < 300) return "done";
  return status < 500 ? "refused" : "failed";
}

/// What came of a request about several jobs, each of which may be refused by itself.
struct OfSeveral {
  Json changed = Json::array();  ///< Their numbers.
  Json refused = Json::array();  ///< `{handle, error}`.

  explicit OfSeveral(const Json& answer) {
    const auto list = [&](const char* key) {
      const bool is_list = answer.is_object() && answer.contains(key) && answer[key].is_array();
      return is_list ? answer[key] : Json::array();
    };
    const auto part = [](const Json& of, const char* key) {
      return of.is_object() ? of.value(key, Json()) : Json();
    };
    for (const Json& job : list("jobs")) changed.push_back(part(job, "id"));
    for (const Json& job : list("refused")) {
      refused.push_back({{"handle", part(job, "handle")}, {"error", part(job, "error")}});
    }
  }
  bool is_refusal() const { return changed.empty() && !refused.empty(); }
  /// Of the one job that it was about; null where they were several.
  Json job() const {
    if (changed.size() == 1) return changed[0];
    if (!is_refusal() || refused.size() > 1) return nullptr;
    if (!refused[0]["handle"].is_string()) return nullptr;
    const std::string handle = refused[0]["handle"].get<std::string>();
    std::int64_t number = 0;
    const char* const end = handle.data() + handle.size();
    return std::from_chars(handle.data(), end, number).ptr == end && number > 0 ? Json(number)
                                                                                : Json(handle);
  }
};

class Audited final : public http::Exchange {
 public:
  Audited(std::shared_ptr<http::Exchange> inner, Audit& audit)
      : inner_(std::move(inner)), audit_(audit) {
    const http::Request& request = inner_->request();
    record_.peer = request.peer;
    record_.request = request.method + " " + request.path;
    for (const auto& [key, value] : request.query) {
      record_.request += record_.request.contains('?') ? '&' : '?';
      record_.request.append(key).append("=").append(value);
    }
    const bool is_submission = request.path == "/v1/jobs";  // holds an environment
    if (!is_submission) record_.asked = without_blanks(request.body);
  }
  Audited(const Audited&) = delete;
  Audited& operator=(const Audited&) = delete;
  /// Dropped without an answer: whether it was done is not known here.
  ~Audited() override {
    if (is_answered_) return;
    record_.status = kUnanswered;
    audit_.add(record_);
  }
  const http::Request& request() const override { return inner_->request(); }
  std::string take_body() override { return inner_->take_body(); }
  void respond(http::Response response) override {
    if (is_answered_.exchange(true)) return;
    record_.status = response.status;
    record_.answer = response.body;
    audit_.add(record_);
    inner_->respond(std::move(response));
  }
  std::shared_ptr<http::Stream> stream(const std::string& content_type) override {
    return inner_->stream(content_type);
  }
  void note(UserId owner) { record_.owner = owner; }

 private:
  const std::shared_ptr<http::Exchange> inner_;
  Audit& audit_;
  Audit::Record record_;
  std::atomic<bool> is_answered_ = false;
};

/// A field of journald's protocol. Values have no newline: JSON escapes them.
std::string field(const char* name, const std::string& value) {
  return std::string(name) + "=" + value + "\n";
}

}  // namespace

Audit::Audit(AuditOptions options) : options_(std::move(options)) {
  const std::lock_guard lock(mutex_);
  open();
}

void Audit::open() {
  file_ = Descriptor(
      ::open(options_.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  struct stat status{};
  size_ = file_.is_open() && ::fstat(file_.number(), &status) == 0 ? status.st_size : 0;
}

void Audit::add(const Record& record) {
  const Json answer = Json::parse(record.answer, nullptr, false);
  const auto part = [&](const char* key) {
    return answer.is_object() && answer.contains(key) ? answer[key] : Json();
  };
  const std::lock_guard lock(mutex_);
  const std::string user = names_.of(record.peer.user);
  const std::string what = what_of(record.request);
  Json line = {{"at", time_text()},      {"user", user}, {"uid", record.peer.user},
               {"pid", record.peer.pid}, {"what", what}, {"request", record.request},
               {"status", record.status}};
  const OfSeveral several(answer);
  const std::string outcome = several.is_refusal() ? "refused" : outcome_of(record.status);
  line["outcome"] = outcome;
  Json job = job_asked_of(record.request) ? Json(*job_asked_of(record.request)) : part("id");
  if (job.is_null()) job = several.job();
  if (!job.is_null()) line["job"] = job;
  if (record.owner) line["owner"] = names_.of(record.owner->value());
  if (part("jobs").is_array()) {
    line["jobs"] = several.changed.size();
    if (!several.changed.empty() && several.changed.size() <= 100) {
      line["changed"] = several.changed;
    }
  }
  if (!several.refused.empty()) line["refused"] = several.refused.size();
  if (Json asked = asked_of(record.asked); !asked.is_null()) line["asked"] = std::move(asked);
  const Json why = several.refused.empty() ? part("error") : several.refused[0]["error"];
  if (why.is_string()) line["why"] = why.get<std::string>().substr(0, kMostWhy);
  const std::string message =
      user + ": " + what + (job.is_null() ? "" : " job " + job.dump()) + ": " + outcome;
  write(line.dump(-1, ' ', false, Json::error_handler_t::replace), message);
}

void Audit::add(const std::string& what, const std::string& outcome) {
  const std::lock_guard lock(mutex_);
  const Json line = {{"at", time_text()}, {"user", "berthd"}, {"what", what}, {"outcome", outcome}};
  write(line.dump(-1, ' ', false, Json::error_handler_t::replace), what + ": " + outcome);
}

/// It may have been moved away, as logrotate does, or removed.
bool Audit::is_in_place() const {
  struct stat there{};
  struct stat open{};
  return file_.is_open() && ::fstat(file_.number(), &open) == 0 &&
         ::stat(options_.path.c_str(), &there) == 0 && there.st_ino == open.st_ino &&
         there.st_dev == open.st_dev;
}

void Audit::write(const std::string& line, const std::string& message) {
  if (!is_in_place()) open();
  if (size_ + std::ssize(line) + 1 > options_.cap.raw() / 2 && size_ > 0) {
    static_cast<void>(::rename(options_.path.c_str(), (options_.path + ".1").c_str()));
    open();
  }
  const std::string text = line + "\n";
  const ssize_t written = file_.is_open() ? ::write(file_.number(), text.data(), text.size()) : -1;
  if (written == std::ssize(text)) {
    size_ += written;
    has_failed_ = false;
  } else if (!std::exchange(has_failed_, true)) {
    std::fprintf(stderr, "berthd: %s: a line is lost: %s\n", options_.path.c_str(),
                 std::strerror(errno));
  }
  if (!options_.journal.empty()) tell_journal(line, message);
}

void Audit::tell_journal(const std::string& line, const std::string& message) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (options_.journal.size() >= sizeof address.sun_path) return;
  options_.journal.copy(address.sun_path, options_.journal.size());
  if (!journal_.is_open()) {
    journal_ = Descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  }
  const Json json = Json::parse(line);
  const auto text = [&](const char* key) {
    if (!json.contains(key)) return std::string();
    return json[key].is_string() ? json[key].get<std::string>() : json[key].dump();
  };
  std::string fields = field("SYSLOG_IDENTIFIER", "berthd") + field("PRIORITY", "6");
  std::string shown = message;
  std::ranges::replace(shown, '\n', ' ');
  fields += field("MESSAGE", shown) + field("BERTH_AUDIT", line);
  for (const auto& [name, key] : {std::pair("BERTH_USER", "user"),
                                  {"BERTH_WHAT", "what"},
                                  {"BERTH_JOB", "job"},
                                  {"BERTH_OUTCOME", "outcome"}}) {
    std::string value = text(key);
    std::ranges::replace(value, '\n', ' ');
    if (!value.empty()) fields += field(name, value);
  }
  ::sendto(journal_.number(), fields.data(), fields.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
           reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

std::shared_ptr<http::Exchange> audited(std::shared_ptr<http::Exchange> exchange, Audit& audit) {
  return std::make_shared<Audited>(std::move(exchange), audit);
}

void note_owner(http::Exchange& exchange, UserId owner) {
  if (auto* const known = dynamic_cast<Audited*>(&exchange)) known->note(owner);
}

}  // namespace berth::daemon
