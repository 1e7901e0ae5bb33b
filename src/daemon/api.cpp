#include "daemon/api.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/handle.hpp"
#include "core/text.hpp"
#include "core/words.hpp"
#include "daemon/admit.hpp"
#include "daemon/after_search.hpp"
#include "daemon/audit.hpp"
#include "daemon/doctor.hpp"
#include "daemon/first_jobs.hpp"
#include "daemon/hiding.hpp"
#include "daemon/hints.hpp"
#include "daemon/job_changes.hpp"
#include "daemon/json_text.hpp"
#include "daemon/listing.hpp"
#include "daemon/metrics.hpp"
#include "daemon/queries.hpp"
#include "daemon/requests.hpp"
#include "daemon/reservations.hpp"
#include "daemon/roles.hpp"
#include "daemon/selection.hpp"
#include "daemon/usage.hpp"

namespace berth::daemon {

namespace {

using Exchange = std::shared_ptr<http::Exchange>;

constexpr int kNoRoom = 507;
constexpr std::size_t kMostListed = std::size_t{64} << 20;  ///< Bytes of the jobs of handles.
/// Of a body that the server's thread reads by itself, as quickly as it reads the rest of a
/// request: the thousand connections that one user may have delay others by little.
constexpr std::size_t kSmallBody = std::size_t{4} << 10;
constexpr int kFewLooks = 16;  ///< What most handles need; others have their slices.

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
    case ErrorCode::BadData:
      return 400;
    case ErrorCode::NotFound:
      return 404;
    case ErrorCode::Conflict:
      return 409;
    case ErrorCode::Io:
      return 500;
  }
  return 500;
}

void refuse(const Exchange& exchange, int status, const std::string& message) {
  exchange->respond({.status = status, .body = http::error_body(message)});
}

void refuse(const Exchange& exchange, const Error& error) {
  refuse(exchange, status_of(error.code), error.message);
}

void answer(const Exchange& exchange, const Json& json) {
  exchange->respond({.status = 200, .body = to_body(json)});
}

void answer(const Exchange& exchange, Expected<std::string> json) {
  if (!json) return refuse(exchange, json.error());
  exchange->respond({.status = 200, .body = std::move(*json)});
}

bool is_memory_learned(const JobSpec& spec) {
  return spec.request.gpu.vram == Bytes(0) && spec.vram_estimate > Bytes(0) &&
         spec.request.gpu.sharing != Sharing::Alone;
}

std::string learned_memory_text(const JobSpec& spec) {
  return "without --vram the job is charged " + to_text(spec.vram_estimate) +
         " per GPU, by the peaks of earlier runs of this program; say --vram SIZE, or --vram max, "
         "to have it charged otherwise";
}

/// A daemon without root cannot become anybody else.
bool serves(const http::Peer& peer) { return ::geteuid() == 0 || peer.user == ::geteuid(); }

bool is_read(std::string_view method) { return method == "GET" || method == "HEAD"; }

/// By what it does, not by what it says of itself: the one POST that changes nothing is a
/// submission which is a dry run.
bool may_change(const http::Request& request) {
  if (is_read(request.method)) return false;
  const bool is_submission = request.method == "POST" && request.path == "/v1/jobs";
  return !(is_submission && query_flag(request, "dry_run").value_or(false));
}

class Api {
 public:
  explicit Api(Daemon& daemon) : daemon_(daemon), changes_(daemon) {}

  void operator()(const Exchange& given) {
    const http::Request& request = given->request();
    if (request.body.size() <= kSmallBody) return answer_to(given);
    daemon_.read_body_for(request.peer.user, [this, given] { answer_to(given); });
  }

 private:
  void answer_to(const Exchange& given) {
    const Exchange exchange =
        may_change(given->request()) ? audited(given, daemon_.audit()) : given;
    const http::Request& request = exchange->request();
    const std::string_view path = request.path;
    if (path == "/metrics" && is_read(request.method)) return metrics(exchange);
    if (!path.starts_with("/v1/")) return refuse(exchange, 404, request.path + ": no such path");
    const std::string_view rest = path.substr(4);
    if (rest.starts_with("jobs/")) return one_job(exchange, rest.substr(5));
    const bool is_post = request.method == "POST";
    if (rest == "jobs" && is_post) return submit(exchange);
    if (const auto verb = job_verb(rest)) {
      return is_post ? change_many(exchange, *verb) : wrong_method(exchange);
    }
    if (rest == "drain" && is_post) return drain(exchange, Draining::Begin);
    if (rest == "undrain" && is_post) return drain(exchange, Draining::End);
    if (rest == "reserve" && is_post) return reserve(exchange);
    if (rest == "unreserve" && is_post) return unreserve(exchange);
    if (rest == "reload" && is_post) return reload(exchange);
    const bool is_known = rest == "jobs" || rest == "gpus" || rest == "doctor" ||
                          rest == "events" || rest == "version" || rest == "starts" ||
                          rest == "usage" || rest == "reservations";
    if (!is_known) return refuse(exchange, 404, request.path + ": no such path");
    if (!is_read(request.method)) return wrong_method(exchange);
    if (rest == "jobs") return list(exchange);
    if (rest == "events") return events(exchange);
    if (rest == "starts") return starts(exchange);
    if (rest == "usage") return usage(exchange);
    in_slices(exchange, [this, what = std::string(rest)](const Exchange& asked) {
      if (what == "gpus") return answer(asked, daemon_.presenter().gpus(viewer(asked)));
      if (what == "reservations") return answer(asked, reservations());
      if (what == "doctor") return answer(asked, examine(daemon_));
      return answer(asked, version());
    });
  }

  /// What becomes of a submission: a dry run changes nothing.
  enum class Taking : std::uint8_t { Really, Dry };

  /// Goes on with this request on the daemon's thread.
  template <class Then>
  void on_loop(const Exchange& exchange, Then then) {
    daemon_.on_turn_of(exchange->request().peer.user,
                       [exchange, then = std::move(then)] { then(exchange); });
  }

  /// The same for what takes a millisecond and is no hurry.
  template <class Then>
  void in_slices(const Exchange& exchange, Then then) {
    daemon_.in_slices_for(exchange->request().peer.user, [exchange, then = std::move(then)] {
      then(exchange);
      return false;
    });
  }

  Rights rights(const Exchange& exchange) const {
    return rights_of(exchange->request().peer, daemon_.options().roles);
  }
  /// On the loop's thread, as the configuration may change.
  Viewer viewer(const Exchange& exchange) const {
    return {.user = UserId(exchange->request().peer.user),
            .sees_all = !daemon_.options().hide_arguments || rights(exchange) == Rights::Admin,
            .is_admin = rights(exchange) == Rights::Admin};
  }
  /// Whether the peer has these rights; if not, an answer was given. On the loop's thread.
  bool has(Rights needed, const Exchange& exchange) {
    if (rights(exchange) >= needed) return true;
    const std::string who = changes_.user_text(exchange->request().peer.user);
    refuse(exchange, 403,
           needed == Rights::Admin
               ? "only an administrator may do that (root, berthd's own user, `admins` in "
                 "berth.toml), you are " +
                     who
               : "only an operator may do that (`operators` in berth.toml, and administrators), "
                 "you are " +
                     who);
    return false;
  }

  void wrong_method(const Exchange& exchange) {
    const http::Request& request = exchange->request();
    refuse(exchange, 405, request.method + " " + request.path + ": method not allowed here");
  }

  Json version() {
    const Options& options = daemon_.options();
    const Settings& settings = daemon_.keeper().engine().view().settings();
    return {{"version", BERTH_VERSION},
            {"api", 1},
            {"schema", journal::kSchema},
            {"pid", ::getpid()},
            {"user", ::geteuid()},
            {"policy", options.rules.policy},
            {"place", options.rules.place},
            {"admission", word_for(settings.admission.mode)},
            {"emulated", daemon_.machine().emulated},
            {"state_directory", options.state}};
  }

  void submit(const Exchange& exchange) {
    const http::Request& request = exchange->request();
    if (!serves(request.peer)) {
      return refuse(exchange, 403,
                    "uid " + std::to_string(request.peer.user) + " asks a daemon of uid " +
                        std::to_string(::geteuid()) +
                        ", which serves only its own user, because it is not root");
    }
    if (!request.content_type.empty() && !request.content_type.starts_with("application/json")) {
      return refuse(
          exchange, 415,
          "content type '" + request.content_type.substr(0, 60) + "', must be application/json");
    }
    const auto is_dry = query_flag(request, "dry_run");
    if (!is_dry) return refuse(exchange, is_dry.error());
    auto job =
        parse_submission(exchange->take_body(), request.peer,
                         {.cpu = daemon_.default_cpu(), .shrinks = daemon_.options().shrinks});
    if (!job) return refuse(exchange, job.error());
    const uid_t user = request.peer.user;
    const Taking taking = *is_dry ? Taking::Dry : Taking::Really;
    if (!job->after.empty()) return find_after(exchange, std::move(*job), taking);
    daemon_.on_turn_of(user, [this, exchange, taking, job = std::move(*job)]() mutable {
      take(exchange, std::move(job), taking);
    });
  }

  /// The jobs to wait for may be thousands, so they are looked for in slices.
  void find_after(const Exchange& exchange, live::Submission job, Taking taking) {
    const auto search =
        std::make_shared<AfterSearch>(std::exchange(job.after, {}), find_jobs_of(daemon_.keeper()));
    const auto kept = std::make_shared<live::Submission>(std::move(job));
    daemon_.in_slices_for(exchange->request().peer.user, [this, exchange, taking, search, kept] {
      const auto more = search->advance([this] { return daemon_.has_time(); });
      if (more && *more) return true;
      if (!more) {
        refuse(exchange, more.error());
        return false;
      }
      kept->spec.conditions.edit().after = search->take();
      take(exchange, std::move(*kept), taking);
      return false;
    });
  }

  void take(const Exchange& exchange, live::Submission job, Taking taking) {
    const Cluster& cluster = daemon_.keeper().engine().view().cluster();
    if (auto done = accept_gpus(job, cluster); !done) return refuse(exchange, done.error());
    if (auto done = check_share(job, daemon_); !done) {
      return refuse(exchange, 422, done.error().message);
    }
    const live::Keeper& keeper = daemon_.keeper();
    const std::string& key = job.spec.conditions->unique;
    if (const auto same = keeper.engine().job_with_key(job.spec.user, key); !key.empty() && same) {
      Json json = daemon_.presenter().brief(*same);
      json["already"] = key;
      return answer(exchange, json);
    }
    if (auto done = check_machine(job, daemon_); !done) {
      return refuse(exchange, 422, done.error().message);
    }
    if (taking == Taking::Dry) {
      JobSpec spec = daemon_.keeper().with_estimate(job.spec, job.command);
      if (auto done = keeper.note_ended(spec); !done) return refuse(exchange, done.error());
      return look_ahead(exchange, Wish{spec, job.held});
    }
    if (Remote* const remote = daemon_.remote()) {
      return submit_there(*remote, exchange, std::move(job));
    }
    const auto kept = std::make_shared<live::Submission>(std::move(job));
    with_own_count(exchange, *kept, [this, exchange, kept] { take_room(exchange, kept); });
  }

  /// What a user's jobs take is counted again where they may have less than is known.
  template <class Then>
  void with_own_count(const Exchange& exchange, const live::Submission& job, Then then) {
    live::UserTotals& totals = daemon_.user_totals();
    if (!totals.may_have_less(daemon_.keeper(), job)) return then();
    const auto count =
        std::make_shared<live::UserTotals::Count>(live::UserTotals::Count{.user = job.spec.user});
    daemon_.in_slices_for(exchange->request().peer.user, [this, count, then = std::move(then)] {
      const auto has_time = [this] { return daemon_.has_time(); };
      if (daemon_.user_totals().count(*count, daemon_.keeper(), has_time)) return true;
      then();
      return false;
    });
  }

  static std::int64_t jobs_of(const live::Submission& job) {
    return std::max<std::int64_t>(1, std::ssize(job.tasks));
  }

  void take_room(const Exchange& exchange, const std::shared_ptr<live::Submission>& kept) {
    live::Submission& job = *kept;
    const auto taken = daemon_.user_totals().take(daemon_.keeper(), job);
    if (!taken) return refuse(exchange, 429, taken.error().message);
    if (job.more_arguments.empty() && job.more_environment.empty()) {
      return take_in(exchange, std::move(job));
    }
    daemon_.in_slices_for(exchange->request().peer.user, [this, exchange, kept] {
      Expected<bool> more = true;
      do {
        more = daemon_.store_part(*kept);
      } while (more && *more && daemon_.has_time());
      if (more && *more) return true;
      if (more) take_in(exchange, std::move(*kept));
      if (!more) refuse(exchange, kNoRoom, "nothing was changed: " + more.error().message);
      return false;
    });
  }

  void take_in(const Exchange& exchange, live::Submission job) {
    auto warnings = warnings_for(job);
    const auto jobs = jobs_of(job);
    daemon_.ask({.submission = std::move(job),
                 .inputs = {},
                 .exchange = exchange,
                 .answer = [this, warnings = std::move(warnings), jobs](JobId id) {
                   Json json = daemon_.presenter().brief(id);
                   json.erase("handle");  // the number is that of all of them
                   if (jobs > 1) json["jobs"] = jobs;
                   json["warnings"] = warnings;
                   const Job* const known = daemon_.keeper().engine().view().find(id);
                   if (known != nullptr && is_memory_learned(known->spec)) {
                     json["vram_learned_bytes"] = known->spec.vram_estimate.raw();
                     json["warnings"].push_back(learned_memory_text(known->spec));
                   }
                   return http::Response{.status = 201, .body = to_body(json)};
                 }});
  }

  /// What will not go as its user may think.
  std::vector<std::string> warnings_for(const live::Submission& job) const {
    std::vector<std::string> warnings = memory_warnings(job.command.arguments, job.spec.request.gpu,
                                                        daemon_.machine().devices.list);
    if (!job.command.notice) return warnings;
    const std::string why = why_untold(job.command.notice->to);
    if (!why.empty()) {
      warnings.push_back("--notify " + job.command.notice->to + " may reach nobody: " + why);
    }
    return warnings;
  }

  void submit_there(Remote& remote, const Exchange& exchange, live::Submission job) {
    remote.submit(std::move(job), [this, exchange](const Expected<JobId>& id) {
      if (!id) return refuse(exchange, id.error());
      Json json = daemon_.presenter().brief(*id);
      json["warnings"] = Json::array();
      exchange->respond({.status = 201, .body = to_body(json)});
    });
  }

  /// Answered on another thread; why a job that has ended waits no more is known at once.
  void why(const Exchange& exchange, JobId id) {
    if (daemon_.keeper().engine().view().knows(id)) return look_ahead(exchange, id);
    if (const auto job = daemon_.presenter().job(id, viewer(exchange)); !job) {
      return refuse(exchange, job.error());
    }
    Json json = daemon_.presenter().brief(id);
    json["reason"] = "it has ended";
    answer(exchange, json);
  }

  /// With all jobs, or where there are too many with the first ones of every user.
  void look_ahead(const Exchange& exchange, Subject about) {
    if (daemon_.keeper().engine().view().job_count() <= Forecaster::kMostJobs) {
      return look_ahead_now(exchange, {.about = std::move(about), .now = {}, .exchange = exchange});
    }
    with_first_jobs(exchange,
                    [this, about = std::move(about)](const Exchange& asked, FirstJobs& first) {
                      Question question{.about = about, .now = {}, .exchange = asked};
                      choose_jobs(question, first);
                      const auto* const job = std::get_if<JobId>(&about);
                      if (job != nullptr && !daemon_.keeper().engine().view().knows(*job))
                        return why(asked, *job);
                      look_ahead_now(asked, std::move(question));
                    });
  }

  /// Finds them in slices, and goes on.
  template <class Then>
  void with_first_jobs(const Exchange& exchange, Then then) {
    const auto first = std::make_shared<FirstJobs>(Forecaster::kMostJobs);
    daemon_.in_slices_for(exchange->request().peer.user,
                          [this, exchange, first, then = std::move(then)] {
                            const ClusterView view = daemon_.keeper().engine().view();
                            if (first->advance(view, [this] { return daemon_.has_time(); }))
                              return true;
                            then(exchange, *first);
                            return false;
                          });
  }

  /// The first ones, and what the question is about with all that it waits for.
  void choose_jobs(Question& question, FirstJobs& first) {
    const ClusterView view = daemon_.keeper().engine().view();
    std::vector<JobId> chosen = first.take();
    std::vector<JobId> about;
    if (const auto* const job = std::get_if<JobId>(&question.about)) {
      about.push_back(*job);
      const Job* const known = view.find(*job);
      const bool comes = known != nullptr && comes_by_itself(*known);
      question.is_beyond = comes && !std::ranges::binary_search(chosen, *job);
    } else if (const auto* const wish = std::get_if<Wish>(&question.about)) {
      for (const Dependency& on : wish->spec.conditions->after) about.push_back(on.job);
      question.is_beyond = first.leaves_out(wish->spec.user);
    }
    about = with_what_they_wait_for(view, std::move(about), Forecaster::kMostJobs);
    std::vector<JobId> all;
    std::ranges::set_union(chosen, about, std::back_inserter(all));
    question.first = std::move(all);
    question.waiting = first.waiting();
  }

  void look_ahead_now(const Exchange& exchange, Question question) {
    const Subject& about = question.about;
    const auto* const job = std::get_if<JobId>(&about);
    const std::string note =
        job == nullptr
            ? ""
            : Sight(daemon_.keeper().engine().view().find(*job)->spec.user, viewer(exchange))
                  .note(daemon_.keeper().note_of(*job));
    std::string limit = job == nullptr ? "" : daemon_.presenter().rung_line(*job);
    std::string links = job == nullptr ? "" : daemon_.presenter().links_line(*job);
    question.now = daemon_.now();
    question.note = note;
    question.memory_limit = std::move(limit);
    question.links = std::move(links);
    question.foreign = daemon_.presenter().foreign_texts();
    if (job == nullptr || may_update(exchange, *job)) {
      question.fixed = fixed();
    } else {
      question.fixed = {kAllWanting.begin(), kAllWanting.end()};
    }
    const auto asked = daemon_.forecaster().ask(daemon_.keeper().engine(), std::move(question));
    if (!asked) refuse(exchange, 503, asked.error().message);
  }

  /// Requires: the engine knows the job.
  bool may_update(const Exchange& exchange, JobId id) const {
    const UserId owner = daemon_.keeper().engine().view().find(id)->spec.user;
    return owner == UserId(exchange->request().peer.user) || rights(exchange) >= Rights::Operator;
  }

  /// What is not changed by an update here.
  std::set<Wanting> fixed() const {
    const Remote* const remote = daemon_.remote();
    if (remote == nullptr) return {};
    std::set<Wanting> fixed = {Wanting::Gpus, Wanting::Types, Wanting::Only};
    if (!remote->why_fixed("time_limit_seconds").empty()) fixed.insert(Wanting::Time);
    if (!remote->why_fixed("vram_bytes").empty()) fixed.insert(Wanting::Vram);
    return fixed;
  }

  void starts(const Exchange& exchange) {
    in_slices(exchange, [this](const Exchange& asked) {
      const Engine& engine = daemon_.keeper().engine();
      const Question question{
          .about = EachStart{}, .now = daemon_.now(), .exchange = asked, .fixed = fixed()};
      if (daemon_.forecaster().answer_again(engine, question)) return;
      if (engine.view().job_count() <= Forecaster::kMostJobs) return ask_each(asked, question);
      with_first_jobs(asked, [this](const Exchange& exchange_of, FirstJobs& first) {
        Question each{
            .about = EachStart{}, .now = daemon_.now(), .exchange = exchange_of, .fixed = fixed()};
        choose_jobs(each, first);
        ask_each(exchange_of, std::move(each));
      });
    });
  }

  void ask_each(const Exchange& exchange, Question question) {
    const auto done = daemon_.forecaster().ask_each(daemon_.keeper().engine(), std::move(question));
    if (!done) refuse(exchange, 503, done.error().message);
  }

  void metrics(const Exchange& exchange) {
    in_slices(exchange, [this](const Exchange& asked) {
      const Json gpus = daemon_.presenter().gpus(viewer(asked));
      asked->respond({.status = 200,
                      .body = open_metrics({.view = daemon_.keeper().engine().view(),
                                            .gpus = gpus,
                                            .policy = daemon_.options().rules.policy,
                                            .turns = daemon_.turns()},
                                           names_),
                      .content_type = kOpenMetrics});
    });
  }

  void usage(const Exchange& exchange) {
    const auto since = query_number(exchange->request(), "since", std::uint64_t{1} << 40);
    if (!since) return refuse(exchange, since.error());
    const Instant from = kStart + seconds(static_cast<std::int64_t>(since->value_or(0)));
    auto sums = std::make_shared<std::optional<UsageSums>>();
    daemon_.in_slices_for(exchange->request().peer.user, [this, exchange, from, sums] {
      if (!*sums) {
        sums->emplace(daemon_.keeper(), from, daemon_.now(), largest_gpu());
      }
      const auto more = (*sums)->advance([this] { return daemon_.has_time(); });
      if (more && *more) return true;
      if (!more) {
        refuse(exchange, more.error());
        return false;
      }
      Json groups = (*sums)->take([this](UserId user) { return names_.of(user.value()); });
      answer(exchange, {{"since", micros(from) / 1'000'000},
                        {"until", micros(daemon_.now()) / 1'000'000},
                        {"groups", std::move(groups)}});
      return false;
    });
  }

  Bytes largest_gpu() const {
    Bytes largest(0);
    for (const GpuSpec& gpu : daemon_.keeper().engine().view().cluster().gpus()) {
      largest = std::max(largest, gpu.capacity);
    }
    return largest;
  }

  // ---- Jobs by their handles -----------------------------------------------------------------

  /// What handles stand for.
  struct Found {
    std::vector<JobId> jobs;
    bool is_one = false;                ///< One job was asked for, by its own handle.
    std::optional<ArraySpan> array;     ///< An array was, by its number or name.
    std::set<JobId> wholes = {};        ///< Arrays among them by their number or name.
    std::vector<Missing> missing = {};  ///< Handles of jobs to change that stand for none.
  };
  struct Search {
    Search(const live::Keeper& keeper, Wanted wanted)
        : jobs(keeper), selection(jobs, std::move(wanted)) {}
    KeptJobs jobs;
    Selection selection;
  };

  /// Looks the jobs up on the loop's thread, and goes on there with what was found. An answer is
  /// given for handles that stand for nothing.
  template <class Then>
  void find(const Exchange& exchange, Wanted wanted, Then then) {
    const auto search = std::make_shared<Search>(daemon_.keeper(), std::move(wanted));
    const auto go_on = [exchange, search, then](const std::function<bool()>& has_time) {
      Selection& selection = search->selection;
      const auto more = selection.advance(has_time);
      if (more && *more) return true;
      if (!more) {
        refuse(exchange, more.error());
      } else {
        then(exchange, Found{.jobs = selection.take(),
                             .is_one = selection.is_one(),
                             .array = selection.array(),
                             .wholes = selection.wholes(),
                             .missing = selection.missing()});
      }
      return false;
    };
    on_loop(exchange, [this, go_on](const Exchange& asked) {
      int looks = 0;
      if (!go_on([&looks] { return ++looks < kFewLooks; })) return;
      daemon_.in_slices_for(asked->request().peer.user,
                            [this, go_on] { return go_on([this] { return daemon_.has_time(); }); });
    });
  }

  /// The same for one job. An answer is given for what stands for several.
  template <class Then>
  void find_one(const Exchange& exchange, const std::vector<Handle>& handles, Then then) {
    find(exchange, wanted(exchange, handles), [then](const Exchange& asked, const Found& found) {
      if (found.jobs.size() == 1) return then(asked, found.jobs.front());
      const std::string count = std::to_string(found.jobs.size()) + " jobs";
      if (!found.array) return refuse(asked, 400, "these are " + count + "; name one");
      const std::string array = std::to_string(found.array->first.value());
      refuse(asked, 400, "array " + array + " is " + count + "; name one, as " + array + "_1");
    });
  }

  /// All jobs, ended or not, that these stand for where the peer asks.
  static Wanted wanted(const Exchange& exchange, const std::vector<Handle>& handles) {
    return {.handles = handles,
            .users = {},
            .own = UserId(exchange->request().peer.user),
            .among = Among::All};
  }

  /// What is listed of handles.
  struct Rows {
    std::vector<JobId> jobs;
    std::set<JobId> wholes;  ///< Arrays that get one row.
    std::size_t at = 0;
    std::string text = "{\"jobs\":[";
    std::map<JobId, JobId> told = {};  ///< Of `wholes`: the first of its jobs, and the last.

    bool has_told(JobId job) const {
      const auto next = told.upper_bound(job);
      return next != told.begin() && std::prev(next)->second >= job;
    }
  };

  /// Of a job, or of the whole array that it is of.
  Expected<void> add_row(Rows& rows, JobId id, Reasons& reasons, const Viewer& who) {
    const auto row = daemon_.keeper().store().job(id);
    if (!row) return std::unexpected(row.error());
    if (!*row) return fail(ErrorCode::NotFound, changes_.name_of(id) + ": no such job");
    if (rows.text.back() == '}') rows.text += ',';
    const auto span = array_of(id, (*row)->spec.conditions->array);
    if (!span || !rows.wholes.contains(span->first)) {
      daemon_.presenter().append_row(rows.text, **row, reasons, who);
      return {};
    }
    const auto array = array_row(daemon_.keeper(), *span);
    if (!array) return std::unexpected(array.error());
    rows.told.emplace(span->first, span->last);
    daemon_.presenter().append_array(rows.text, *array, reasons, who);
    return {};
  }

  /// The rows of these, in slices.
  void list_found(const Exchange& exchange, const Found& found, Page::Arrays arrays) {
    const auto rows = std::make_shared<Rows>(Rows{.jobs = found.jobs, .wholes = {}});
    if (arrays == Page::Arrays::Whole) rows->wholes = found.wholes;
    daemon_.in_slices_for(exchange->request().peer.user, [this, exchange, rows] {
      Reasons reasons = daemon_.presenter().reasons();
      const Viewer who = viewer(exchange);
      while (rows->at < rows->jobs.size()) {
        if (rows->text.size() > kMostListed) {
          refuse(exchange, 400,
                 "these are " + std::to_string(rows->jobs.size()) +
                     " jobs, and one answer holds the first " + std::to_string(rows->at) +
                     " of them; name fewer");
          return false;
        }
        const JobId id = rows->jobs[rows->at++];
        if (!rows->has_told(id)) {
          if (auto done = add_row(*rows, id, reasons, who); !done) {
            refuse(exchange, done.error());
            return false;
          }
        }
        if (!daemon_.has_time() && rows->at < rows->jobs.size()) return true;
      }
      exchange->respond({.status = 200, .body = std::move(rows->text) + "]}"});
      return false;
    });
  }

  void list(const Exchange& exchange) {
    const http::Request& request = exchange->request();
    const auto is_chosen = query_flag(request, "chosen");
    if (!is_chosen) return refuse(exchange, is_chosen.error());
    if (*is_chosen || request.parameter("jobs")) {
      const auto asked_for = parse_wanted(request);
      if (!asked_for) return refuse(exchange, asked_for.error());
      const auto whole = query_flag(request, "whole_arrays");
      if (!whole) return refuse(exchange, whole.error());
      const auto arrays = *whole ? Page::Arrays::Whole : Page::Arrays::InTasks;
      return find(exchange, *asked_for, [this, arrays](const Exchange& asked, const Found& found) {
        list_found(asked, found, arrays);
      });
    }
    const auto page = parse_page(exchange->request());
    if (!page) return refuse(exchange, page.error());
    // Made when its turn has come: a page that waits costs nothing.
    auto listing = std::make_shared<std::optional<Listing>>();
    daemon_.in_slices_for(exchange->request().peer.user, [this, exchange, page = *page, listing] {
      if (!*listing)
        listing->emplace(daemon_.keeper(), daemon_.presenter(), page, viewer(exchange));
      const auto more = (*listing)->advance([this] { return daemon_.has_time(); });
      if (more && *more) return true;
      answer(exchange,
             more ? Expected<std::string>((*listing)->take()) : std::unexpected(more.error()));
      return false;
    });
  }

  void events(const Exchange& exchange) {
    const auto text = exchange->request().parameter("job");
    if (!text) {
      return on_loop(exchange, [this](const Exchange& asked) { follow(asked, std::nullopt); });
    }
    const auto handles = parse_handles(*text);
    if (!handles) return refuse(exchange, handles.error());
    find_one(exchange, *handles, [this](const Exchange& asked, JobId id) { follow(asked, id); });
  }

  void follow(const Exchange& exchange, std::optional<JobId> job) {
    Expected<std::string> now = "";
    if (job) now = daemon_.presenter().job(*job, viewer(exchange));
    if (!now) return refuse(exchange, now.error());
    const std::string why_not = job ? "" : daemon_.followers().why_not(viewer(exchange).user);
    if (!why_not.empty()) return refuse(exchange, 429, why_not);
    const auto stream = exchange->stream("text/event-stream");
    stream->write(job ? "event: job\ndata: " + *now + "\n\n" : ": listening\n\n");
    const bool over = job && !daemon_.keeper().engine().view().knows(*job);
    if (over) return stream->close();
    daemon_.followers().follow(stream, job, viewer(exchange));
  }

  // ---- /v1/jobs/ID and below -------------------------------------------------------------------

  void one_job(const Exchange& exchange, std::string_view rest) {
    const std::size_t slash = rest.find('/');
    const auto handles = parse_handles(rest.substr(0, slash));
    const std::string verb(slash == std::string_view::npos ? "" : rest.substr(slash + 1));
    const auto change = job_verb(verb);
    const bool changes = change || verb == "attach" || verb == "leave";
    if (!changes && verb != "log" && verb != "why" && !verb.empty()) {
      return refuse(exchange, 404, exchange->request().path + ": no such path");
    }
    const std::string& method = exchange->request().method;
    if (changes ? method != "POST" : !is_read(method)) return wrong_method(exchange);
    if (!handles) return refuse(exchange, handles.error());
    if (verb == "log") return log(exchange, *handles);
    if (verb == "attach") return attach(exchange, *handles);
    if (change) return change_named(exchange, *change, *handles);
    if (verb == "leave") {
      return find_one(exchange, *handles,
                      [this](const Exchange& asked, JobId id) { leave(asked, id); });
    }
    find(exchange, wanted(exchange, *handles),
         [this, is_why = verb == "why"](const Exchange& asked, const Found& found) {
           is_why ? why(asked, found) : show(asked, found);
         });
  }

  void show(const Exchange& exchange, const Found& found) {
    if (found.array)
      return answer(exchange, daemon_.presenter().array(*found.array, viewer(exchange)));
    if (found.jobs.size() != 1) {
      return refuse(exchange, 400,
                    "these are " + std::to_string(found.jobs.size()) +
                        " jobs; GET /v1/jobs?jobs= lists them");
    }
    const JobId id = found.jobs.front();
    auto command = daemon_.presenter().long_command(id, viewer(exchange));
    if (!command) return answer(exchange, detail(exchange, id, Presenter::Words::All));
    struct Long {
      Presenter::LongCommand command;
      std::size_t at = 0;
    };
    const auto words = std::make_shared<Long>(Long{.command = std::move(*command)});
    daemon_.in_slices_for(exchange->request().peer.user, [this, exchange, id, words] {
      std::string& json = words->command.json;
      while (words->at < words->command.more.size()) {
        if (auto done = append_arguments(json, words->command.more[words->at++]); !done) {
          refuse(exchange, done.error());
          return false;
        }
        if (!daemon_.has_time()) return true;
      }
      auto rest = detail(exchange, id, Presenter::Words::None);
      if (rest) {
        json += "],";
        json.append(*rest, 1);
        *rest = std::move(json);
      }
      answer(exchange, std::move(rest));
      return false;
    });
  }

  Expected<void> append_arguments(std::string& json, BlobId part) {
    const auto blob = daemon_.keeper().store().blob(part);
    const auto list = blob ? live::decode_environment(*blob) : std::unexpected(blob.error());
    if (!list) return std::unexpected(list.error());
    for (const std::string& word : *list) {
      json += ',';
      append_json(json, word);
    }
    return {};
  }

  Expected<std::string> detail(const Exchange& exchange, JobId id, Presenter::Words words) {
    auto detail = daemon_.presenter().detail(id, viewer(exchange), log_size(id), words);
    if (Remote* const remote = daemon_.remote(); remote != nullptr && detail) {
      detail->back() = ',';
      *detail += to_body({{"output_file", remote->output_of(id)}}).substr(1);
    }
    return detail;
  }

  /// Of an array why its next job waits.
  void why(const Exchange& exchange, const Found& found) {
    if (!found.array && found.jobs.size() != 1) {
      return refuse(exchange, 400,
                    "these are " + std::to_string(found.jobs.size()) + " jobs; ask of one");
    }
    if (!found.array) return why(exchange, found.jobs.front());
    const auto row = array_row(daemon_.keeper(), *found.array);
    if (!row) return refuse(exchange, row.error());
    if (!row->exit_code) return why(exchange, row->row.job);
    answer(
        exchange,
        Json{{"id", row->span.first.value()}, {"state", row->state}, {"reason", "it has ended"}});
  }

  std::int64_t log_size(JobId id) {
    struct stat status{};
    return ::stat(daemon_.log_path(id).c_str(), &status) == 0 ? status.st_size : 0;
  }

  /// Whether there is such a job and the peer may act on it; if not, an answer was given.
  bool may_act(const Exchange& exchange, JobId id, Rights on_others) {
    const auto denial = changes_.why_not(*exchange, id, on_others);
    if (denial) refuse(exchange, denial->status, denial->message);
    return !denial;
  }

  void log(const Exchange& exchange, const std::vector<Handle>& handles) {
    const auto offset = query_number(exchange->request(), "offset", std::uint64_t{1} << 62);
    const auto follow = query_flag(exchange->request(), "follow");
    if (!offset) return refuse(exchange, offset.error());
    if (!follow) return refuse(exchange, follow.error());
    const std::size_t from = offset->value_or(0);
    find_one(exchange, handles, [this, from, wanted = *follow](const Exchange& asked, JobId id) {
      if (!may_act(asked, id, Rights::Admin)) return;
      if (Remote* const remote = daemon_.remote()) {
        return refuse(asked, 409,
                      changes_.name_of(id) + ": its output is in " + remote->output_of(id) +
                          "; read it there");
      }
      const bool lives = daemon_.keeper().engine().view().knows(id);
      daemon_.logs().send(asked, log_name(id), from,
                          wanted && lives ? Follow::UntilEnd : Follow::No);
    });
  }

  /// Of all that the handles stand for and that has not ended.
  void change_named(const Exchange& exchange, JobVerb verb, const std::vector<Handle>& handles) {
    Change change;
    if (verb == JobVerb::Update) {
      const auto wished = parse_change(exchange->take_body());
      if (!wished) return refuse(exchange, wished.error());
      change = *wished;
    }
    Wanted jobs = wanted(exchange, handles);
    jobs.among = Among::Live;
    jobs.goes_on = true;
    find(exchange, std::move(jobs),
         [this, verb, change](const Exchange& asked, const Found& found) {
           using Answer = JobsToChange::Answer;
           changes_.carry_out({.exchange = asked,
                               .verb = verb,
                               .jobs = found.jobs,
                               .missing = found.missing,
                               .change = change,
                               .answer = found.is_one ? Answer::OfOne : Answer::OfMany});
         });
  }

  /// POST /v1/cancel and the like.
  void change_many(const Exchange& exchange, JobVerb verb) {
    const auto user = query_number(exchange->request(), "user", 0xFFFFFFFF);
    if (!user) return refuse(exchange, user.error());
    auto many = parse_many(exchange->take_body());
    if (!many) return refuse(exchange, many.error());
    if (*user) many->users.insert(UserId(static_cast<std::uint32_t>(**user)));
    if ((verb == JobVerb::Update) != many->change.has_value()) {
      return refuse(exchange, 400,
                    many->change ? "change: is of update alone" : "change: is missing");
    }
    const UserId own(exchange->request().peer.user);
    const bool are_all = many->handles.empty();
    if (are_all && many->users.empty() && verb != JobVerb::Cancel) {
      return refuse(exchange, 400, "jobs: is missing");
    }
    if (are_all && many->users.empty()) many->users.insert(own);
    on_loop(exchange, [this, verb, own, are_all, many = *many](const Exchange& asked) {
      for (const UserId each : many.users) {
        const auto denial = are_all ? changes_.why_not_of(*asked, each) : std::nullopt;
        if (denial) return refuse(asked, denial->status, denial->message);
      }
      Wanted jobs{.handles = many.handles,
                  .users = many.users,
                  .own = own,
                  .among = Among::Live,
                  .goes_on = true};
      find(asked, std::move(jobs), [this, verb, many](const Exchange& again, const Found& found) {
        changes_.carry_out({.exchange = again,
                            .verb = verb,
                            .jobs = found.jobs,
                            .missing = found.missing,
                            .change = many.change.value_or(Change{})});
      });
    });
  }

  /// The client of a job that waits goes, and the job stays.
  void leave(const Exchange& exchange, JobId id) {
    if (!may_act(exchange, id, Rights::Admin)) return;
    const Job* const job = daemon_.keeper().engine().view().find(id);
    const std::string name = changes_.name_of(id);
    if (job == nullptr) return refuse(exchange, 409, name + ": has ended already");
    if (holds_berth(job->state)) {
      return refuse(exchange, 409,
                    name + ": is " + std::string(word_for(shown_state(*job))) +
                        ", only a job that waits can be left so");
    }
    daemon_.ask({.submission = std::nullopt,
                 .inputs = {},
                 .exchange = exchange,
                 .answer =
                     [this, id](JobId) {
                       return http::Response{.status = 200,
                                             .body = to_body(daemon_.presenter().brief(id))};
                     },
                 .left = id});
  }

  void attach(const Exchange& exchange, const std::vector<Handle>& handles) {
    const auto client = parse_attach(exchange->take_body());
    if (!client) return refuse(exchange, client.error());
    find_one(exchange, handles, [this, client = *client](const Exchange& asked, JobId id) {
      attach(asked, id, client);
    });
  }

  /// The client reads and types as the job's user, so nobody else may be one, root neither.
  void attach(const Exchange& exchange, JobId id, const shim::Attach& client) {
    if (!may_act(exchange, id, Rights::Admin)) return;
    const ClusterView view = daemon_.keeper().engine().view();
    const Job* const job = view.find(id);
    const std::string name = changes_.name_of(id);
    if (job == nullptr) return refuse(exchange, 409, name + ": has ended already");
    const uid_t peer = exchange->request().peer.user;
    if (job->spec.user.value() != peer) {
      return refuse(exchange, 403,
                    name + ": belongs to " + changes_.user_text(job->spec.user.value()) +
                        ", you are " + changes_.user_text(peer) +
                        "; only a job's own user may attach to it");
    }
    if (daemon_.remote() != nullptr) {
      return refuse(exchange, 409, name + ": runs on a cluster, where nobody can attach to it");
    }
    if (is_waiting(job->state) && !has_idle_process(*job)) {
      return refuse(exchange, 409,
                    name + ": is " + std::string(word_for(shown_state(*job))) +
                        ", only a job that runs can be attached to");
    }
    const auto blob = daemon_.keeper().store().blob(job->spec.command);
    const auto command = blob ? live::decode_command(*blob) : std::unexpected(blob.error());
    if (!command) return refuse(exchange, command.error());
    if (auto done = daemon_.attach(id, job->attempt, client); !done) {
      const bool is_early = done.error().code == ErrorCode::NotFound;
      return refuse(exchange, is_early ? 409 : status_of(done.error().code),
                    name + ": " + done.error().message);
    }
    answer(exchange, {{"id", id.value()},
                      {"terminal", command->attach && command->attach->terminal},
                      {"input", command->attach.has_value()}});
  }

  /// Of GPUs that are asked for by their numbers; "" if berthd was given them all.
  std::string why_not_ours(const std::optional<std::vector<std::uint32_t>>& gpus) const {
    std::string why;
    for (std::size_t i = 0; gpus && why.empty() && i < gpus->size(); ++i) {
      why = daemon_.why_not_ours(GpuId((*gpus)[i]));
    }
    return why;
  }

  enum class Draining : std::uint8_t { Begin, End };

  void drain(const Exchange& exchange, Draining what) {
    const std::size_t gpus = daemon_.machine().devices.list.size();
    const auto wish = parse_drain(exchange->take_body(), gpus);
    if (!wish) return refuse(exchange, wish.error());
    const UserId by(exchange->request().peer.user);
    on_loop(exchange, [this, wish = *wish, by, what, gpus](const Exchange& asked) {
      if (!has(Rights::Operator, asked)) return;
      std::vector<Input> inputs;
      if (const std::string why = why_not_ours(wish.gpus); !why.empty()) {
        return refuse(asked, 409, why);
      }
      const std::string shown = drained_as(names_.of(by.value()), wish.until, daemon_.now());
      const auto add = [&](std::uint32_t gpu) {
        if (!daemon_.not_given_by(GpuId(gpu)).empty()) return;
        std::optional<Drain> drain;
        if (what == Draining::Begin) {
          drain = Drain{.until = wish.until, .by = by, .reason = wish.reason, .shown = shown};
        }
        inputs.emplace_back(Drained{GpuId(gpu), std::move(drain)});
      };
      if (wish.gpus) {
        std::ranges::for_each(*wish.gpus, add);
      } else {
        for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) add(gpu);
      }
      daemon_.ask({.submission = std::nullopt,
                   .inputs = std::move(inputs),
                   .exchange = asked,
                   .answer = [this, who = viewer(asked)](JobId) {
                     return http::Response{.body = to_body(daemon_.presenter().gpus(who))};
                   }});
    });
  }

  Json reservations() {
    return {{"reservations", reservations_json(daemon_.keeper().engine().view(), names_)}};
  }

  void reserve(const Exchange& exchange) {
    const std::size_t gpus = daemon_.machine().devices.list.size();
    const auto wish = parse_reserve(exchange->take_body(), gpus);
    if (!wish) return refuse(exchange, wish.error());
    const auto users = users_named(wish->users);
    if (!users) return refuse(exchange, users.error());
    const UserId by(exchange->request().peer.user);
    Reservation wanted{.users = *users, .until = wish->until, .by = by, .reason = wish->reason};
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
      const bool is_named = !wish->gpus || std::ranges::find(*wish->gpus, gpu) != wish->gpus->end();
      if (is_named) wanted.gpus.emplace_back(gpu);
    }
    if (gpus == 0) return refuse(exchange, 400, "gpus: this machine has none");
    on_loop(exchange, [this, wish = *wish, wanted](const Exchange& asked) {
      if (!has(Rights::Operator, asked)) return;
      const ClusterView view = daemon_.keeper().engine().view();
      const Instant now = daemon_.now();
      if (const std::string why = why_not_ours(wish.gpus); !why.empty()) {
        return refuse(asked, 409, why);
      }
      Reservation made = wanted;
      std::erase_if(made.gpus, [&](GpuId gpu) { return !daemon_.not_given_by(gpu).empty(); });
      if (made.gpus.empty()) return refuse(asked, 409, "gpus: berthd was given none");
      made.from = std::max(wish.from.value_or(now), now);
      if (made.until <= made.from) return refuse(asked, 400, "until_at: is not after it begins");
      made.shown = shown_as(wish.users, made, now);
      if (const auto conflict = conflict_of(made, view); !conflict.empty()) {
        return refuse(asked, 409, conflict);
      }
      const auto id = view.next_reservation();
      if (!id) {
        return refuse(asked, 409,
                      "there are " + std::to_string(kMostReservations) +
                          " reservations already, which is the most");
      }
      daemon_.ask({.submission = std::nullopt,
                   .inputs = {Reserved{*id, made}},
                   .exchange = asked,
                   .answer = [this, id = *id, made](JobId) { return reserved(id, made); }});
    });
  }

  http::Response reserved(ReservationId id, const Reservation& made) {
    const ClusterView view = daemon_.keeper().engine().view();
    const auto found = view.calendar().find(id);
    if (found == view.calendar().end() || found->second != made) {
      return {.status = 409, .body = http::error_body("another was made meanwhile; ask again")};
    }
    Json json = reservations();
    json["id"] = id.value();
    json["in_the_way"] = in_the_way(made, view, names_);
    return {.body = to_body(json)};
  }

  void unreserve(const Exchange& exchange) {
    const auto ids = parse_unreserve(exchange->take_body());
    if (!ids) return refuse(exchange, ids.error());
    on_loop(exchange, [this, ids = *ids](const Exchange& asked) {
      if (!has(Rights::Operator, asked)) return;
      std::vector<Input> inputs;
      for (const ReservationId id : ids) {
        if (!daemon_.keeper().engine().view().calendar().contains(id)) {
          return refuse(
              asked, 404,
              "reservation " + std::to_string(id.value()) + ": there is none, or it is over");
        }
        inputs.emplace_back(Unreserved{id});
      }
      daemon_.ask(
          {.submission = std::nullopt,
           .inputs = std::move(inputs),
           .exchange = asked,
           .answer = [this](JobId) { return http::Response{.body = to_body(reservations())}; }});
    });
  }

  void reload(const Exchange& exchange) {
    on_loop(exchange, [this](const Exchange& asked) {
      if (!has(Rights::Admin, asked)) return;
      auto done = daemon_.reload();
      if (!done) return refuse(asked, done.error());
      const Json json = {{"at_next_start", done->at_next_start}, {"warnings", done->warnings}};
      if (done->inputs.empty()) return answer(asked, json);
      daemon_.ask({.submission = std::nullopt,
                   .inputs = std::move(done->inputs),
                   .exchange = asked,
                   .answer = [json](JobId) { return http::Response{.body = to_body(json)}; }});
    });
  }

  Daemon& daemon_;
  JobChanges changes_;
  UserNames names_;  ///< On the loop's thread only.
};

}  // namespace

http::Handler make_api(Daemon& daemon) {
  return [api = std::make_shared<Api>(daemon)](const Exchange& exchange) { (*api)(exchange); };
}

}  // namespace berth::daemon
