#include <CLI/CLI.hpp>

#include "cli/ask/daemon.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"

namespace berth::cli {

namespace {

/// What the daemon says of itself, or null where none answers.
Json daemon_version(const std::string& path) {
  auto daemon = Daemon::open(path);
  if (!daemon) return nullptr;
  auto answer = daemon->get("/v1/version");
  return answer ? std::move(*answer) : Json();
}

std::string daemon_line(const Json& daemon, const std::string& path) {
  std::string line = "berthd " + printable(text_of(daemon, "version")) + " at " + path;
  if (const auto pid = integer_of(daemon, "pid")) line += ", process " + std::to_string(*pid);
  if (const auto policy = text_of(daemon, "policy"); !policy.empty()) {
    line += ", policy " + printable(policy);
  }
  if (is_set(daemon, "emulated")) line += ", emulated GPUs";
  return line + "\n";
}

int version(const CommonOptions& common) {
  const std::string path = choose_socket(common).path;
  const Json daemon = daemon_version(path);
  if (common.json) {
    return print(json_text({{"version", BERTH_VERSION}, {"socket", path}, {"daemon", daemon}}));
  }
  return print("berth " BERTH_VERSION "\n" + (daemon.is_null() ? "" : daemon_line(daemon, path)));
}

}  // namespace

void add_version(CLI::App& app, Action& chosen) {
  auto common = std::make_shared<CommonOptions>();
  CLI::App* const verb =
      app.add_subcommand("version", "Print the version of berth and of the daemon.");
  add_common(*verb, *common);
  verb->callback([=, &chosen] { chosen = [=] { return version(*common); }; });
}

}  // namespace berth::cli
