#include <unistd.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <sstream>
#include <unordered_set>

#include "cli/daemon.hpp"
#include "cli/job_text.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"

namespace berth::cli {

namespace {

struct LsArguments {
  CommonOptions common;
  bool all = false;
  bool wide = false;
};

enum class Format { Table, Json };

/// Writes jobs in the order they are given. Functions return 0, or the code to end with.
class Listing {
 public:
  Listing(Format format, Width width) : format_(format), width_(width) {}

  int add(const std::vector<Json>& jobs) {
    if (format_ == Format::Json) return print(json_of(jobs));
    for (const Json& job : jobs) add_row(table_, job, now_, width_);
    return print(table_.text(look_));
  }

  int finish() const {
    if (format_ == Format::Table) return 0;
    return print(begun_ ? "\n  ]\n}\n" : "{\n  \"jobs\": []\n}\n");
  }

 private:
  /// As json_text() would write them in one object.
  std::string json_of(const std::vector<Json>& jobs) {
    std::string text;
    for (const Json& job : jobs) {
      text += begun_ ? "," : "{\n  \"jobs\": [";
      begun_ = true;
      std::istringstream lines(json_text(job));
      for (std::string line; std::getline(lines, line);) text += "\n    " + line;
    }
    return text;
  }

  Format format_;
  Width width_;
  bool begun_ = false;
  Table table_ = job_table(width_);
  Look look_ = look_of(STDOUT_FILENO);
  double now_ = wall_now();
};

/// Fetches running jobs, then those that wait, then those that have ended; each once, though they
/// change meanwhile. A queue may have a million jobs, so they are written as they come, the first
/// ones after a short page, and nothing is kept of them but their numbers.
class Lister {
 public:
  Lister(Daemon& daemon, Listing& listing) : daemon_(daemon), listing_(listing) {}

  int live() {
    std::vector<Json> first;
    const auto keep = [&](const std::vector<Json>& jobs) {
      first.insert(first.end(), jobs.begin(), jobs.end());
      return 0;
    };
    auto next = page("/v1/jobs?limit=100", 0, keep);
    if (next && *next) {
      const int done = pages("/v1/jobs?only=running&limit=1000", 0, keep);
      if (done != 0) return done;
    }
    if (!next) return report_failure(next.error().message);
    sort_for_reading(first);
    const int done = add(first);
    if (done != 0 || !*next) return done;
    return pages("/v1/jobs?limit=1000", **next, [this](const auto& jobs) { return add(jobs); });
  }

  int ended() {
    return pages("/v1/jobs?only=ended&limit=1000", 0,
                 [this](const auto& jobs) { return add(jobs); });
  }

 private:
  using Use = std::function<int(const std::vector<Json>&)>;

  /// Returns: where the next page begins. One that does not lead further is the last, whatever the
  /// daemon says.
  Expected<std::optional<std::int64_t>> page(const std::string& target, std::int64_t after,
                                             const Use& use) {
    const auto page = daemon_.get(target + "&after=" + std::to_string(after));
    if (!page) return std::unexpected(page.error());
    const Json& list = part_of(*page, "jobs");
    if (!list.is_array()) return fail(ErrorCode::BadData, "berthd answers without a list of jobs");
    code_ = use(list.get_ref<const Json::array_t&>());
    const auto next = integer_of(*page, "next_after");
    return next && *next > after && code_ == 0 ? next : std::nullopt;
  }

  int pages(const std::string& target, std::int64_t after, const Use& use) {
    for (std::optional<std::int64_t> next = after; next;) {
      const auto found = page(target, *next, use);
      if (!found) return report_failure(found.error().message);
      next = *found;
    }
    return code_;
  }

  int add(const std::vector<Json>& jobs) {
    std::vector<Json> fresh;
    for (const Json& job : jobs) {
      const auto id = integer_of(job, "id");
      if (!id || written_.insert(*id).second) fresh.push_back(job);
    }
    return listing_.add(fresh);
  }

  Daemon& daemon_;
  Listing& listing_;
  std::unordered_set<std::int64_t> written_;
  int code_ = 0;  ///< Of the last page that was used.
};

int ls(const LsArguments& arguments) {
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  Listing listing(arguments.common.json ? Format::Json : Format::Table,
                  arguments.wide ? Width::Wide : Width::Usual);
  Lister lister(*daemon, listing);
  int done = lister.live();
  if (done == 0 && arguments.all) done = lister.ended();
  return done == 0 ? listing.finish() : done;
}

}  // namespace

void add_ls(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<LsArguments>();
  CLI::App* const verb = app.add_subcommand("ls", "List jobs: running ones, then queued ones.");
  add_common(*verb, arguments->common);
  verb->add_flag("--all", arguments->all, "List ended jobs too.");
  verb->add_flag("--wide", arguments->wide, "Add what keeps each job to its GPU memory.");
  verb->callback([=, &chosen] { chosen = [=] { return ls(*arguments); }; });
}

}  // namespace berth::cli
