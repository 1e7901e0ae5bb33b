// The forms in which `ls` writes jobs: a table, JSON, or a line of chosen members.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/print/json.hpp"
#include "cli/print/output.hpp"
#include "cli/tell/job_text.hpp"
#include "core/base/error.hpp"

namespace berth::cli {

/// Takes jobs in the order in which they are listed, and writes them in parts.
class ListWriter {
 public:
  /// Takes a part of the output. Returns: 0, or the code to end with.
  using Out = std::function<int(std::string_view text)>;

  explicit ListWriter(Out out) : out_(std::move(out)) {}
  virtual ~ListWriter() = default;
  ListWriter(const ListWriter&) = delete;
  ListWriter& operator=(const ListWriter&) = delete;

  /// Both return 0, or the code to end with.
  virtual int add(const std::vector<Json>& jobs) = 0;
  virtual int finish() = 0;
  /// Takes the first jobs, and may write them at once, above those that are `coming`.
  virtual int begin(const std::vector<Json>& jobs, const std::vector<Json>& coming);

 protected:
  int write(std::string_view text) const { return text.empty() ? 0 : out_(text); }

 private:
  Out out_;
};

struct TableForm {
  Look look;
  Width width = Width::Usual;
  bool folds = false;       ///< Jobs that wait alike in one row and a line with their number.
  bool has_totals = false;  ///< A line of counts below.
};

/// `now`: seconds since 1970.
std::unique_ptr<ListWriter> table_writer(ListWriter::Out out, const TableForm& form, double now);
/// One JSON object.
std::unique_ptr<ListWriter> json_writer(ListWriter::Out out);
/// The members that a job of a list can have, as in doc/openapi.yaml.
std::vector<std::string> job_members();
/// A line for each job: the members named in `format` (`id,state`), between tabs; or `format` with
/// each `{member}` replaced; "-" where a job lacks it. `command` and `status` are command_line and
/// state. Errors: InvalidArgument for an empty name, a brace without its other, and a name that is
/// none of job_members(), with these.
Expected<std::unique_ptr<ListWriter>> format_writer(ListWriter::Out out, const std::string& format);
/// Passes jobs on to `next` in the order of this key, at the end; `-KEY` turns it around. Errors:
/// InvalidArgument naming the key and the valid ones.
Expected<std::unique_ptr<ListWriter>> sorting_writer(std::unique_ptr<ListWriter> next,
                                                     const std::string& key);

/// Counts of what a list holds, in one line: `500 jobs: 2 running, 498 queued; 3 users`.
class ListTotals {
 public:
  void add(const Json& job);
  std::int64_t jobs() const { return jobs_; }
  std::string text() const;

 private:
  std::int64_t jobs_ = 0;
  std::map<std::string, std::int64_t> states_;
  std::set<std::string> users_;
  bool has_learned_ = false;  ///< Memory that no user stated, which is marked in the list.
};

}  // namespace berth::cli
