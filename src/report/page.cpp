#include "report/page.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

#include "report/charts.hpp"
#include "report/figures.hpp"
#include "report/series.hpp"
#include "report/trade_offs.hpp"

namespace berth::sim {

namespace {

constexpr std::size_t kMostLanes = 128;
constexpr std::size_t kMostBoxes = 4000;
constexpr std::size_t kMostGroups = 30;

// Colours by what they are for, twice: as paper is, and as the reader's screen at night.
constexpr const char* kStyle = R"(<style>
:root { --text: #222; --faint: #666; --line: #e4e4e4; --back: #fff; --good: #2a7a3b; }
@media (prefers-color-scheme: dark) {
  :root { --text: #ddd; --faint: #a5a5a5; --line: #3a3a3a; --back: #16181b; --good: #7fd08f; }
}
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1180px; padding: 0 1rem;
       color: var(--text); background: var(--back); }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 14px; }
th, td { padding: .25rem .4rem; text-align: right; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; white-space: nowrap; }
p.how { color: var(--faint); font-size: 13px; overflow-wrap: anywhere; }
td.best { font-weight: 600; color: var(--good); }
figure { display: inline-block; width: 560px; max-width: 100%; margin: 0 12px 18px 0;
         vertical-align: top; }
figure.wide { width: 1150px; }
figcaption { font-size: 12px; text-align: right; }
figcaption a { color: var(--faint); margin-left: .6rem; }
svg { width: 100%; vertical-align: top; }
svg text { font: 11px system-ui, sans-serif; fill: var(--faint); }
svg text.title { font-size: 13px; font-weight: 600; fill: var(--text); }
svg .grid { stroke: var(--line); }
svg polyline { stroke-width: 1.8; }
</style>
)";

/// A table that is wider than the screen is moved under it, not the page.
constexpr const char* kTable = "<div class=\"scroll\"><table>\n";
constexpr const char* kTableEnd = "</table></div>\n";

/// As few digits as tell it from its neighbours in print.
std::string shortest(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string cells(const std::vector<std::string>& words, const char* kind) {
  std::string row = "<tr>";
  for (const std::string& word : words) {
    row += std::string("<") + kind + ">" + escaped(word) + "</" + kind + ">";
  }
  return row + "</tr>\n";
}

struct Column {
  const char* head;
  std::optional<double> (*value)(const Metrics& metrics);
  int digits;
  enum { Less, More } better = Less;
  std::optional<double> (*least)(const Bound& bound) = nullptr;  ///< Under any schedule.
};

double in_hours(double seconds) { return seconds / 3600; }

using Value = std::optional<double>;
using M = const Metrics&;

Value in_hours(Value seconds) { return seconds ? Value(in_hours(*seconds)) : Value(); }

/// Of the jobs that ended.
template <Spread Metrics::* figure, double Spread::* part>
Value hours(M metrics) {
  return in_hours((metrics.*figure).known(part));
}

constexpr Column kOfJobs[] = {
    {"mean JCT, h", hours<&Metrics::jct, &Spread::mean>, 2, Column::Less,
     [](const Bound& bound) { return Value(in_hours(bound.jct)); }},
    {"median JCT, h", hours<&Metrics::jct, &Spread::median>, 2},
    {"p95 JCT, h", hours<&Metrics::jct, &Spread::p95>, 2},
    {"mean wait, h", hours<&Metrics::wait, &Spread::mean>, 2, Column::Less,
     [](const Bound& bound) { return in_hours(bound.wait); }},
    {"p95 wait, h", hours<&Metrics::wait, &Spread::p95>, 2},
    {"slowdown", [](M m) { return m.slowdown.known(&Spread::mean); }, 1},
    {"fairness", [](M m) -> Value { return m.fairness(); }, 3, Column::More}};

constexpr Column kOfCluster[] = {
    {"makespan, h", [](M m) { return m.jobs > 0 ? Value(in_hours(m.makespan)) : Value(); }, 1},
    {"jobs / h", [](M m) -> Value { return m.jobs_per_hour; }, 2, Column::More},
    {"allocated, %", [](M m) -> Value { return 100 * m.allocated; }, 1, Column::More},
    {"jobs / h while jobs arrive",
     [](M m) { return m.arriving ? Value(m.arriving->jobs_per_hour) : Value(); }, 2, Column::More},
    {"allocated while jobs arrive, %",
     [](M m) { return m.arriving ? Value(100 * m.arriving->allocated) : Value(); }, 1,
     Column::More},
    {"preemptions", [](M m) -> Value { return static_cast<double>(m.preemptions); }, 0}};

/// The best figure of each column, as it is printed, of the runs that ended the most jobs: a run
/// that differs only beyond the printed digits is as good.
std::string best_of(const Column& column, std::span<const PageRun> runs) {
  Value best;
  for (const PageRun& run : runs) {
    const Value value = column.value(run.metrics);
    if (!value || run.metrics.jobs < most_ended(runs)) continue;
    const bool is_better =
        !best || (column.better == Column::More ? *value > *best : *value < *best);
    if (is_better) best = value;
  }
  return to_text(best, column.digits);
}

/// The policies that are not compared, and why.
std::string left_out(std::span<const PageRun> runs) {
  std::string html;
  for (const PageRun& run : runs) {
    if (run.metrics.jobs == most_ended(runs)) continue;
    html +=
        (html.empty() ? "<p>Figures are of the jobs that ended. Not marked, nor in the trade-offs, "
                        "with fewer of them than others: "
                      : "; ") +
        escaped(run.names.label) + " (" + std::to_string(run.metrics.jobs) + ")";
  }
  return html.empty() ? "" : html + ".</p>\n";
}

bool is_one_place(std::span<const PageRun> runs) {
  const std::string& place = runs.front().names.place;
  return std::ranges::all_of(runs, [&](const PageRun& run) { return run.names.place == place; });
}

/// Under the columns of the jobs; the first are the name, perhaps the placement, and the counts.
std::string bound_row(std::span<const PageRun> runs, std::size_t before) {
  const auto& bound = fullest(runs).metrics.bound;
  if (!bound) return "";
  std::vector<std::string> row(before);
  row.front() = kBoundRow;
  for (const Column& column : kOfJobs) {
    row.push_back(column.least != nullptr ? to_text(column.least(*bound), column.digits) : "");
  }
  return cells(row, "td");
}

void add_heads(std::vector<std::string>& heads, std::span<const Column> columns) {
  for (const Column& column : columns) heads.emplace_back(column.head);
}

/// A run's cells, the best of all runs marked.
std::string cells_of(const PageRun& run, std::span<const Column> columns,
                     std::span<const PageRun> runs) {
  const bool is_compared = runs.size() > 1 && run.metrics.jobs == most_ended(runs);
  std::string html;
  for (const Column& column : columns) {
    const std::string text = to_text(column.value(run.metrics), column.digits);
    const bool is_best = is_compared && text != "-" && text == best_of(column, runs);
    html += (is_best ? "<td class=\"best\">" : "<td>") + text + "</td>";
  }
  return html + "</tr>\n";
}

std::string table_of_jobs(std::span<const PageRun> runs) {
  const bool is_one = is_one_place(runs);
  std::vector<std::string> heads = {"policy"};
  if (!is_one) heads.emplace_back("placement");
  for (const char* const count : {"ended", "rejected", "failed"}) heads.emplace_back(count);
  const std::size_t before = heads.size();
  add_heads(heads, kOfJobs);
  std::string html = kTable + cells(heads, "th");
  for (const PageRun& run : runs) {
    html += "<tr><td>" + escaped(run.names.label) + "</td>";
    if (!is_one) html += "<td>" + escaped(run.names.place) + "</td>";
    for (const std::size_t count : {run.metrics.jobs, run.metrics.rejected, run.metrics.failed()}) {
      html += "<td>" + std::to_string(count) + "</td>";
    }
    html += cells_of(run, kOfJobs, runs);
  }
  return html + bound_row(runs, before) + kTableEnd + left_out(runs);
}

std::string table_of_cluster(std::span<const PageRun> runs) {
  std::vector<std::string> heads = {"cluster"};
  add_heads(heads, kOfCluster);
  std::string html = kTable + cells(heads, "th");
  for (const PageRun& run : runs) {
    html += "<tr><td>" + escaped(run.names.label) + "</td>" + cells_of(run, kOfCluster, runs);
  }
  return html + kTableEnd;
}

/// A figure as this page has it: times in hours. Squares of them say nothing to people.
class Hourly {
 public:
  explicit Hourly(const Figure& figure)
      : figure_(figure), is_time_(figure.key.contains("_seconds")) {
    if (is_time_) figure_.digits = 2;
  }
  static void drop_squares(std::vector<Figure>& figures) {
    std::erase_if(figures, [](const Figure& one) { return one.key.contains("_seconds2"); });
  }

  std::string head() const { return std::string(figure_.head) + (is_time_ ? ", h" : ""); }
  std::string text(const Metrics& metrics) const {
    const Value value = figure_.value(metrics);
    return to_text(figure_, is_time_ ? in_hours(value) : value);
  }
  std::string text(const std::vector<Metrics>& seeds) const {
    auto interval = interval_of(figure_, seeds);
    if (interval && is_time_) {
      interval = Interval{.mean = in_hours(interval->mean), .half = in_hours(interval->half)};
    }
    return to_text(figure_, interval);
  }

 private:
  Figure figure_;
  bool is_time_;
};

std::string topic_table(std::span<const PageRun> runs, Topic topic) {
  std::vector<Metrics> all;
  for (const PageRun& run : runs) all.push_back(run.metrics);
  std::vector<Figure> shown = figures_of(all, topic);
  Hourly::drop_squares(shown);
  if (shown.empty()) return "";
  std::vector<std::string> heads = {topic == Topic::Waits ? "waits" : std::string(head_of(topic))};
  for (const Figure& figure : shown) heads.push_back(Hourly(figure).head());
  std::string html = kTable + cells(heads, "th");
  for (const PageRun& run : runs) {
    std::vector<std::string> row = {run.names.label};
    for (const Figure& figure : shown) row.push_back(Hourly(figure).text(run.metrics));
    html += cells(row, "td");
  }
  return html + kTableEnd;
}

/// What the first table leaves out.
std::string topics_of(std::span<const PageRun> runs) {
  return topic_table(runs, Topic::Waits) + topic_table(runs, Topic::Fairness) +
         topic_table(runs, Topic::Stability);
}

/// How each run's figures vary with what the seed draws.
std::string seeds_of(std::span<const PageRun> runs) {
  const std::size_t seeds = runs.front().seeds.size();
  if (seeds < 2) return "";
  std::string html = "<h2>Over " + std::to_string(seeds) +
                     " seeds</h2>\n<p>Means with 95 % confidence intervals by Student's t; "
                     "everything else on this page is of the first seed. * is while jobs "
                     "arrive.</p>\n" +
                     kTable;
  std::vector<Metrics> all;
  for (const PageRun& run : runs) all.insert(all.end(), run.seeds.begin(), run.seeds.end());
  std::vector<Figure> shown = figures_of(all);
  Hourly::drop_squares(shown);
  std::vector<std::string> heads = {"policy"};
  for (const Figure& figure : shown) heads.push_back(Hourly(figure).head());
  html += cells(heads, "th");
  for (const PageRun& run : runs) {
    std::vector<std::string> row = {run.names.label};
    for (const Figure& figure : shown) {
      row.push_back(Hourly(figure).text(run.seeds));
    }
    html += cells(row, "td");
  }
  return html + kTableEnd;
}

std::string group_table(const char* head, const std::vector<GroupFigures>& groups) {
  if (groups.empty()) return "";
  std::string html = kTable + cells({head, "jobs", "ended", "rejected", "mean JCT, h", "p95 JCT, h",
                                     "mean wait, h", "p95 wait, h", "slowdown", "GPU-hours"},
                                    "th");
  for (std::size_t i = 0; i < std::min(kMostGroups, groups.size()); ++i) {
    const GroupFigures& group = groups[i];
    html +=
        cells({group.name, std::to_string(group.submitted), std::to_string(group.jobs),
               std::to_string(group.rejected), to_text(in_hours(group.jct.known(&Spread::mean)), 2),
               to_text(in_hours(group.jct.known(&Spread::p95)), 2),
               to_text(in_hours(group.wait.known(&Spread::mean)), 2),
               to_text(in_hours(group.wait.known(&Spread::p95)), 2),
               to_text(group.slowdown.known(&Spread::mean), 1), to_text(group.gpu_hours, 0)},
              "td");
  }
  html += kTableEnd;
  if (groups.size() <= kMostGroups) return html;
  return html + "<p>And " + std::to_string(groups.size() - kMostGroups) + " more.</p>\n";
}

/// Folded away: there may be many runs.
std::string groups_of(const std::string& label, const Groups& groups) {
  const std::string tables =
      group_table("user", groups.users) + group_table("GPUs asked", groups.sizes);
  if (tables.empty()) return "";
  return "<details open><summary>" + escaped(label) + "</summary>\n" + tables + "</details>\n";
}

/// Which run it was, in words to ask for it again with.
std::string provenance(const RunNames& names) {
  std::string text = "berth " + names.how.version + ", seed " + std::to_string(names.how.seed) +
                     ", load " + shortest(names.how.load);
  for (const auto& [option, value] : names.how.options) {
    text.append(", ").append(option).append(" ").append(value);
  }
  if (!names.how.trace_sha256.empty()) text += "; trace's SHA-256 " + names.how.trace_sha256;
  return "<p class=\"how\">" + escaped(text) + ".</p>\n";
}

std::string deadlines_of(std::span<const PageRun> runs) {
  if (!runs.front().metrics.deadlines) return "";
  std::string html = std::string("<h2>Deadlines</h2>\n") + kTable +
                     cells({"policy", "jobs", "met", "%", "late", "mean lateness, h"}, "th");
  for (const PageRun& run : runs) {
    const DeadlineFigures& d = *run.metrics.deadlines;
    const double met = 100 * static_cast<double>(d.met) / static_cast<double>(d.jobs);
    html += cells({run.names.label, std::to_string(d.jobs), std::to_string(d.met), to_text(met, 1),
                   std::to_string(d.late), to_text(in_hours(d.lateness), 2)},
                  "td");
  }
  return html + kTableEnd;
}

/// Why jobs waited: bars of one run, a row each of several.
std::string waits_of(std::span<const PageRun> runs) {
  if (runs.front().metrics.waits.empty()) return "";
  std::string html = "<h2>Why jobs waited</h2>\n";
  if (runs.size() == 1) {
    return html + bar_figure("Mean wait by reason", bars_of(runs.front().metrics.waits));
  }
  std::vector<std::string> head = {"mean wait, h"};
  std::vector<std::size_t> shown;  // reasons for which anybody waited
  for (std::size_t i = 0; i < runs.front().metrics.waits.size(); ++i) {
    const auto counts = [&](const PageRun& run) { return run.metrics.waits[i].mean > 0; };
    if (std::ranges::none_of(runs, counts)) continue;
    shown.push_back(i);
    head.emplace_back(word_for(runs.front().metrics.waits[i].reason));
  }
  if (shown.empty()) return html + "<p>Nobody waited.</p>\n";
  html += kTable + cells(head, "th");
  for (const PageRun& run : runs) {
    std::vector<std::string> row = {run.names.label};
    for (const std::size_t i : shown) row.push_back(to_text(run.metrics.waits[i].mean / 3600, 2));
    html += cells(row, "td");
  }
  return html + kTableEnd;
}

/// Predicted starts against those that came.
std::string predictions_of(std::span<const PageRun> runs) {
  if (!runs.front().metrics.predictions) return "";
  std::string html =
      std::string("<h2>Predicted starts</h2>\n") + kTable +
      cells({"of jobs that did not start at once", "predicted", "of", "median error, h", "p90, h",
             "bias, h", "error / wait", "started by the 50 % time", "by the 90 % time"},
            "th");
  std::string charts;
  for (const PageRun& run : runs) {
    const PredictionFigures& p = *run.metrics.predictions;
    html += cells(
        {run.names.label, std::to_string(p.predicted), std::to_string(p.predicted + p.unknown),
         to_text(p.off.median / 3600, 2), to_text(p.off.p90 / 3600, 2), to_text(p.bias / 3600, 2),
         to_text(p.off_over_wait, 2), to_text(p.calibration.share_by_half(), 2),
         to_text(p.calibration.share_by_ninety(), 2)},
        "td");
    if (p.predicted == 0) continue;
    charts += agreement_figure({.title = "Wait until the start, " + run.names.label,
                                .x = "predicted, minutes",
                                .y = "actual, minutes",
                                .scale_x = Scale::Log,
                                .scale_y = Scale::Log},
                               dots_of(p));
  }
  return html + kTableEnd + charts;
}

std::string distributions(const trace::Trace& trace, std::span<const PageRun> runs) {
  std::vector<Line> jcts;
  std::vector<Line> waits;
  for (const PageRun& run : runs) {
    jcts.push_back({run.names.label, jct_distribution(trace, run.result)});
    waits.push_back({run.names.label, wait_distribution(trace, run.result)});
  }
  const auto axes = [](const char* title) {
    return Axes{.title = title, .x = "minutes", .y = "% of jobs", .scale_x = Scale::Log};
  };
  Charts charts;
  charts.add(axes("Completion time (JCT)"), jcts);
  charts.add(axes("Wait, a second at least"), waits);
  return charts.html();
}

/// True where jobs have whole GPUs: a picture of their memory would be that of the GPUs.
bool is_same_use(const Series& series, const Cluster& cluster) {
  const auto gpus = static_cast<double>(cluster.gpus().size());
  return std::ranges::equal(series.busy_gpus, series.held_memory,
                            [&](const Point& busy, const Point& held) {
                              return std::abs(100 * busy.y / gpus - held.y) <= 100 * kSame;
                            });
}

std::string over_time(const trace::Trace& trace, const Cluster& cluster,
                      std::span<const PageRun> runs) {
  std::vector<Series> all;
  for (const PageRun& run : runs) all.push_back(series_of(trace, cluster, run.result));
  Charts charts;
  const auto add = [&](const char* title, const char* unit, auto member) {
    std::vector<Line> lines;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      lines.push_back({runs[i].names.label, all[i].*member});
    }
    charts.add({.title = title, .x = "hours", .y = unit}, lines);
  };
  add("GPUs with a tenant", "GPUs", &Series::busy_gpus);
  if (!std::ranges::all_of(all, [&](const Series& one) { return is_same_use(one, cluster); })) {
    add("GPU memory granted", "% of all", &Series::held_memory);
  }
  add("Jobs that wait for their first start", "jobs", &Series::waiting_jobs);
  return charts.html();
}

std::string where(const trace::Trace& trace, const Cluster& cluster, const Result& result) {
  std::size_t boxes = 0;
  for (const Stretch& stretch : result.stretches) boxes += stretch.gpus.size();
  if (cluster.gpus().size() > kMostLanes || boxes > kMostBoxes) {
    return "<p>What ran where is not drawn: " + std::to_string(cluster.gpus().size()) +
           " GPUs and " + std::to_string(boxes) + " boxes are too many for a page (" +
           std::to_string(kMostLanes) + " and " + std::to_string(kMostBoxes) +
           "). <code>--timeline</code> writes them for Perfetto.</p>\n";
  }
  Gantt gantt{.title = "What ran where, by user", .lanes = {}, .boxes = {}, .x = "hours"};
  for (std::uint32_t g = 0; g < cluster.gpus().size(); ++g) {
    gantt.lanes.push_back("GPU " + std::to_string(g));
  }
  Instant first = kNever;
  for (const Stretch& stretch : result.stretches) first = std::min(first, stretch.from);
  const auto hours = [&](Instant at) { return static_cast<double>(micros(at - first)) / 3.6e9; };
  for (const Stretch& stretch : result.stretches) {
    const trace::TraceJob& job = trace.jobs[stretch.job];
    for (const GpuId gpu : stretch.gpus) {
      gantt.boxes.push_back({.lane = gpu.value(),
                             .from = hours(stretch.from),
                             .to = hours(stretch.to),
                             .group = job.spec.user.value(),
                             .name = job.name});
    }
  }
  return gantt_figure(gantt);
}

}  // namespace

std::size_t most_ended(std::span<const PageRun> runs) {
  std::size_t most = 0;
  for (const PageRun& run : runs) most = std::max(most, run.metrics.jobs);
  return most;
}

const PageRun& fullest(std::span<const PageRun> runs) {
  return *std::ranges::find(runs, most_ended(runs),
                            [](const PageRun& run) { return run.metrics.jobs; });
}

std::string page(const trace::Trace& trace, const Cluster& cluster, std::span<const PageRun> runs) {
  const RunNames& names = runs.front().names;
  const std::string title = runs.size() == 1 ? names.label : "Policies compared";
  std::string html =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      escaped(title) + "</title>\n" + kStyle + "</head>\n<body>\n<h1>" + escaped(title) +
      "</h1>\n<p>" + escaped(names.trace.substr(names.trace.rfind('/') + 1)) + ", " +
      std::to_string(trace.jobs.size()) + " jobs, on " + escaped(names.cluster) + " (" +
      std::to_string(cluster.gpus().size()) + " GPUs)" +
      (is_one_place(runs) ? ", placement " + escaped(names.place) : "") + ".</p>\n";
  html += provenance(names) + table_of_jobs(runs) + table_of_cluster(runs) + topics_of(runs) +
          seeds_of(runs) + "<h2>Distributions</h2>\n" + distributions(trace, runs);
  html += waits_of(runs) + deadlines_of(runs) + predictions_of(runs);
  html += "<h2>Over time</h2>\n" + over_time(trace, cluster, runs);
  if (runs.size() > 1) html += trade_offs(cluster, runs);
  const PageRun& one = runs.front();
  html += "<h2>Users and sizes</h2>\n";
  html += bar_figure("GPU-hours by user", shares_by_user(trace, one.result));
  for (const PageRun& run : runs) html += groups_of(run.names.label, run.groups);
  if (runs.size() == 1) html += "<h2>GPUs</h2>\n" + where(trace, cluster, one.result);
  return html + "</body>\n</html>\n";
}

}  // namespace berth::sim
