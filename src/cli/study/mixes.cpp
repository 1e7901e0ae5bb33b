#include "cli/study/mixes.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "cli/print/json.hpp"
#include "cli/print/output.hpp"
#include "cli/print/report.hpp"
#include "cli/study/trace_input.hpp"
#include "sim/estimates.hpp"
#include "trace/formats.hpp"
#include "trace/mix.hpp"

namespace berth::cli {

namespace {

struct ListArguments {
  MixFiles files;
  bool json = false;
};

struct MixBook {
  std::vector<trace::Workload> workloads;
  std::vector<trace::Mix> mixes;
};

void add_files(CLI::App& verb, MixFiles& files) {
  verb.add_option("--mixes", files.mixes,
                  "File of mixes (doc/scenarios.md); default: berth's own.");
  verb.add_option("--workloads", files.workloads, "File of their workloads; default: berth's own.");
}

/// A file's text, or the one in the program; where it stands, for messages.
struct Source {
  std::string text;
  std::string name;
};
Expected<Source> source_of(const std::string& path, std::string_view shipped, const char* name) {
  if (path.empty()) return Source{std::string(shipped), std::string("berth's ") + name};
  auto text = read_text(path);
  if (!text) return std::unexpected(text.error());
  return Source{std::move(*text), path};
}

Expected<MixBook> read_book(const MixFiles& files) {
  const auto table = source_of(files.workloads, trace::shipped_workloads(), "workloads.csv");
  if (!table) return std::unexpected(table.error());
  auto workloads = trace::read_workloads(table->text, table->name);
  if (!workloads) return std::unexpected(workloads.error());
  const auto list = source_of(files.mixes, trace::shipped_mixes(), "mixes.toml");
  if (!list) return std::unexpected(list.error());
  auto mixes = trace::read_mixes(list->text, list->name, *workloads);
  if (!mixes) return std::unexpected(mixes.error());
  return MixBook{std::move(*workloads), std::move(*mixes)};
}

Expected<trace::Mix> mix_named(const MixBook& book, const std::string& name) {
  std::string known;
  for (const trace::Mix& mix : book.mixes) {
    if (mix.name == name) return mix;
    known += (known.empty() ? "" : ", ") + mix.name;
  }
  if (name.empty()) {
    return fail(ErrorCode::InvalidArgument, "--mix is required; valid names: " + known);
  }
  return fail(ErrorCode::NotFound, "mix '" + name + "' is unknown; valid names: " + known);
}

Expected<Cluster> cluster_of(const std::string& text) {
  if (!text.empty()) return read_cluster(text);
  return trace::read_cluster(trace::shipped_cluster(), "berth's 4x8x80g.toml");
}

void tell_what_never_fits(const trace::Trace& trace, const Cluster& cluster) {
  const auto count = std::ranges::count_if(trace.jobs, [&](const trace::TraceJob& job) {
    const GpuRequest& asked = job.spec.request.gpu;
    return asked.vram > cluster.largest_gpu() || asked.count > cluster.gpu_count();
  });
  if (count == 0) return;
  std::fprintf(stderr,
               "berth: %td of %zu jobs ask for more GPUs or GPU memory than this cluster has\n",
               count, trace.jobs.size());
}

void tell_what_was_drawn(const trace::Mix& mix, const trace::Trace& trace) {
  const Duration span = trace.jobs.back().submit - trace.jobs.front().submit;
  std::printf("%zu jobs over %.1f hours; replay them with --estimates %s\n", trace.jobs.size(),
              static_cast<double>(micros(span)) / 3.6e9, mix.estimates.c_str());
}

double in_units(std::int64_t thousandths) { return static_cast<double>(thousandths) / 1000; }

Json facts_of_mix(const trace::Mix& mix) {
  return {{"name", mix.name},
          {"run_times", mix.run_times == trace::RunTimes::Table ? "table" : "philly"},
          {"users", mix.users},
          {"greedy", mix.greedy},
          {"lying", mix.lying},
          {"load", in_units(mix.load)},
          {"limit", in_units(mix.limit)},
          {"estimates", mix.estimates}};
}

std::string cell_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string mixes_table(const Json& mixes) {
  const std::vector<const char*> keys = {"name",  "run_times", "users", "greedy",
                                         "lying", "load",      "limit", "estimates"};
  std::vector<Table::Column> columns;
  for (const char* key : keys) columns.push_back({key});
  Table table(columns);
  for (const Json& mix : mixes) {
    std::vector<Cell> row;
    for (const char* key : keys) row.push_back({cell_of(mix[key])});
    table.add(std::move(row));
  }
  return table.text({});
}

int list(const ListArguments& arguments) {
  const auto book = read_book(arguments.files);
  if (!book) return report(book.error());
  Json mixes = Json::array();
  for (const trace::Mix& mix : book->mixes) mixes.push_back(facts_of_mix(mix));
  return print(arguments.json ? json_text(mixes) : mixes_table(mixes));
}

}  // namespace

void add_mix_options(CLI::App& verb, MixArguments& arguments) {
  verb.add_option("--mix", arguments.name, "mix: its name, as `berth trace mixes` lists them.");
  verb.add_option(
      "--cluster", arguments.cluster,
      "mix: the cluster that the load is of, as for `berth sim`; default: four nodes of "
      "8 GPUs of 80 GB.");
  verb.add_option("--set", arguments.changes,
                  "mix: KEY=VALUE, a key of the mix and what it is instead; may be given again.")
      ->expected(1)
      ->take_all();
  add_files(verb, arguments.files);
}

std::string given_mix_options(const MixArguments& arguments) {
  if (!arguments.name.empty()) return "--mix";
  if (!arguments.cluster.empty()) return "--cluster";
  if (!arguments.changes.empty()) return "--set";
  if (!arguments.files.mixes.empty()) return "--mixes";
  return arguments.files.workloads.empty() ? "" : "--workloads";
}

Expected<trace::Trace> draw_named_mix(const MixArguments& arguments, std::int64_t jobs,
                                      std::uint64_t seed) {
  const auto book = read_book(arguments.files);
  if (!book) return std::unexpected(book.error());
  auto mix = mix_named(*book, arguments.name);
  if (!mix) return std::unexpected(mix.error());
  for (const std::string& change : arguments.changes) {
    if (auto done = trace::change(*mix, change, book->workloads); !done) {
      return fail(done.error().code, "--set " + done.error().message);
    }
  }
  if (auto known = sim::parse_estimates(mix->estimates); !known) {
    return fail(ErrorCode::BadData, "mix '" + mix->name + "': " + known.error().message);
  }
  const auto cluster = cluster_of(arguments.cluster);
  if (!cluster) return std::unexpected(cluster.error());
  const trace::MixSize size{
      .jobs = jobs, .gpus = cluster->gpu_count().raw(), .memory = cluster->total_vram()};
  auto trace = trace::draw_mix(*mix, book->workloads, size, seed);
  if (!trace) return trace;
  tell_what_never_fits(*trace, *cluster);
  tell_what_was_drawn(*mix, *trace);
  return trace;
}

void add_mixes(CLI::App& verb, Action& chosen) {
  auto arguments = std::make_shared<ListArguments>();
  CLI::App* const mixes_verb =
      verb.add_subcommand("mixes", "List the mixes that `berth trace generate mix` draws.");
  add_files(*mixes_verb, arguments->files);
  mixes_verb->add_flag("--json", arguments->json, "Print JSON.");
  mixes_verb->callback([=, &chosen] { chosen = [=] { return list(*arguments); }; });
}

}  // namespace berth::cli
