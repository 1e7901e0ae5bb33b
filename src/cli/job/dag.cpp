#include "cli/job/dag.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "cli/job/script.hpp"
#include "core/text/amounts.hpp"
#include "trace/toml_value.hpp"

namespace berth::cli {

namespace {

constexpr std::size_t kMostJobs = 4096;

std::unexpected<Error> dag_error(const std::string& where, const std::string& what) {
  return fail(ErrorCode::InvalidArgument, where + ": " + what);
}

std::string option_text(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto number = node.value_exact<std::int64_t>()) return std::to_string(*number);
  std::ostringstream text;
  if (const auto number = node.value_exact<double>()) text << *number;
  return text.str();
}

/// A text, a number, or a list of these.
Expected<std::vector<std::string>> texts_of(const toml::node& node, const std::string& where) {
  std::vector<std::string> texts;
  const toml::array* const list = node.as_array();
  const auto add = [&](const toml::node& one) {
    if (one.is_string() || one.is_number()) texts.push_back(option_text(one));
    return one.is_string() || one.is_number();
  };
  bool is_good = true;
  if (list == nullptr) {
    is_good = add(node);
  } else {
    for (const toml::node& one : *list) is_good = is_good && add(one);
  }
  if (!is_good) return dag_error(where, "must be a text, a number or a list of these");
  return texts;
}

bool is_dependency(std::string_view key) {
  return key == "after" || key == "after-ok" || key == "after-any" || key == "after-notok";
}

Expected<void> read_command(DagJob& job, const toml::node& node, const std::string& where) {
  auto words = texts_of(node, where);
  if (!words) return std::unexpected(words.error());
  if (words->empty()) return dag_error(where, "is empty");
  job.options.command =
      node.is_array() ? std::move(*words) : std::vector<std::string>{"bash", "-c", words->front()};
  return {};
}

/// One key of a job or of the defaults, as an option of `submit`.
Expected<void> read_key(DagJob& job, const std::string& key, const toml::node& node,
                        const std::string& where) {
  if (key == "command") return read_command(job, node, where);
  if (is_dependency(key)) {
    auto names = texts_of(node, where);
    if (!names) return std::unexpected(names.error());
    job.after.push_back({.option = key, .names = std::move(*names)});
    return {};
  }
  std::vector<std::string> words;
  if (const auto flag = node.value_exact<bool>()) {
    if (!*flag) return {};
    words = {"--" + key};
  } else {
    const auto values = texts_of(node, where);
    if (!values) return std::unexpected(values.error());
    for (const std::string& value : *values) words.insert(words.end(), {"--" + key, value});
  }
  auto options = options_of_words(std::move(words), where + ": ");
  if (!options) return std::unexpected(options.error());
  fill_in(job.options, std::move(*options));
  return {};
}

Expected<DagJob> read_job(const std::string& name, const toml::table& table,
                          const std::string& file) {
  DagJob job{.name = name, .where = trace::place_of(table, file), .options = {}, .after = {}};
  for (const auto& [key, node] : table) {
    const std::string where = trace::place_of(node, file) + ": " + std::string(key.str());
    if (auto done = read_key(job, std::string(key.str()), node, where); !done) {
      return std::unexpected(done.error());
    }
  }
  return job;
}

bool is_number_text(const std::string& text) {
  return text.find_first_not_of("0123456789-_,") == text.npos;
}

/// Depth first, so that what a job waits for stands before it.
class Sorter {
 public:
  explicit Sorter(std::vector<DagJob> jobs) : jobs_(std::move(jobs)) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) by_name_[jobs_[i].name] = i;
    marks_.resize(jobs_.size());
  }

  Expected<std::vector<DagJob>> sorted() {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (auto done = visit(i); !done) return std::unexpected(done.error());
    }
    std::vector<DagJob> list;
    for (const std::size_t i : order_) list.push_back(std::move(jobs_[i]));
    return list;
  }

 private:
  enum class Mark : std::uint8_t { New, Open, Done };

  Expected<void> visit(std::size_t i) {
    if (marks_[i] == Mark::Done) return {};
    const DagJob& job = jobs_[i];
    if (marks_[i] == Mark::Open) {
      return dag_error(job.where, "job '" + job.name + "' waits for itself, by way of others");
    }
    marks_[i] = Mark::Open;
    for (const DagAfter& after : job.after) {
      for (const std::string& name : after.names) {
        const auto found = by_name_.find(name);
        if (found != by_name_.end()) {
          if (auto done = visit(found->second); !done) return done;
        } else if (!is_number_text(name)) {
          return dag_error(job.where, after.option + ": '" + name +
                                          "' is neither a job of this file nor a number");
        }
      }
    }
    marks_[i] = Mark::Done;
    order_.push_back(i);
    return {};
  }

  std::vector<DagJob> jobs_;
  std::map<std::string, std::size_t> by_name_;
  std::vector<Mark> marks_;
  std::vector<std::size_t> order_;
};

}  // namespace

Expected<std::vector<DagJob>> read_dag(std::string_view text, const std::string& file) {
  const auto table = trace::parse_toml(text, file);
  if (!table) return std::unexpected(table.error());
  DagJob defaults;
  const toml::table* jobs = nullptr;
  for (const auto& [key, node] : *table) {
    const bool is_known = key.str() == "jobs" || key.str() == "defaults";
    const toml::table* const part = node.as_table();
    const std::string where = trace::place_of(node, file) + ": " + std::string(key.str());
    if (!is_known || part == nullptr)
      return dag_error(where, "unknown key; valid: [jobs.NAME], [defaults]");
    if (key.str() == "jobs") {
      jobs = part;
      continue;
    }
    auto read = read_job("defaults", *part, file);
    if (!read) return std::unexpected(read.error());
    if (!read->after.empty() || !read->options.command.empty()) {
      return dag_error(where, "has options only, no command and no after");
    }
    defaults = std::move(*read);
  }
  if (jobs == nullptr || jobs->empty()) return dag_error(file, "has no job; add [jobs.NAME]");
  if (jobs->size() > kMostJobs) {
    return dag_error(
        file, std::to_string(jobs->size()) + " jobs, the most is " + std::to_string(kMostJobs));
  }
  std::vector<DagJob> list;
  for (const auto& [name, node] : *jobs) {
    const toml::table* const part = node.as_table();
    const std::string where = trace::place_of(node, file) + ": jobs." + std::string(name.str());
    if (part == nullptr) return dag_error(where, "must be a table");
    auto job = read_job(std::string(name.str()), *part, file);
    if (!job) return std::unexpected(job.error());
    if (job->options.command.empty()) return dag_error(where, "has no command");
    if (!job->options["--name"]) job->options["--name"] = job->name;
    fill_in(job->options, defaults.options);
    list.push_back(std::move(*job));
  }
  std::ranges::stable_sort(list, {}, [&](const DagJob& job) {
    return jobs->find(job.name)->second.source().begin.line;
  });
  return Sorter(std::move(list)).sorted();
}

}  // namespace berth::cli
