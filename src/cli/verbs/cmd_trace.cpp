#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>

#include "cli/print/amounts.hpp"
#include "cli/print/files.hpp"
#include "cli/print/json.hpp"
#include "cli/print/numbers.hpp"
#include "cli/print/output.hpp"
#include "cli/print/report.hpp"
#include "cli/print/verbs.hpp"
#include "cli/study/mixes.hpp"
#include "cli/study/trace_input.hpp"
#include "core/text/counted.hpp"
#include "trace/generate.hpp"
#include "trace/speed_files.hpp"

namespace berth::cli {

namespace {

struct InfoArguments {
  std::string file;
  TraceArguments trace;
  std::uint64_t seed = 0;
  bool json = false;
};

struct ConvertArguments {
  std::string file;
  TraceArguments trace;
  std::uint64_t seed = 0;
  std::string to;
  std::string out;
};

struct SpeedsArguments {
  std::vector<std::string> files;
  std::string model;
  std::int64_t batch = 0;
  std::int64_t asked = 0;  ///< 0: the fewest that were measured.
  bool json = false;
};

struct GenerateArguments {
  std::string kind;
  MixArguments mix;
  std::int64_t jobs = 1000;
  std::uint64_t seed = 0;
  std::string to = "berth";
  std::string out;
};

Json run_times(const trace::Trace& trace) {
  std::vector<Duration> times;
  double sum = 0;
  for (const trace::TraceJob& job : trace.jobs) {
    times.push_back(job.duration);
    sum += in_seconds(job.duration);
  }
  if (times.empty()) return {{"mean", nullptr}, {"median", nullptr}, {"longest", nullptr}};
  std::ranges::sort(times);
  return {{"mean", sum / static_cast<double>(times.size())},
          {"median", in_seconds(times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2},
          {"longest", in_seconds(times.back())}};
}

/// What `info` says, as `--json` prints it.
Json facts_of(const TraceInput& input) {
  const trace::Trace& trace = input.trace;
  std::map<std::int64_t, std::size_t> sizes;
  std::size_t memory = 0, deadlines = 0, typed = 0;
  std::set<std::string_view> users;
  double gpu_hours = 0;
  for (const trace::TraceJob& job : trace.jobs) {
    const GpuRequest& gpu = job.spec.request.gpu;
    ++sizes[gpu.count.raw()];
    memory += gpu.vram > trace::kUnstated ? 1 : 0;
    deadlines += job.spec.deadline != kNever ? 1 : 0;
    typed += job.types.empty() ? 0 : 1;
    gpu_hours += static_cast<double>(gpu.count.raw()) * in_seconds(job.duration) / 3600;
    if (!job.user.empty()) users.insert(job.user);
  }
  Json by_size = Json::array();
  for (const auto& [gpus, jobs] : sizes) by_size.push_back({{"gpus", gpus}, {"jobs", jobs}});
  Json left_out_by = Json::object();
  for (const trace::LeftOut& kind : trace.left_out_by) {
    left_out_by[std::string(kind.what)] = kind.rows;
  }
  const bool any = !trace.jobs.empty();
  const Duration span = any ? trace.jobs.back().submit - trace.jobs.front().submit : Duration(0);
  return {{"format", input.format},
          {"jobs", trace.jobs.size()},
          {"left_out", trace.left_out},
          {"left_out_by", left_out_by},
          {"skipped", trace.skipped},
          {"span_seconds", in_seconds(span)},
          {"run_time_seconds", run_times(trace)},
          {"gpu_hours", gpu_hours},
          {"jobs_by_gpus", by_size},
          {"users", users.size()},
          {"with_memory", memory},
          {"with_deadline", deadlines},
          {"with_gpu_types", typed}};
}

std::string number(const Json& value, const char* form) {
  if (!value.is_number()) return "-";
  char text[64];
  std::snprintf(text, sizeof text, form, value.get<double>());
  return text;
}

std::string page_of(const Json& facts) {
  const auto count = [&](const char* key) { return std::to_string(facts[key].get<std::size_t>()); };
  Page page({});
  page.line("format", facts["format"].get<std::string>());
  page.line("jobs", count("jobs"));
  std::string kinds;
  for (const auto& [what, rows] : facts["left_out_by"].items()) {
    kinds += (kinds.empty() ? ": " : ", ") + number_of_things(rows.get<std::size_t>(), what);
  }
  page.line("left out", count("left_out") + kinds);
  page.line("skipped", count("skipped"));
  page.line("span", number(facts["span_seconds"], "%.0f s"));
  const Json& times = facts["run_time_seconds"];
  page.line("run time", "median " + number(times["median"], "%.0f s") + ", mean " +
                            number(times["mean"], "%.0f s") + ", longest " +
                            number(times["longest"], "%.0f s"));
  const bool is_small = facts["gpu_hours"].get<double>() < 100;
  page.line("GPU-hours", number(facts["gpu_hours"], is_small ? "%.2f" : "%.0f"));
  std::string sizes;
  for (const Json& size : facts["jobs_by_gpus"]) {
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(size["jobs"].get<std::size_t>()) +
             " of " + std::to_string(size["gpus"].get<std::int64_t>());
  }
  page.line("jobs by GPUs", sizes);
  page.line("users", count("users"));
  page.line("with memory", count("with_memory"));
  page.line("with deadline", count("with_deadline"));
  page.line("with GPU types", count("with_gpu_types"));
  return page.text();
}

int info(const InfoArguments& arguments) {
  const auto input = read_trace(arguments.file, arguments.trace, arguments.seed);
  if (!input) return report(input.error());
  const Json facts = facts_of(*input);
  return print(arguments.json ? json_text(facts) : page_of(facts));
}

Expected<trace::Writer> writer_of(const std::string& name) {
  std::string known;
  for (const trace::Format& format : trace::formats()) {
    if (format.write == nullptr) continue;
    if (format.name == name) return format.write;
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  }
  return fail(ErrorCode::NotFound,
              "trace format '" + name + "' is not one that berth writes; valid names: " + known);
}

/// Other formats than berth's have no place for a job without a GPU.
void leave_out_gpuless(trace::Trace& trace, const std::string& format) {
  if (format == "berth") return;
  const std::size_t count = std::erase_if(trace.jobs, [](const trace::TraceJob& job) {
    return job.spec.request.gpu.count == GpuCount(0);
  });
  if (count == 0) return;
  std::fprintf(stderr, "berth: left out %s: %s has no place for %s\n",
               number_of_things(count, trace::kWithoutGpu).c_str(), format.c_str(),
               count == 1 ? "it" : "them");
}

Expected<void> write_trace(trace::Trace trace, const std::string& format, const std::string& out) {
  const auto writer = writer_of(format);
  if (!writer) return std::unexpected(writer.error());
  leave_out_gpuless(trace, format);
  return write_file(out, (*writer)(trace));
}

Expected<void> convert(const ConvertArguments& arguments) {
  if (auto writer = writer_of(arguments.to); !writer) return std::unexpected(writer.error());
  const NamedFile written{"--out", arguments.out};
  const auto apart = check_apart(inputs_of(arguments.file, arguments.trace), {&written, 1});
  if (!apart) return apart;
  auto input = read_trace(arguments.file, arguments.trace, arguments.seed);
  if (!input) return std::unexpected(input.error());
  return write_trace(std::move(input->trace), arguments.to, arguments.out);
}

/// How fast a model is on each number of GPUs that was measured, against those it asks for.
Json speeds_of(const Scaling& scaling, const SpeedsArguments& arguments, const std::string& model) {
  const std::vector<std::int64_t> measured = scaling.gpus(model);
  Json speeds = Json::array();
  const std::int64_t asked = arguments.asked > 0 ? arguments.asked : measured.front();
  for (const std::int64_t gpus : measured) {
    const auto speed = scaling.speed(model, arguments.batch, asked, gpus);
    if (!speed) continue;
    speeds.push_back({{"gpus", gpus}, {"speed", static_cast<double>(speed->ppm()) / 1e6}});
  }
  return {{"model", model}, {"asked", asked}, {"speeds", speeds}};
}

std::string speeds_page(const Json& models) {
  Page page({});
  for (const Json& model : models) {
    std::string speeds;
    for (const Json& point : model["speeds"]) {
      speeds += (speeds.empty() ? "" : ", ") + number(point["speed"], "%.3f") + " on " +
                std::to_string(point["gpus"].get<std::int64_t>());
    }
    page.line(model["model"].get<std::string>(),
              speeds.empty() ? "not measured for this batch and these GPUs" : speeds);
  }
  return page.text();
}

Expected<Json> speeds_by_gpus(const SpeedsArguments& arguments) {
  Speeds speeds;
  for (const std::string& path : arguments.files) {
    const auto text = read_text(path);
    if (!text) return std::unexpected(text.error());
    if (auto done = trace::read_speeds(*text, path, "v100", speeds); !done) {
      return std::unexpected(done.error());
    }
  }
  const Scaling& scaling = speeds.scaling();
  std::vector<std::string> models = scaling.models();
  if (!arguments.model.empty()) {
    std::erase_if(models, [&](const std::string& name) { return name != arguments.model; });
  }
  if (models.empty()) {
    return fail(ErrorCode::NotFound, "these files do not say how fast " +
                                         (arguments.model.empty() ? "any model" : arguments.model) +
                                         " is on other numbers of GPUs");
  }
  Json all = Json::array();
  for (const std::string& model : models) all.push_back(speeds_of(scaling, arguments, model));
  return all;
}

int speeds(const SpeedsArguments& arguments) {
  const auto all = speeds_by_gpus(arguments);
  if (!all) return report(all.error());
  return print(arguments.json ? json_text(*all) : speeds_page(*all));
}

Expected<trace::Trace> generated(const GenerateArguments& arguments) {
  if (arguments.kind == "mix") {
    return draw_named_mix(arguments.mix, arguments.jobs, arguments.seed);
  }
  if (arguments.kind != "philly-like") {
    return fail(ErrorCode::NotFound,
                "trace kind '" + arguments.kind + "' is unknown; valid kinds: philly-like, mix");
  }
  if (const std::string given = given_mix_options(arguments.mix); !given.empty()) {
    return fail(ErrorCode::InvalidArgument, given + " goes with the kind mix, not philly-like");
  }
  return trace::philly_like(arguments.jobs, arguments.seed);
}

Expected<void> generate(const GenerateArguments& arguments) {
  if (auto writer = writer_of(arguments.to); !writer) return std::unexpected(writer.error());
  const auto read = std::to_array<NamedFile>({{"--mixes", arguments.mix.files.mixes},
                                              {"--workloads", arguments.mix.files.workloads},
                                              {"--cluster", arguments.mix.cluster}});
  const NamedFile written{"--out", arguments.out};
  if (auto apart = check_apart(read, {&written, 1}); !apart) return apart;
  auto trace = generated(arguments);
  if (!trace) return std::unexpected(trace.error());
  return write_trace(std::move(*trace), arguments.to, arguments.out);
}

int code_of(const Expected<void>& done) { return done ? 0 : report(done.error()); }

std::string written_formats() {
  std::string known;
  for (const trace::Format& format : trace::formats()) {
    if (format.write != nullptr) known += (known.empty() ? "" : ", ") + std::string(format.name);
  }
  return known;
}

void add_info(CLI::App& verb, Action& chosen) {
  auto arguments = std::make_shared<InfoArguments>();
  CLI::App* const info_verb = verb.add_subcommand("info", "Describe a trace.");
  info_verb->add_option("file", arguments->file, "The trace, or a journal of berthd.")->required();
  add_trace_options(*info_verb, arguments->trace);
  info_verb->add_option("--seed", arguments->seed, "Seed of all random draws.")
      ->check(whole_number(0, kMostSeed))
      ->capture_default_str();
  info_verb->add_flag("--json", arguments->json, "Print JSON.");
  info_verb->callback([=, &chosen] { chosen = [=] { return info(*arguments); }; });
}

void add_convert(CLI::App& verb, Action& chosen) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App* const convert_verb = verb.add_subcommand("convert", "Write a trace in another format.");
  convert_verb->add_option("file", arguments->file, "The trace, or a journal of berthd.")
      ->required();
  convert_verb->add_option("--to", arguments->to, "Format, one of: " + written_formats() + ".")
      ->required();
  convert_verb->add_option("--out", arguments->out, "The file to write.")
      ->type_name("FILE")
      ->required();
  add_trace_options(*convert_verb, arguments->trace);
  convert_verb->add_option("--seed", arguments->seed, "Seed of all random draws.")
      ->check(whole_number(0, kMostSeed))
      ->capture_default_str();
  convert_verb->callback([=, &chosen] { chosen = [=] { return code_of(convert(*arguments)); }; });
}

void add_speeds(CLI::App& verb, Action& chosen) {
  auto arguments = std::make_shared<SpeedsArguments>();
  CLI::App* const speeds_verb = verb.add_subcommand(
      "speeds", "Print how fast models run on other numbers of GPUs, from published tables.");
  speeds_verb->add_option("files", arguments->files, "Files as for `berth sim --speeds`.")
      ->required();
  speeds_verb->add_option("--model", arguments->model, "Print this model only.");
  speeds_verb
      ->add_option("--batch", arguments->batch,
                   "Samples per step on all GPUs together, for tables by batch.")
      ->check(whole_number(1, Scaling::kMostBatch));
  speeds_verb
      ->add_option("--asked", arguments->asked,
                   "The number of GPUs whose speed is 1; by default the fewest measured.")
      ->check(whole_number(1, 1'000'000));
  speeds_verb->add_flag("--json", arguments->json, "Print JSON.");
  speeds_verb->callback([=, &chosen] { chosen = [=] { return speeds(*arguments); }; });
}

void add_generate(CLI::App& verb, Action& chosen) {
  auto arguments = std::make_shared<GenerateArguments>();
  CLI::App* const generate_verb =
      verb.add_subcommand("generate", "Generate a trace; the same seed gives the same trace.");
  generate_verb->add_option("kind", arguments->kind, "philly-like, or mix.")->required();
  add_mix_options(*generate_verb, arguments->mix);
  generate_verb->add_option("--jobs", arguments->jobs, "Number of jobs.")
      ->check(whole_number(1, trace::kMostGenerated))
      ->capture_default_str();
  generate_verb->add_option("--seed", arguments->seed, "Seed of all random draws.")
      ->check(whole_number(0, kMostSeed))
      ->capture_default_str();
  generate_verb->add_option("--to", arguments->to, "Format, one of: " + written_formats() + ".")
      ->capture_default_str();
  generate_verb->add_option("--out", arguments->out, "The file to write.")->required();
  generate_verb->callback([=, &chosen] { chosen = [=] { return code_of(generate(*arguments)); }; });
}

}  // namespace

void add_trace(CLI::App& app, Action& chosen) {
  CLI::App* const verb =
      app.add_subcommand("trace", "Describe, convert and generate traces; print tables of speeds.");
  verb->require_subcommand(1);
  add_info(*verb, chosen);
  add_convert(*verb, chosen);
  add_generate(*verb, chosen);
  add_mixes(*verb, chosen);
  add_speeds(*verb, chosen);
}

}  // namespace berth::cli
