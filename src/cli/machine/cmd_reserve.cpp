#include <unistd.h>

#include <CLI/CLI.hpp>
#include <limits>

#include "cli/ask/daemon.hpp"
#include "cli/job/begin_time.hpp"
#include "cli/job/submission.hpp"
#include "cli/print/amounts.hpp"
#include "cli/print/numbers.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "cli/tell/gpu_text.hpp"
#include "cli/tell/job_text.hpp"
#include "core/text/amounts.hpp"

namespace berth::cli {

namespace {

struct ReserveArguments {
  CommonOptions common;
  std::vector<std::string> gpus;
  std::vector<std::string> users;
  std::string from;
  std::string until;
  std::string duration;  ///< In place of `until`.
  std::string reason;
};

double seconds_of(Instant at) { return static_cast<double>(micros(at)) / 1e6; }

/// Of a list of strings.
std::string names_text(const Json& names) {
  std::string text;
  if (!names.is_array()) return text;
  for (const Json& name : names) {
    if (!name.is_string()) continue;
    text += (text.empty() ? "" : ", ") + printable(name.get<std::string>());
  }
  return text;
}

std::string reservation_page(const Json& answer, const Look& look) {
  const Json& all = part_of(answer, "reservations");
  if (!all.is_array() || all.empty()) return "no GPU is reserved\n";
  Table table({{.title = "ID", .align = Align::Right},
               {.title = "ON"},
               {.title = "FOR", .least = 8},
               {.title = "FROM"},
               {.title = "UNTIL"},
               {.title = "BY", .least = 8, .drop = 1},
               {.title = "REASON"}});
  for (const Json& one : all) {
    const bool is_in_force = is_set(one, "in_force");
    table.add({{std::to_string(integer_of(one, "id").value_or(0))},
               {gpu_list(part_of(one, "gpus"))},
               {names_text(part_of(one, "users")), is_in_force ? Colour::Green : Colour::None},
               {instant_text(number_of(one, "from_at"))},
               {instant_text(number_of(one, "until_at"))},
               {printable(text_of(one, "by"))},
               {printable(text_of(one, "reason"))}});
  }
  return table.text(look);
}

/// `job 12 of bob is on GPU 0 and is not ended: it has no time limit`, a line for each job that may
/// be there when it begins.
std::string in_the_way_text(const Json& answer) {
  std::string text;
  const Json& jobs = part_of(answer, "in_the_way");
  if (!jobs.is_array()) return text;
  for (const Json& job : jobs) {
    const auto ends = number_of(job, "ends_by_at");
    text += "job " + std::to_string(integer_of(job, "job").value_or(0)) + " of " +
            printable(text_of(job, "user")) + " is on " + gpu_list(part_of(job, "gpus")) +
            " and goes on: " +
            (ends ? "its time limit ends it by " + instant_text(ends) : "it has no time limit") +
            "\n";
  }
  return text;
}

/// What others than those it is for must know before it begins, which may be in weeks.
std::string until_it_begins_text(const Json& body, double now) {
  const auto from = number_of(body, "from_at");
  if (!from || *from <= now + 1) return "";
  return "until then jobs of others start there if their time limit ends them before; those "
         "without "
         "--time wait (longest_time in berth.toml gives each job a limit)\n";
}

/// From, if it is given, and until, with `--for` instead.
Expected<void> put_times(Json& body, const ReserveArguments& arguments, Instant now) {
  Instant from = now;
  if (!arguments.from.empty() && arguments.from != "now") {
    const auto at = parse_begin(arguments.from, now);
    if (!at) {
      return fail(at.error().code, "--from " + arguments.from + ": " + at.error().message);
    }
    from = *at;
    body["from_at"] = seconds_of(from);
  }
  const bool is_until = arguments.duration.empty();
  const std::string& text = is_until ? arguments.until : arguments.duration;
  const std::string name = is_until ? "--until " : "--for ";
  if (text.empty()) return fail(ErrorCode::InvalidArgument, "give --until TIME or --for DURATION");
  if (const auto length = parse_duration(text); !is_until && !length) {
    return fail(length.error().code, name + text + ": " + length.error().message);
  }
  const auto until = is_until ? parse_begin(text, from) : parse_begin("+" + text, from);
  if (!until) {
    const bool is_over = until.error().message == "is over";
    return fail(until.error().code,
                name + text + ": " + (is_over ? "is not after it begins" : until.error().message));
  }
  body["until_at"] = seconds_of(*until);
  return {};
}

/// Names with commas between them, or words of these.
Json split_at_commas(const std::vector<std::string>& typed) {
  Json list = Json::array();
  for (const std::string& one : typed) {
    const std::string text = tight_list(one);
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      if (comma > at) list.push_back(text.substr(at, comma - at));
      at = comma + 1;
    }
  }
  return list;
}

int list_reservations(const ReserveArguments& arguments) {
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  const auto answer = daemon->get("/v1/reservations");
  if (!answer) return report_failure(answer.error().message);
  if (arguments.common.json) return print(json_text(*answer));
  return print(reservation_page(*answer, look_of(STDOUT_FILENO)));
}

int reserve(const ReserveArguments& arguments) {
  const bool is_list = arguments.gpus.empty() && arguments.users.empty() &&
                       arguments.until.empty() && arguments.duration.empty() &&
                       arguments.from.empty();
  if (is_list) return list_reservations(arguments);
  if (arguments.users.empty())
    return report_usage("no user is named; give --user NAME or --user @GROUP");
  Json body = {{"users", split_at_commas(arguments.users)}};
  const auto gpus = gpus_named(arguments.gpus);
  if (!gpus) return report_usage(gpus.error().message);
  body["gpus"] = *gpus;
  if (const auto done = put_times(body, arguments, this_instant()); !done) {
    return report_usage(done.error().message);
  }
  if (!arguments.reason.empty()) body["reason"] = arguments.reason;
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  const auto answer = daemon->post("/v1/reserve", body.dump());
  if (!answer) return report_failure(answer.error().message);
  if (arguments.common.json) return print(json_text(*answer));
  return print(reservation_page(*answer, look_of(STDOUT_FILENO)) + in_the_way_text(*answer) +
               until_it_begins_text(body, wall_now()));
}

struct UnreserveArguments {
  CommonOptions common;
  std::vector<std::uint32_t> reservations;
};

int unreserve(const UnreserveArguments& arguments) {
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  const Json body = {{"reservations", arguments.reservations}};
  const auto answer = daemon->post("/v1/unreserve", body.dump());
  if (!answer) return report_failure(answer.error().message);
  if (arguments.common.json) return print(json_text(*answer));
  return print(reservation_page(*answer, look_of(STDOUT_FILENO)));
}

}  // namespace

void add_reserve(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<ReserveArguments>();
  CLI::App* const verb = app.add_subcommand(
      "reserve", "Reserve GPUs for users and a time; without options, list what is reserved.");
  add_common(*verb, arguments->common);
  verb->add_option("--gpu,--gpus", arguments->gpus, "Indices as berth gpus has them, or all.")
      ->type_name("GPU");
  verb->add_option("--user", arguments->users,
                   "Who may use them: names, and groups as @lab, separated by commas.")
      ->type_name("USER");
  verb->add_option("--from", arguments->from, "From +2h, 22:00, 2026-11-24T22:00; else from now.")
      ->type_name("TIME");
  auto* const until =
      verb->add_option("--until", arguments->until, "Until 06:00 (the next after it begins), +8h.")
          ->type_name("TIME");
  verb->add_option("--for", arguments->duration, "For 8h, from when it begins.")
      ->type_name("DURATION")
      ->excludes(until);
  verb->add_option("--reason", arguments->reason, "Shown in the list.")->type_name("TEXT");
  verb->callback([=, &chosen] { chosen = [=] { return reserve(*arguments); }; });
}

void add_unreserve(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<UnreserveArguments>();
  CLI::App* const verb = app.add_subcommand("unreserve", "End reservations of GPUs.");
  add_common(*verb, arguments->common);
  verb->add_option("ID", arguments->reservations, "Numbers as berth reserve lists them.")
      ->check(whole_number(1, std::numeric_limits<std::int64_t>::max()))
      ->required();
  verb->callback([=, &chosen] { chosen = [=] { return unreserve(*arguments); }; });
}

}  // namespace berth::cli
