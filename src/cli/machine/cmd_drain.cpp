#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/ask/daemon.hpp"
#include "cli/job/begin_time.hpp"
#include "cli/job/submission.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "cli/tell/gpu_text.hpp"

namespace berth::cli {

namespace {

struct DrainArguments {
  CommonOptions common;
  std::vector<std::string> gpus;
  std::string reason;
  std::string until;
};

int ask_for(const DrainArguments& arguments, const char* target) {
  Json body = Json::object();
  const auto gpus = gpus_named(arguments.gpus);
  if (!gpus) return report_usage(gpus.error().message);
  body["gpus"] = *gpus;
  if (!arguments.reason.empty()) body["reason"] = arguments.reason;
  if (!arguments.until.empty()) {
    const auto at = parse_begin(arguments.until, this_instant());
    if (!at) return report_usage("--until " + arguments.until + ": " + at.error().message);
    body["until_at"] = static_cast<double>(micros(*at)) / 1e6;
  }
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  const auto answer = daemon->post(target, body.dump());
  if (!answer) return report_failure(answer.error().message);
  if (arguments.common.json) return print(json_text(*answer));
  return print(gpu_page(*answer, look_of(STDOUT_FILENO)));
}

CLI::App* add_verb(CLI::App& app, DrainArguments& arguments, const char* name, const char* help) {
  CLI::App* const verb = app.add_subcommand(name, help);
  add_common(*verb, arguments.common);
  verb->add_option("GPU", arguments.gpus, "Indices as berth gpus has them, or all.");
  return verb;
}

}  // namespace

void add_drain(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<DrainArguments>();
  CLI::App* const verb =
      add_verb(app, *arguments, "drain", "Let GPUs take no more jobs; those there go on.");
  verb->add_option("--reason", arguments->reason, "Shown to users whose jobs wait.")
      ->type_name("TEXT");
  verb->add_option("--until", arguments->until, "Until +2h, 22:00, 2026-11-24T22:00.")
      ->type_name("TIME");
  verb->callback([=, &chosen] { chosen = [=] { return ask_for(*arguments, "/v1/drain"); }; });
}

void add_undrain(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<DrainArguments>();
  CLI::App* const verb = add_verb(app, *arguments, "undrain", "Let drained GPUs take jobs again.");
  verb->callback([=, &chosen] { chosen = [=] { return ask_for(*arguments, "/v1/undrain"); }; });
}

}  // namespace berth::cli
