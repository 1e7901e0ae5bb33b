#include <CLI/CLI.hpp>

#include "cli/ask/each_job.hpp"
#include "cli/print/verbs.hpp"

namespace berth::cli {

namespace {

struct Wording {
  const char* name;
  const char* help;
};

void add(CLI::App& app, Action& chosen, const Wording& words) {
  auto arguments = std::make_shared<EachJob>();
  CLI::App* const verb = app.add_subcommand(words.name, words.help);
  add_each_job(*verb, *arguments);
  verb->callback([=, name = words.name, &chosen] {
    chosen = [=] { return change_and_print(*arguments, name); };
  });
}

}  // namespace

void add_hold(CLI::App& app, Action& chosen) {
  add(app, chosen, {"hold", "Keep queued jobs from starting."});
}

void add_release(CLI::App& app, Action& chosen) {
  add(app, chosen, {"release", "Let held jobs start again."});
}

}  // namespace berth::cli
