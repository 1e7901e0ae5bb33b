#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "cli/ask/job_choice.hpp"
#include "cli/attend/screen.hpp"
#include "cli/print/verbs.hpp"
#include "cli/slurm/ask_slurm.hpp"
#include "cli/slurm/slurm_pages.hpp"
#include "cli/tell/gpu_text.hpp"
#include "cli/tell/job_pages.hpp"
#include "cli/tell/list_writers.hpp"
#include "core/text/handle.hpp"

namespace berth::cli {

namespace {

struct LsArguments {
  CommonOptions common;
  bool all = false;
  bool wide = false;
  bool mine = false;
  bool each = false;
  bool fold = false;
  std::vector<std::string> jobs;  ///< Handles.
  std::vector<std::string> users;
  std::vector<std::string> states;
  std::vector<std::string> names;
  std::size_t most = 0;  ///< 0: all.
  std::string sort;
  std::string format;
  CLI::Option* watch = nullptr;
  double watch_seconds = 2.0;

  bool watches() const { return watch != nullptr && watch->count() > 0; }
};

Expected<JobFilter> filter_of(const LsArguments& arguments) {
  JobFilter filter;
  filter.names = arguments.names;
  if (arguments.mine) filter.users.insert(geteuid());
  for (const std::string& name : arguments.users) {
    const auto user = user_number(name);
    if (!user) return std::unexpected(user.error());
    filter.users.insert(*user);
  }
  if (auto done = add_states(filter, arguments.states); !done) return std::unexpected(done.error());
  for (const std::string& typed : arguments.jobs) {
    if (const auto handles = parse_handles(typed); !handles) {
      return std::unexpected(handles.error());
    }
  }
  return filter;
}

bool is_table(const LsArguments& arguments) {
  return !arguments.common.json && arguments.format.empty();
}

/// Totals end what is for people.
bool has_totals(const LsArguments& arguments, const Look& look) {
  return is_table(arguments) && (look.terminal || arguments.fold);
}

Expected<std::unique_ptr<ListWriter>> writer_of(const LsArguments& arguments, const Look& look,
                                                const ListWriter::Out& out) {
  Expected<std::unique_ptr<ListWriter>> writer;
  if (arguments.common.json) {
    writer = json_writer(out);
  } else if (!arguments.format.empty()) {
    writer = format_writer(out, arguments.format);
  } else {
    const bool folds = arguments.fold || (look.terminal && !arguments.each);
    writer = table_writer(out,
                          {.look = look,
                           .width = arguments.wide ? Width::Wide : Width::Usual,
                           .folds = folds && arguments.sort.empty(),
                           .has_totals = has_totals(arguments, look)},
                          wall_now());
  }
  if (!writer || arguments.sort.empty()) return writer;
  return sorting_writer(std::move(*writer), arguments.sort);
}

/// Rows of the jobs that have not ended, of which nobody reads more on a terminal.
constexpr std::size_t kRowsOfPage = 1000;

/// Whether the list is a page for people, who did not say how much of it they want.
bool is_page(const LsArguments& arguments, const Look& look) {
  const bool says_how_much = arguments.most > 0 || arguments.each || arguments.fold ||
                             arguments.all || !arguments.sort.empty() || !arguments.states.empty();
  return is_table(arguments) && look.terminal && !says_how_much;
}

/// What was listed, and what it was of.
struct ListedPart {
  std::size_t rows = 0;
  std::int64_t jobs = 0;
  bool is_page = false;
  bool is_filtered = false;
};

/// What the number of rows that are listed leaves out; "" for nothing.
std::string cut_text(const ListedPart& listed, std::size_t most, const JobPages& pages) {
  const auto& count = pages.live_count();
  if (!count || most == 0 || listed.rows < most) return "";
  if (!listed.is_page) {
    const std::int64_t waiting = count->jobs - count->running;
    return "the first " + std::to_string(listed.rows) + " are listed; in all " +
           std::to_string(count->running) + " hold GPUs and " + std::to_string(waiting) + " wait\n";
  }
  const std::int64_t left = count->jobs - listed.jobs;
  if (left <= 0) return "";
  const std::string number = std::to_string(left);
  const std::string others =
      listed.is_filtered ? "perhaps more among " + number + " others" : "and " + number + " more";
  return others + "; --fold lists all, -n N so many\n";
}

/// Jobs that a list of a daemon is made of, and where it goes.
class Lister {
 public:
  Lister(const CommonOptions& options, ListWriter& writer, std::size_t most)
      : options_(options), writer_(writer), most_(most) {}

  /// From here on starts are asked for.
  void begin_live() { starts_ = Starts::ask_meanwhile(options_); }
  /// Returns: whether to go on.
  bool take(std::vector<Json> jobs) {
    if (most_ > 0 && jobs.size() > most_ - listed_) jobs.resize(most_ - listed_);
    listed_ += jobs.size();
    for (const Json& job : jobs) totals_.add(job);
    if (starts_.valid()) jobs = begin(std::move(jobs));
    for (Json& job : jobs) known_.add_to(job);
    if (code_ == 0) code_ = writer_.add(jobs);
    return code_ == 0 && has_room();
  }
  bool has_room() const { return most_ == 0 || listed_ < most_; }
  std::size_t rows() const { return listed_; }
  std::int64_t jobs() const { return totals_.jobs(); }
  int code() const { return code_; }

 private:
  /// Those that hold a berth start at no time to come, and do not wait for it to be known. Returns:
  /// the others.
  std::vector<Json> begin(std::vector<Json> jobs) {
    const auto first = std::ranges::find_if(jobs, [](const Json& job) {
      return waits(job) || is_array_row(job) || text_of(job, "state") == "suspended";
    });
    const std::vector<Json> coming(first, jobs.end());
    jobs.erase(first, jobs.end());
    code_ = writer_.begin(jobs, coming);
    known_ = starts_.get();
    return coming;
  }

  const CommonOptions& options_;
  ListWriter& writer_;
  std::size_t most_;
  std::size_t listed_ = 0;
  ListTotals totals_;
  std::future<Starts> starts_;
  Starts known_;
  int code_ = 0;
};

/// A table is for people, to whom an array is one thing; whoever asks for a state, or for jobs by
/// their handles, asks for tasks.
Arrays arrays_in(const LsArguments& arguments) {
  const bool is_whole =
      (is_table(arguments) && !arguments.each && arguments.states.empty()) || arguments.fold;
  return is_whole && arguments.jobs.empty() ? Arrays::Whole : Arrays::InTasks;
}

/// A table has few of the members, unless it is to be in the order of another one.
JobPages::What what_in(const LsArguments& arguments) {
  const bool is_brief = is_table(arguments) && arguments.sort.empty();
  return {.arrays = arrays_in(arguments),
          .form = is_brief ? JobPages::Form::Brief : JobPages::Form::Full};
}

/// The jobs with these handles. Returns: the code to end with.
int list_chosen(Daemon& daemon, const LsArguments& arguments, const JobFilter& filter,
                ListWriter& writer) {
  auto rows = chosen_rows(daemon, {.typed = arguments.jobs, .users = arguments.users},
                          arrays_in(arguments));
  if (!rows) return report_failure(rows.error().message);
  std::erase_if(*rows, [&](const Json& job) { return !filter.takes(job); });
  if (arguments.most > 0 && rows->size() > arguments.most) rows->resize(arguments.most);
  if (std::ranges::any_of(*rows, waits)) {
    const Starts starts = Starts::ask(daemon);
    for (Json& job : *rows) starts.add_to(job);
  }
  const int code = writer.add(*rows);
  return code != 0 ? code : writer.finish();
}

/// Lists jobs once. Returns: the code to end with.
int list(const LsArguments& arguments, const JobFilter& filter, const Look& look,
         const ListWriter::Out& out) {
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  auto writer = writer_of(arguments, look, out);
  if (!writer) return report_usage(writer.error().message);
  if (!arguments.jobs.empty()) return list_chosen(*daemon, arguments, filter, **writer);
  const bool wants_ended = arguments.all || !arguments.states.empty();
  const bool ends_early = is_page(arguments, look);
  const std::size_t most = ends_early ? kRowsOfPage : arguments.most;
  Lister lister(arguments.common, **writer, most);
  JobPages pages(
      *daemon, filter, [&](std::vector<Json> jobs) { return lister.take(std::move(jobs)); },
      what_in(arguments));
  if (filter.wants_live()) {
    lister.begin_live();
    if (const auto done = pages.live(); !done) return report_failure(done.error().message);
  }
  const bool is_filtered = arguments.mine || !arguments.users.empty() || !arguments.names.empty();
  const std::string cut = cut_text({.rows = lister.rows(),
                                    .jobs = lister.jobs(),
                                    .is_page = ends_early,
                                    .is_filtered = is_filtered},
                                   most, pages);
  if (lister.code() == 0 && lister.has_room() && wants_ended && filter.wants_ended()) {
    const auto done = most > 0 ? pages.latest_ended(most - lister.rows()) : pages.ended();
    if (!done) return report_failure(done.error().message);
  }
  int code = lister.code();
  if (code == 0) code = (*writer)->finish();
  if (code != 0 || !has_totals(arguments, look)) return code;
  const auto gpus = daemon->get("/v1/gpus");
  const std::string line = gpus ? gpu_totals(*gpus) : "";
  return out(cut + (line.empty() ? "" : painted(line + "\n", Colour::Dim, look)));
}

int watch(const LsArguments& arguments, const JobFilter& filter) {
  if (arguments.common.json || !arguments.format.empty()) {
    return report_usage("--watch shows a table; leave out --json and --format");
  }
  if (look_of(STDOUT_FILENO).terminal == false) {
    return report_usage("--watch needs a terminal; standard output is none");
  }
  if (!(arguments.watch_seconds >= 0.1 && arguments.watch_seconds <= 86400.0)) {
    return report_usage("--watch: must be 0.1 to 86400 seconds");
  }
  return redraw_every(arguments.watch_seconds, [&](const Look& look, std::string& page) {
    return list(arguments, filter, look, [&](std::string_view text) {
      page += text;
      return 0;
    });
  });
}

/// Of a cluster on which Slurm schedules. What is chosen beyond jobs and users squeue can choose.
int list_in_slurm(const LsArguments& arguments, const JobFilter& filter) {
  const bool is_plain = arguments.states.empty() && arguments.names.empty() &&
                        arguments.sort.empty() && arguments.format.empty() && !arguments.all &&
                        !arguments.watches() && arguments.most == 0;
  if (!is_plain) {
    return report_usage(
        "no berth-slurm runs here: berth ls then has JOB, --user, --mine and --json; squeue has "
        "more");
  }
  const auto facts = ask_slurm();
  if (!facts) return report_failure(facts.error().message);
  auto jobs = slurm_jobs_named(*facts, arguments.jobs);
  if (!jobs) return report_failure(jobs.error().message);
  std::erase_if(*jobs, [&](const SlurmJob& job) {
    const auto user = user_number(job.user);
    return !filter.users.empty() && !(user && filter.users.contains(*user));
  });
  const SlurmView view{.facts = *facts, .now = slurm_now()};
  if (!arguments.common.json) {
    return print(slurm_jobs_page(*jobs, view, look_of(STDOUT_FILENO)));
  }
  Json rows = Json::array();
  for (const SlurmJob& job : *jobs) rows.push_back(slurm_job_json(job, view.now));
  return print(json_text({{"jobs", rows}}));
}

int ls(const LsArguments& arguments) {
  const auto filter = filter_of(arguments);
  if (!filter) return report_usage(filter.error().message);
  if (is_for_slurm(arguments.common)) return list_in_slurm(arguments, *filter);
  if (arguments.watches()) return watch(arguments, *filter);
  return list(arguments, *filter, look_of(STDOUT_FILENO),
              [](std::string_view text) { return print(text); });
}

}  // namespace

void add_ls(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<LsArguments>();
  CLI::App* const verb = app.add_subcommand(
      "ls", "List jobs: running ones, then queued ones with the reason, and when they start.");
  add_common(*verb, arguments->common);
  verb->add_option("JOB", arguments->jobs,
                   "Only these, ended or not: numbers, ranges, names; 643 lists the tasks of "
                   "array 643.");
  verb->add_flag("-a,--all", arguments->all, "List ended jobs too.");
  verb->add_option("-u,--user", arguments->users, "Only jobs of this user, by name or number.");
  verb->add_flag("--mine,--me", arguments->mine, "Only your own jobs.");
  verb->add_option("-s,--state", arguments->states,
                   "Only jobs in this state, or in one of several: queued,held; waiting; ended.");
  verb->add_option("--name", arguments->names, "Only jobs with a name like this: train-*.");
  verb->add_option("-n", arguments->most, "List this many at most; of ended jobs the latest.")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000'000}));
  verb->add_option("--sort", arguments->sort,
                   "Order by id, name, user, state, gpus, vram, peak, submitted, started, ended, "
                   "start or priority; -KEY for the reverse.");
  verb->add_option("--format", arguments->format,
                   "Print these members of --json, between tabs: id,state,reason; or a text with "
                   "{id}.");
  arguments->watch = verb->add_option("-w,--watch", arguments->watch_seconds,
                                      "Show the list again every 2, or so many, seconds.")
                         ->expected(0, 1);
  verb->add_flag(
      "--each", arguments->each,
      "One row for each job: those that wait alike are not folded on a terminal, nor the tasks "
      "of an array anywhere.");
  verb->add_flag("--fold", arguments->fold,
                 "Fold both, and print totals, also in a pipe; with --json and --format an array "
                 "is one job.")
      ->excludes("--each");
  verb->add_flag("--wide", arguments->wide, "Add how the GPU memory of each job is limited.");
  verb->callback([=, &chosen] { chosen = [=] { return ls(*arguments); }; });
}

}  // namespace berth::cli
