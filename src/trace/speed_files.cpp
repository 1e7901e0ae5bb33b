// The files that tables of speeds are read from: berth's own CSV, and those of Gavel (Narayanan et
// al., OSDI 2020), Chronus (Gao et al., SoCC 2021), Lucid (Hu et al., ASPLOS 2023), ElasticFlow (Gu
// et al., ASPLOS 2023), Sia (Jayaram Subramanya et al., SOSP 2023) and MISO (Li et al., SoCC 2022).
// Those of Muri are in muri.cpp.
//
// Above full speed a figure beside others or spread out is noise of its measurement, and counts as
// full speed.
#include "trace/speed_files.hpp"

#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "trace/csv.hpp"
#include "trace/profile_points.hpp"
#include "trace/rows.hpp"

namespace berth::trace {

namespace {

using Json = nlohmann::json;

constexpr int kDeepestSpeeds = 6;
constexpr std::int64_t kMostSpeed = 100;
constexpr std::int64_t kMostThroughput = 1'000'000;         ///< Steps a second.
constexpr std::int64_t kStepAtOne = 1'000'000'000'000'000;  ///< Nanoseconds x millionths.

double in_seconds(Duration time) { return static_cast<double>(micros(time)) / 1e6; }

std::unexpected<Error> bad(std::string_view file, const std::string& what) {
  return fail(ErrorCode::BadData, std::string(file) + ": " + what);
}

/// Nothing for a number that is no speed: zero is "not measured" in the published tables.
std::optional<Rate> ratio(double value, double whole) {
  const double speed = value / whole;
  if (!(whole > 0) || !(speed > 0) || !(speed <= static_cast<double>(kMostSpeed))) {
    return std::nullopt;
  }
  return Rate(std::llround(speed * 1e6));
}

Rate at_most_full(Rate rate) { return std::min(rate, kFullSpeed); }

std::optional<std::int64_t> count_of(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole && value > 0 && value <= kMostNodes ? std::optional(value) : std::nullopt;
}

// ---- Chronus: {model: {GPUs: {nodes: speed}}} -------------------------------------------------

Expected<void> read_chronus_speeds(const Json& all, std::string_view file, Speeds& into) {
  for (const auto& [model, by_gpus] : all.items()) {
    for (const auto& [gpus, by_nodes] : by_gpus.items()) {
      for (const auto& [nodes, speed] : by_nodes.items()) {
        const auto on = count_of(nodes);
        const auto with = count_of(gpus);
        const auto rate = speed.is_number() ? ratio(speed.get<double>(), 1) : std::nullopt;
        if (!on || !with || !rate) {
          return bad(file,
                     "'" + shown(model) + "': expected GPUs, then nodes, then a speed above 0");
        }
        into.add_spread(model, *with, *on, at_most_full(*rate));
      }
    }
  }
  return {};
}

// ---- Gavel: {GPU type: {"('job type', GPUs)": {"null": alone, "('other', GPUs)": [its, ...]}}}

struct GavelKey {
  std::string model;
  std::int64_t gpus = 0;
};

std::optional<GavelKey> gavel_key(std::string_view text) {
  const std::size_t comma = text.rfind(", ");
  if (!text.starts_with("('") || !text.ends_with(")") || comma == std::string_view::npos ||
      comma < 3 || text[comma - 1] != '\'') {
    return std::nullopt;
  }
  const auto gpus = count_of(text.substr(comma + 2, text.size() - comma - 3));
  if (!gpus) return std::nullopt;
  return GavelKey{std::string(text.substr(2, comma - 3)), *gpus};
}

/// Steps per second alone; nothing where the file does not say it.
std::optional<double> stated(const Json& all, const std::string& type, const std::string& job) {
  const auto by_type = all.find(type);
  if (by_type == all.end() || !by_type->is_object()) return std::nullopt;
  const auto entry = by_type->find(job);
  if (entry == by_type->end() || !entry->is_object()) return std::nullopt;
  const auto solo = entry->find("null");
  if (solo == entry->end() || !solo->is_number()) return std::nullopt;
  return solo->get<double>();
}

double alone(const Json& all, const std::string& type, const std::string& job) {
  return stated(all, type, job).value_or(0);
}

/// By the model of the other: how fast it is beside it; nothing where that is said to be zero.
std::map<std::string, std::optional<Rate>> gavel_pairs(const GavelKey& self, const Json& entry,
                                                       double solo) {
  std::map<std::string, std::optional<Rate>> pairs;
  for (const auto& [name, pair] : entry.items()) {
    const auto other = gavel_key(name);
    if (!other || other->gpus != self.gpus || !pair.is_array() || pair.empty()) continue;
    const auto rate = pair[0].is_number() ? ratio(pair[0].get<double>(), solo) : std::nullopt;
    pairs[other->model] = rate ? std::optional(at_most_full(*rate)) : std::nullopt;
  }
  return pairs;
}

constexpr std::string_view kSpread = "_unconsolidated";

/// On the reference for all types, and on each other type for itself.
void add_gavel_pairs(const Json& all, std::string_view reference, const std::string& name,
                     Speeds& into) {
  const GavelKey self = *gavel_key(name);
  for (const auto& [type, jobs] : all.items()) {
    const double solo = alone(all, type, name);
    if (type.ends_with(kSpread) || !(solo > 0)) continue;
    for (const auto& [other, rate] : gavel_pairs(self, jobs.at(name), solo)) {
      const std::string there = Speeds::neighbour_on(other, type);
      if (!rate) into.rule_out(self.model, self.gpus, there);
      if (rate) into.add_pair(self.model, self.gpus, type == reference ? other : there, *rate);
    }
  }
}

/// Alone on each type of GPU, against the reference; where the throughput is 0 it does not run.
void add_gavel_types(const Json& all, const std::string& name, double solo, const GavelKey& self,
                     Speeds& into) {
  for (const auto& [type, jobs] : all.items()) {
    if (type.ends_with(kSpread)) continue;
    const auto speed = stated(all, type, name);
    if (speed == 0) into.rule_out(self.model, self.gpus, type);
    if (const auto rate = ratio(speed.value_or(0), solo)) {
      into.add_type(self.model, self.gpus, type, *rate);
    }
  }
}

Expected<void> read_gavel_speeds(const Json& all, std::string_view file, std::string_view reference,
                                 Speeds& into) {
  const auto base = all.find(reference);
  if (base == all.end() || !base->is_object()) {
    return bad(file, "no throughputs for GPU type '" + std::string(reference) + "'");
  }
  for (const auto& [name, entry] : base->items()) {
    const auto self = gavel_key(name);
    if (!self || !entry.is_object()) continue;
    const double solo = alone(all, std::string(reference), name);
    add_gavel_types(all, name, solo, *self, into);
    if (!(solo > 0)) continue;
    const double spread = alone(all, std::string(reference) + std::string(kSpread), name);
    if (const auto rate = ratio(spread, solo); rate && self->gpus > 1) {
      into.add_spread(self->model, self->gpus, 2, at_most_full(*rate));
    }
    add_gavel_pairs(all, reference, name, into);
  }
  return {};
}

Expected<void> read_json(std::string_view text, std::string_view file, std::string_view reference,
                         Speeds& into) {
  const auto shallow = [](int depth, Json::parse_event_t, const Json&) {
    return depth <= kDeepestSpeeds;
  };
  const Json all = Json::parse(text, shallow, false);
  const bool is_table = all.is_object() && !all.empty() && all.begin()->is_object();
  if (!is_table || all.begin()->empty()) {
    return bad(file, "expected Gavel's throughputs or Chronus' model_info");
  }
  return all.begin()->begin().key().starts_with("(") ? read_gavel_speeds(all, file, reference, into)
                                                     : read_chronus_speeds(all, file, into);
}

// ---- Rows -------------------------------------------------------------------------------------

Rate speed_of(Row& row, std::size_t column) {
  const std::int64_t ppm = row.millionths(column, kMostSpeed);
  if (ppm == 0) row.refuse(column, "a speed above 0");
  return Rate(ppm);
}

/// Lucid's colocate_info.csv: every pair under its models' names, whatever their data and batches.
Expected<void> read_lucid_pairs(Csv& csv, Speeds& into) {
  Columns find(csv);
  const std::size_t one = find.need("model1");
  const std::size_t other = find.need("model2");
  const std::size_t speed = find.need("speed1");
  const std::size_t others = find.need("speed2");
  if (auto error = find.error()) return std::unexpected(*std::move(error));
  return each_row(csv, [&](Row& row) {
    const std::string first = row.name(one);
    const std::string second = row.name(other);
    const Rate rate = at_most_full(speed_of(row, speed));
    const Rate rate_of_second = at_most_full(speed_of(row, others));
    into.add_pair(first, 0, second, rate);
    into.add_pair(second, 0, first, rate_of_second);
  });
}

/// Lucid's single_data.csv, in percent.
Expected<void> read_lucid_singles(Csv& csv, Speeds& into) {
  Columns find(csv);
  const std::size_t model = find.need("model");
  const std::size_t busy = find.need("gpu_util");
  if (auto error = find.error()) return std::unexpected(*std::move(error));
  return each_row(csv, [&](Row& row) {
    const std::string name = row.name(model);
    into.add_utilisation(name, Rate(row.millionths(busy, 100) / 100));
  });
}

/// `profiles/bert/scalability.csv`: bert.
std::string folder_of(std::string_view file) {
  const std::string_view folders = file.substr(0, file.size() - without_folders(file).size());
  return std::string(without_folders(folders.substr(0, folders.find_last_not_of('/') + 1)));
}

/// ElasticFlow's MODEL.csv: steps a second by batch (rows) and GPUs (columns).
Expected<void> read_elasticflow_steps(Csv& csv, std::size_t batch, Speeds& into) {
  constexpr std::int64_t kMostColumns = 1024;
  const std::string_view name = without_folders(csv.file());
  const std::string model(name.substr(0, name.find('.')));
  std::vector<std::pair<std::int64_t, std::size_t>> columns;
  for (std::int64_t gpus = 1; gpus <= kMostColumns; ++gpus) {
    if (const auto column = csv.find(std::to_string(gpus))) columns.emplace_back(gpus, *column);
  }
  return each_row(csv, [&](Row& row) {
    const std::int64_t all = row.integer(batch, 1, Scaling::kMostBatch);
    for (const auto& [gpus, column] : columns) {
      const std::string_view text = row.text(column);
      if (text.empty() || text == "nan") continue;  // not measured, and so is zero
      if (all < gpus) continue;                     // less than a sample on each
      const std::int64_t ppm = row.millionths(column, kMostThroughput);
      if (row.error() || ppm == 0) continue;
      into.scaling().add(model, gpus, all * Scaling::kThousandths / gpus, kStepAtOne / ppm);
    }
  });
}

/// Sia's scalability.csv or placements.csv in a folder of the application's name.
Expected<void> read_sia_steps(Csv& csv, Speeds& into) {
  const std::string model = folder_of(csv.file());
  if (model.empty()) {
    return bad(csv.file(), "the folder of a profile names its application: name it with that");
  }
  const auto points = read_profile_points(csv);
  if (!points) return std::unexpected(points.error());
  std::set<std::int64_t> counts;
  for (const ProfilePoint& point : *points) counts.insert(point.gpus);
  for (const std::int64_t gpus : counts) {
    for (const ProfilePoint& point : for_gpus(*points, gpus)) {
      if (point.step <= Duration(0)) continue;
      into.scaling().add(model, gpus, point.batch * Scaling::kThousandths,
                         micros(point.step) * 1000);
    }
  }
  return {};
}

/// MISO's mig_step_time.csv: by MIG profile against the whole A100, by model, and by model and
/// batch under the names of its jobs, `bert_train8`.
Expected<void> read_miso_steps(Csv& csv, std::size_t profile, Speeds& into) {
  constexpr std::string_view kWholeGpu = "7g.40gb";
  Columns find(csv);
  const std::size_t model = find.need("model");
  const std::size_t batch = find.need("batch_size");
  const std::size_t step = find.need("mean_step_s");
  if (auto error = find.error()) return std::unexpected(*std::move(error));
  std::map<std::pair<std::string, std::int64_t>, std::map<std::string, double>> steps;
  auto done = each_row(csv, [&](Row& row) {
    const std::int64_t size = row.integer(batch, 1, Scaling::kMostBatch);
    steps[{row.name(model), size}][row.name(profile)] = in_seconds(row.duration(step));
  });
  if (!done) return done;
  for (const auto& [job, by_profile] : steps) {
    const auto whole = by_profile.find(std::string(kWholeGpu));
    if (whole == by_profile.end()) continue;
    const std::string exact = job.first + "_train" + std::to_string(job.second);
    for (const auto& [type, time] : by_profile) {
      const auto rate = ratio(whole->second, time);
      if (!rate) continue;
      into.add_type(job.first, 0, type, *rate);
      into.add_type(exact, 0, type, *rate);
    }
  }
  return {};
}

struct OwnColumns {
  explicit OwnColumns(Columns& columns)
      : model(columns.need("model")),
        gpus(columns.find("gpus")),
        nodes(columns.find("nodes")),
        type(columns.find("type")),
        beside(columns.find("beside")),
        speed(columns.find("speed")),
        batch(columns.find("batch")),
        throughput(columns.find("throughput")),
        utilisation(columns.find("utilisation")),
        start(columns.find("start_seconds")),
        restart(columns.find("restart_seconds")) {}

  std::size_t model;
  std::optional<std::size_t> gpus, nodes, type, beside, speed, batch, throughput;
  std::optional<std::size_t> utilisation, start, restart;
};

void read_own_speed(Row& row, const OwnColumns& columns, Speeds& into) {
  const std::string model(row.text(columns.model));
  const auto gpus = row.is_missing(columns.gpus) ? 0 : row.integer(*columns.gpus, 1, kMostGpus);
  const Rate rate = speed_of(row, *columns.speed);
  const bool nodes = !row.is_missing(columns.nodes);
  const bool type = !row.is_missing(columns.type);
  const bool beside = !row.text(columns.beside).empty();
  if (nodes == (type || beside)) {
    return row.refuse(*columns.speed,
                      "a speed in a row that has nodes, type, beside, or type and beside");
  }
  if (nodes) into.add_spread(model, gpus, row.integer(*columns.nodes, 1, kMostNodes), rate);
  const std::string on(row.text(columns.type));
  if (type && !beside) into.add_type(model, gpus, on, rate);
  const std::string named(row.text(columns.beside));
  const std::string other = named == "*" ? "" : named;
  if (beside) into.add_pair(model, gpus, type ? Speeds::neighbour_on(other, on) : other, rate);
}

/// On so many GPUs, in whatever unit: only what one is against another counts.
void read_own_throughput(Row& row, const OwnColumns& columns, Speeds& into) {
  const std::string model(row.text(columns.model));
  const std::int64_t ppm = row.millionths(*columns.throughput, kMostThroughput);
  if (ppm == 0) return row.refuse(*columns.throughput, "a throughput above 0");
  if (row.is_missing(columns.gpus)) {
    return row.refuse(*columns.throughput, "a throughput in a row that says on how many GPUs");
  }
  const std::int64_t gpus = row.integer(*columns.gpus, 1, kMostGpus);
  const bool any = row.is_missing(columns.batch);
  const std::int64_t batch = any ? 0 : row.integer(*columns.batch, 1, Scaling::kMostBatch);
  if (!any && batch < gpus) row.refuse(*columns.batch, "a batch of a sample on each GPU at least");
  if (row.error()) return;
  into.scaling().add(model, gpus, batch * Scaling::kThousandths / gpus, kStepAtOne / ppm);
}

Expected<void> read_own(Csv& csv, Speeds& into) {
  Columns find(csv);
  const OwnColumns columns(find);
  if (auto error = find.error()) return std::unexpected(*std::move(error));
  return each_row(csv, [&](Row& row) {
    const std::string model(row.text(columns.model));
    if (!row.is_missing(columns.speed)) read_own_speed(row, columns, into);
    if (!row.is_missing(columns.throughput)) read_own_throughput(row, columns, into);
    if (!row.is_missing(columns.utilisation)) {
      into.add_utilisation(model, Rate(row.millionths(*columns.utilisation, 1)));
    }
    if (!row.is_missing(columns.start)) into.set_start(model, row.duration(*columns.start));
    if (!row.is_missing(columns.restart)) into.set_restart(model, row.duration(*columns.restart));
  });
}

}  // namespace

Expected<void> read_speeds(std::string_view text, std::string_view file, std::string_view reference,
                           Speeds& into) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string_view::npos && text[begin] == '{') {
    return read_json(text, file, reference, into);
  }
  auto csv = Csv::open(text, file);
  if (!csv) return std::unexpected(csv.error());
  if (csv->find("model1")) return read_lucid_pairs(*csv, into);
  if (csv->find("gpu_util")) return read_lucid_singles(*csv, into);
  if (csv->find("local_bsz")) return read_sia_steps(*csv, into);
  if (const auto batch = csv->find("global_batch_size")) {
    return read_elasticflow_steps(*csv, *batch, into);
  }
  if (csv->find("resource_time_0")) return read_muri_stages(*csv, into);
  if (const auto profile = csv->find("mig_profile")) return read_miso_steps(*csv, *profile, into);
  return read_own(*csv, into);
}

}  // namespace berth::trace
