#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/catalogue.hpp"
#include "cli/verbs.hpp"

namespace berth::cli {

namespace {

constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;

void print_json() {
  auto list = nlohmann::ordered_json::array();
  for (const PolicyAbout& about : policy_catalogue()) {
    list.push_back({{"kind", about.kind},
                    {"name", about.name},
                    {"about", about.about},
                    {"title", about.title},
                    {"rule", about.rule},
                    {"reads", about.reads},
                    {"differs", about.differs},
                    {"cost", about.cost},
                    {"proof", about.proof}});
  }
  std::puts(list.dump(2, ' ', false, kReplace).c_str());
}

void print_part(const char* name, std::string_view text) {
  if (text.empty()) return;
  std::printf("  %s: %.*s\n", name, static_cast<int>(text.size()), text.data());
}

void print_one(const PolicyAbout& about) {
  std::printf("%.*s\n", static_cast<int>(about.title.size()), about.title.data());
  if (about.about != about.title) print_part(std::string(about.name).c_str(), about.about);
  print_part("rule", about.rule);
  print_part("reads", about.reads);
  print_part("differs from the paper", about.differs);
  print_part("cost", about.cost);
  print_part("proved by", about.proof);
}

int print_named(const std::string& name) {
  for (const PolicyAbout& about : policy_catalogue()) {
    if (about.name != name) continue;
    print_one(about);
    return 0;
  }
  return report_usage("policy '" + name + "' is not known; `berth policies` lists them");
}

void print_list() {
  std::string_view kind;
  for (const PolicyAbout& about : policy_catalogue()) {
    const bool is_place = about.kind == "place";
    if (kind.empty()) std::puts("Policies (--policy):");
    if (is_place && kind != "place") std::puts("\nPlacements (--place):");
    kind = about.kind;
    std::printf("  %-26.*s %.*s\n", static_cast<int>(about.name.size()), about.name.data(),
                static_cast<int>(about.about.size()), about.about.data());
  }
}

}  // namespace

void add_policies(CLI::App& app, Action& chosen) {
  struct Arguments {
    std::string name;
    bool json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* const verb =
      app.add_subcommand("policies", "The policies and placements there are: rule, source, proof.");
  CLI::Option* const name = verb->add_option("name", arguments->name, "Only this one, in full.");
  verb->add_flag("--json", arguments->json, "All of them, as a JSON array.")->excludes(name);
  verb->callback([arguments, &chosen] {
    chosen = [arguments] {
      if (arguments->json) {
        print_json();
      } else if (!arguments->name.empty()) {
        return print_named(arguments->name);
      } else {
        print_list();
      }
      return 0;
    };
  });
}

}  // namespace berth::cli
