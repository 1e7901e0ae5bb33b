#include <CLI/CLI.hpp>

#include "cli/ask/daemon.hpp"
#include "cli/job/submission.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"

namespace berth::cli {

namespace {

int reload_config(const CommonOptions& common) {
  auto daemon = Daemon::open(common);
  if (!daemon) return report_failure(daemon.error().message);
  const auto answer = daemon->post("/v1/reload");
  if (!answer) return report_failure(answer.error().message);
  report_warnings(*answer);
  if (common.json) return print(json_text(*answer));
  std::string text = "the configuration is read again\n";
  const Json& later = part_of(*answer, "at_next_start");
  for (const Json& key : later.is_array() ? later : Json::array()) {
    text += printable(key.is_string() ? key.get<std::string>() : "") +
            ": is taken over at the next start\n";
  }
  return print(text);
}

}  // namespace

void add_config(CLI::App& app, Action& chosen) {
  auto common = std::make_shared<CommonOptions>();
  CLI::App* const verb = app.add_subcommand("config", "Let berthd read its configuration again.");
  CLI::App* const reload =
      verb->add_subcommand("reload", "Limits and weights of users are in force at once.");
  verb->require_subcommand(1);
  add_common(*reload, *common);
  reload->callback([=, &chosen] { chosen = [=] { return reload_config(*common); }; });
}

}  // namespace berth::cli
