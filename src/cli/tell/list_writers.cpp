#include "cli/tell/list_writers.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "cli/ask/daemon.hpp"
#include "cli/print/amounts.hpp"
#include "core/base/suggest.hpp"
#include "core/text/job_fields.hpp"

namespace berth::cli {

namespace {

/// Rows after which a table is written as it is: a million are not kept.
constexpr std::size_t kRowsAtOnce = 1000;
constexpr std::size_t kFewest = 3;  ///< Jobs alike that are folded.

std::string count_text(std::int64_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

// ---- JSON ------------------------------------------------------------------------------------

class JsonWriter final : public ListWriter {
 public:
  using ListWriter::ListWriter;

  int add(const std::vector<Json>& jobs) override {
    std::string text;
    for (const Json& job : jobs) {
      text += begun_ ? "," : "{\n  \"jobs\": [";
      begun_ = true;
      const std::string lines = json_text(job);
      for (std::size_t at = 0; at < lines.size();) {
        const std::size_t end = std::min(lines.find('\n', at), lines.size());
        text.append("\n    ").append(lines, at, end - at);
        at = end + 1;
      }
    }
    return write(text);
  }
  int finish() override { return write(begun_ ? "\n  ]\n}\n" : "{\n  \"jobs\": []\n}\n"); }

 private:
  bool begun_ = false;
};

// ---- Chosen members ----------------------------------------------------------------------------

std::string member_text(const Json& job, const std::string& name) {
  const Json& value = part_of(job, name.c_str());
  if (value.is_null()) return "-";
  if (value.is_string()) return printable(value.get_ref<const std::string&>());
  return printable(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

class FormatWriter final : public ListWriter {
 public:
  /// Text and members in turn, beginning with text.
  using Parts = std::vector<std::pair<std::string, std::string>>;

  FormatWriter(Out out, Parts parts) : ListWriter(std::move(out)), parts_(std::move(parts)) {}

  int add(const std::vector<Json>& jobs) override {
    std::string text;
    for (const Json& job : jobs) {
      for (const auto& [before, member] : parts_) {
        text += before + (member.empty() ? "" : member_text(job, member));
      }
      text += "\n";
    }
    return write(text);
  }
  int finish() override { return 0; }

 private:
  Parts parts_;
};

/// Members of a row that are no fields of a submission.
constexpr std::array kOwnMembers = {"id",
                                    "state",
                                    "exit_code",
                                    "user",
                                    "user_name",
                                    "command_line",
                                    "gpus",
                                    "estimate_learned_from",
                                    "handle",
                                    "array_task",
                                    "array_tasks",
                                    "submitted_at",
                                    "started_at",
                                    "ended_at",
                                    "run_started_at",
                                    "run_seconds",
                                    "ends_by_at",
                                    "attempt",
                                    "memory_limit",
                                    "adopted",
                                    "reason",
                                    "reason_brief",
                                    "energy_joules",
                                    "peak_bytes",
                                    "surplus_bytes",
                                    "vram_learned_bytes",
                                    "note",
                                    "cancelled_by",
                                    "cancelled_by_name",
                                    "tasks",
                                    "tasks_note",
                                    "predicted_start_at",
                                    "predicted_start_confidence",
                                    "predicted_by_at",
                                    "predicted_end_at",
                                    "hint"};

/// The member that a name in a format means.
Expected<std::string> member_of(const std::string& name) {
  if (name == "command") return "command_line";
  if (name == "status") return "state";
  const auto members = job_members();
  if (std::ranges::find(members, name) != members.end()) return name;
  std::string valid;
  for (const std::string& member : members) valid += (valid.empty() ? "" : ", ") + member;
  return fail(ErrorCode::InvalidArgument, "--format: " + printable(name) + ": no such member" +
                                              did_you_mean(name, members) +
                                              "; valid members: " + valid);
}

Expected<FormatWriter::Parts> with_members(FormatWriter::Parts parts) {
  for (auto& [before, name] : parts) {
    if (name.empty()) continue;
    auto member = member_of(name);
    if (!member) return std::unexpected(member.error());
    name = std::move(*member);
  }
  return parts;
}

Expected<FormatWriter::Parts> parts_of_list(const std::string& format) {
  FormatWriter::Parts parts;
  std::istringstream names(format);
  for (std::string name; std::getline(names, name, ',');) {
    if (name.empty()) {
      return fail(ErrorCode::InvalidArgument, "--format " + format + ": names an empty member");
    }
    parts.emplace_back(parts.empty() ? "" : "\t", name);
  }
  if (parts.empty()) return fail(ErrorCode::InvalidArgument, "--format: is empty");
  return parts;
}

Expected<FormatWriter::Parts> parts_of_text(const std::string& format) {
  FormatWriter::Parts parts;
  for (std::size_t at = 0; at <= format.size();) {
    const std::size_t open = format.find('{', at);
    const std::size_t close = format.find('}', at);
    if (open == std::string::npos && close == std::string::npos) {
      parts.emplace_back(format.substr(at), "");
      break;
    }
    if (open == std::string::npos || close == std::string::npos || close < open + 2) {
      return fail(ErrorCode::InvalidArgument,
                  "--format " + format + ": a brace without its other, or without a name");
    }
    parts.emplace_back(format.substr(at, open - at), format.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  return parts;
}

// ---- Order -------------------------------------------------------------------------------------

/// What the jobs are compared by: the text where both are alike in number.
using SortKey = std::pair<double, std::string>;

SortKey sort_key_of(const Json& job, const std::string& key) {
  constexpr double kUnknown = 1e300;
  const auto number = [&](const char* name) { return number_of(job, name).value_or(kUnknown); };
  if (key == "name" || key == "state") return {0.0, text_of(job, key.c_str())};
  if (key == "user") return {0.0, text_of(job, "user_name")};
  if (key == "gpus") return {number("gpu_count"), ""};
  if (key == "vram") return {std::min(number("vram_bytes"), number("vram_learned_bytes")), ""};
  if (key == "peak") return {number("peak_bytes"), ""};
  if (key == "submitted") return {number("submitted_at"), ""};
  if (key == "started") return {number("started_at"), ""};
  if (key == "ended") return {number("ended_at"), ""};
  if (key == "start") return {number("predicted_start_at"), ""};
  if (key == "priority") return {number("priority"), ""};
  return {number("id"), ""};
}

constexpr std::array kSortKeys = {"id",   "name",      "user",    "state", "gpus",  "vram",
                                  "peak", "submitted", "started", "ended", "start", "priority"};

class SortingWriter final : public ListWriter {
 public:
  SortingWriter(std::unique_ptr<ListWriter> next, std::string key)
      : ListWriter({}), next_(std::move(next)), key_(std::move(key)) {}

  int add(const std::vector<Json>& jobs) override {
    jobs_.insert(jobs_.end(), jobs.begin(), jobs.end());
    return 0;
  }
  int finish() override {
    const bool falls = key_.starts_with('-');
    const std::string key = falls ? key_.substr(1) : key_;
    std::ranges::stable_sort(jobs_, [&](const Json& a, const Json& b) {
      return falls ? sort_key_of(b, key) < sort_key_of(a, key)
                   : sort_key_of(a, key) < sort_key_of(b, key);
    });
    const int done = next_->add(jobs_);
    return done != 0 ? done : next_->finish();
  }

 private:
  std::unique_ptr<ListWriter> next_;
  std::string key_;
  std::vector<Json> jobs_;
};

// ---- The table ---------------------------------------------------------------------------------

/// Waiting jobs of one user that ask for the same and wait for the same.
struct Alike {
  std::vector<Json> first;  ///< As many as are listed if there are no more.
  std::int64_t count = 0;
  std::int64_t second = 0;  ///< Their numbers.
  std::int64_t last = 0;
  std::optional<double> last_start;
};

std::string key_of(const Json& job) {
  std::string key;
  for (const char* const name : {"user", "state", "gpu_count", "vram_bytes", "vram_learned_bytes",
                                 "exclusive", "class", "reason_brief"}) {
    key += part_of(job, name).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  // A job that is held names itself in its reason.
  return text_of(job, "state") == "held" ? key.substr(0, key.rfind('\n', key.size() - 2)) : key;
}

class TableWriter final : public ListWriter {
 public:
  TableWriter(Out out, const TableForm& form, double now)
      : ListWriter(std::move(out)), form_(form), now_(now), table_(job_table(form.width)) {}

  int add(const std::vector<Json>& jobs) override {
    for (const Json& job : jobs) {
      totals_.add(job);
      if (form_.folds && waits(job) && !is_array_row(job)) {
        fold(job);
      } else {
        unfold();  // jobs that have ended stand below those that wait
        add_row(table_, job, now_, form_.width);
      }
    }
    const bool is_much = table_.size() >= kRowsAtOnce && alike_.empty();
    return is_much ? write(table_.text(form_.look)) : 0;
  }

  int begin(const std::vector<Json>& jobs, const std::vector<Json>& coming) override {
    if (const int code = add(jobs); code != 0 || !form_.look.terminal || !alike_.empty()) {
      return code;
    }
    Table rows = job_table(form_.width);
    std::map<std::string, std::size_t> seen;
    for (const Json& job : coming) {
      const bool is_folded = form_.folds && !is_array_row(job) && ++seen[key_of(job)] >= kFewest;
      if (!is_folded) add_row(rows, job, now_, form_.width);
    }
    table_.foresee(std::move(rows));
    return write(table_.text(form_.look));
  }

  int finish() override {
    unfold();
    const std::string totals = form_.has_totals ? totals_.text() + "\n" : "";
    return write(table_.text(form_.look) + painted(totals, Colour::Dim, form_.look));
  }

 private:
  void fold(const Json& job) {
    const auto [found, is_new] = by_key_.emplace(key_of(job), alike_.size());
    if (is_new) alike_.emplace_back();
    Alike& group = alike_[found->second];
    const std::int64_t id = integer_of(job, "id").value_or(0);
    ++group.count;
    if (group.count == 2) group.second = id;
    group.last = id;
    if (const auto at = number_of(job, "predicted_start_at")) {
      group.last_start = std::max(*at, group.last_start.value_or(*at));
    }
    if (group.first.size() + 1 < kFewest) group.first.push_back(job);
  }

  void unfold() {
    for (const Alike& group : std::exchange(alike_, {})) {
      const std::size_t rows =
          group.count < static_cast<std::int64_t>(kFewest) ? group.first.size() : 1;
      for (std::size_t i = 0; i < rows; ++i) {
        add_row(table_, group.first[i], now_, form_.width);
      }
      if (rows < static_cast<std::size_t>(group.count)) {
        table_.add_line({rest_of(group), Colour::Dim});
      }
    }
    by_key_.clear();
  }

  /// `493 more wait likewise (jobs 8 to 500), the last one ~Tue 04:10`.
  std::string rest_of(const Alike& group) const {
    std::string text = "    " + std::to_string(group.count - 1) + " more wait likewise (jobs " +
                       std::to_string(group.second) + " to " + std::to_string(group.last) + ")";
    if (group.last_start) text += ", the last ~" + clock_text(*group.last_start, now_);
    return text;
  }

  TableForm form_;
  double now_;
  Table table_;
  ListTotals totals_;
  std::vector<Alike> alike_;
  std::map<std::string, std::size_t> by_key_;
};

}  // namespace

int ListWriter::begin(const std::vector<Json>& jobs, const std::vector<Json>&) { return add(jobs); }

std::unique_ptr<ListWriter> table_writer(ListWriter::Out out, const TableForm& form, double now) {
  return std::make_unique<TableWriter>(std::move(out), form, now);
}

std::unique_ptr<ListWriter> json_writer(ListWriter::Out out) {
  return std::make_unique<JsonWriter>(std::move(out));
}

std::vector<std::string> job_members() {
  std::vector<std::string> members(kOwnMembers.begin(), kOwnMembers.end());
  for (const JobField& field : kJobFields) {
    const bool is_of_row = field.shown == FieldShown::Always || field.shown == FieldShown::IfSaid;
    if (is_of_row) members.emplace_back(field.name == "gpus" ? "gpu_count" : field.name);
  }
  return members;
}

Expected<std::unique_ptr<ListWriter>> format_writer(ListWriter::Out out,
                                                    const std::string& format) {
  const bool is_text = format.find_first_of("{}") != std::string::npos;
  auto parts = is_text ? parts_of_text(format) : parts_of_list(format);
  if (parts) parts = with_members(std::move(*parts));
  if (!parts) return std::unexpected(parts.error());
  return std::make_unique<FormatWriter>(std::move(out), std::move(*parts));
}

Expected<std::unique_ptr<ListWriter>> sorting_writer(std::unique_ptr<ListWriter> next,
                                                     const std::string& key) {
  const std::string name = key.starts_with('-') ? key.substr(1) : key;
  if (std::ranges::find(kSortKeys, name) == kSortKeys.end()) {
    std::string valid;
    for (const char* const one : kSortKeys) valid += (valid.empty() ? "" : ", ") + std::string(one);
    return fail(ErrorCode::InvalidArgument,
                "--sort " + key + ": no such key; valid keys: " + valid);
  }
  return std::make_unique<SortingWriter>(std::move(next), key);
}

// ---- Totals ------------------------------------------------------------------------------------

/// Of an array that has not ended those jobs that have not.
void ListTotals::add(const Json& job) {
  users_.insert(part_of(job, "user").dump());
  has_learned_ = has_learned_ || !part_of(job, "vram_learned_bytes").is_null();
  if (!is_array_row(job)) {
    ++jobs_;
    ++states_[text_of(job, "state")];
    return;
  }
  const bool has_all_ended = has_ended(job);
  for (const auto& [state, count] : part_of(job, "tasks").items()) {
    if (!count.is_number_integer() || (!has_all_ended && has_ended({{"state", state}}))) continue;
    jobs_ += count.get<std::int64_t>();
    states_[state] += count.get<std::int64_t>();
  }
}

std::string ListTotals::text() const {
  constexpr std::array kOrder = {"running", "starting",  "stopping", "suspended", "queued",
                                 "held",    "deferred",  "done",     "failed",    "oom",
                                 "timeout", "cancelled", "lost"};
  std::string states;
  for (const char* const state : kOrder) {
    const auto found = states_.find(state);
    if (found == states_.end()) continue;
    states += (states.empty() ? "" : ", ") + std::to_string(found->second) + " " + state;
  }
  if (jobs_ == 0) return "no jobs";
  return count_text(jobs_, "job") + ": " + states + "; " +
         count_text(static_cast<std::int64_t>(users_.size()), "user") +
         (has_learned_ ? "; * memory learned from earlier runs" : "");
}

}  // namespace berth::cli
