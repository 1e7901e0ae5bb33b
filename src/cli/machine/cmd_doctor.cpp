#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/ask/daemon.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "cli/slurm/ask_slurm.hpp"
#include "cli/slurm/slurm_pages.hpp"

namespace berth::cli {

namespace {

Json check(const char* name, const char* status, const std::string& detail) {
  return {{"name", name}, {"status", status}, {"detail", detail}};
}

/// Of a cluster on which Slurm schedules.
Json checks_in_slurm() {
  const auto facts = ask_slurm();
  const auto config = facts ? ask_slurm_config() : std::unexpected(facts.error());
  if (!config) return Json::array({check("slurm", "fail", config.error().message)});
  return slurm_checks(*facts, *config);
}

/// The command line's own checks, then the daemon's.
Json checks_of(const CommonOptions& common) {
  if (is_for_slurm(common)) return checks_in_slurm();
  const SocketChoice socket = choose_socket(common);
  Json checks = Json::array();
  auto daemon = Daemon::open(socket.path);
  if (!daemon) {
    checks.push_back(check("socket", "fail", daemon.error().message));
    return checks;
  }
  checks.push_back(check("socket", "ok", socket.path + " (" + socket.found + ")"));
  const auto version = daemon->get("/v1/version");
  const std::string theirs = version ? text_of(*version, "version") : "";
  const bool same = theirs == BERTH_VERSION;
  checks.push_back(check("version", same ? "ok" : "warn",
                         same ? theirs : "berth " BERTH_VERSION ", berthd " + theirs));
  const auto answer = daemon->get("/v1/doctor");
  if (!answer) {
    checks.push_back(check("daemon", "fail", answer.error().message));
    return checks;
  }
  for (const Json& one : part_of(*answer, "checks")) checks.push_back(one);
  return checks;
}

Colour colour_of(const std::string& status) {
  if (status == "ok") return Colour::Green;
  return status == "warn" ? Colour::Yellow : Colour::Red;
}

enum class Detail : std::uint8_t { Short, Whole };

std::string text_of_checks(const Json& checks, Detail detail) {
  Table table({{"STATUS"}, {"CHECK"}, {"DETAIL"}});
  bool is_short = false;
  for (const Json& one : checks) {
    const std::string status = printable(text_of(one, "status"));
    std::string text = printable(text_of(one, "detail"));
    const std::string more = printable(text_of(one, "more"));
    if (!more.empty() && detail == Detail::Whole) text += "; " + more;
    is_short = is_short || (!more.empty() && detail == Detail::Short);
    table.add({{status, colour_of(status)}, {printable(text_of(one, "name"))}, {text}});
  }
  if (is_short) table.add_line({"berth doctor -v says more", Colour::Dim});
  return table.text(look_of(STDOUT_FILENO));
}

int doctor(const CommonOptions& common, Detail detail) {
  const Json checks = checks_of(common);
  const int printed =
      print(common.json ? json_text({{"checks", checks}}) : text_of_checks(checks, detail));
  const bool failed =
      std::ranges::any_of(checks, [](const Json& one) { return text_of(one, "status") == "fail"; });
  return failed ? kFailed : printed;
}

}  // namespace

void add_doctor(CLI::App& app, Action& chosen) {
  struct Arguments {
    CommonOptions common;
    bool verbose = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* const verb =
      app.add_subcommand("doctor", "Say what is and is not enforced on this machine.");
  add_common(*verb, arguments->common);
  verb->add_flag("-v,--verbose", arguments->verbose, "Say what is not caught, too, and why.");
  verb->callback([=, &chosen] {
    chosen = [=] {
      return doctor(arguments->common, arguments->verbose ? Detail::Whole : Detail::Short);
    };
  });
}

}  // namespace berth::cli
