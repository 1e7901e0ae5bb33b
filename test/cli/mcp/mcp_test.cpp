// Goal: an assistant sets a job's fields by the arguments that the table gives them, and no others.
// Method: the real `berth mcp`, asked for its tools, beside the table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "cli/print/json.hpp"
#include "cli/program.hpp"
#include "core/text/job_fields.hpp"

namespace berth::cli {
namespace {

using testing::Contains;

Json answer_to(const std::string& line) {
  test::Program program({"mcp"}, {});
  program.type(line + "\n");
  program.end_input();
  const auto answer = parse_json(program.wait().out);
  EXPECT_TRUE(answer) << line;
  return answer ? *answer : Json();
}

Json arguments_of(const std::string& tool) {
  const Json answer = answer_to(R"({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})");
  for (const Json& one : answer["result"]["tools"]) {
    if (one["name"] == tool) return one["inputSchema"]["properties"];
  }
  ADD_FAILURE() << tool << ": no such tool";
  return Json::object();
}

/// `gpu_index` of `--gpu-index`.
std::string argument_of(const JobField& field) {
  std::string name(field.option.name.substr(2));
  std::ranges::replace(name, '-', '_');
  return name;
}

void expect_fits(const JobField& field, const Json& schema, const std::string& where) {
  const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
  EXPECT_THAT(types, Contains("string")) << where;
  const bool is_number = field.kind == FieldKind::Count || field.kind == FieldKind::Size ||
                         field.kind == FieldKind::Time;
  if (is_number) {
    EXPECT_THAT(types, Contains("integer")) << where;
  }
  EXPECT_GE(schema.value("minimum", field.range.least), field.range.least) << where;
}

TEST(McpTools, UpdateHasTheFieldsThatMayBeChanged) {
  const Json arguments = arguments_of("update");
  std::set<std::string> known = {"jobs"};
  for (const JobField& field : kJobFields) {
    if (!may_be_changed(field)) continue;
    const bool is_there = arguments.contains(argument_of(field));
    if (field.set == FieldSet::UntilItEnds && !is_there) continue;  // whether it may be suspended
    const std::string where = "update of berth mcp: " + std::string(field.name);
    known.insert(argument_of(field));
    ASSERT_TRUE(arguments.contains(argument_of(field))) << where << " is missing";
    expect_fits(field, arguments[argument_of(field)], where);
  }
  for (const auto& [name, schema] : arguments.items()) EXPECT_THAT(known, Contains(name));
}

/// A model reads the whole list each time, so it is short.
TEST(McpTools, SubmitHasAllFieldsButThese) {
  const std::set<std::string> rare = {
      "vram_shrink", "min_gpus", "max_gpus",   "gpu_type", "gpu_milli", "gpu_processes",
      "cpus",        "mem",      "pids",       "estimate", "deadline",  "priority",
      "begin",       "unique",   "requeue_on", "notify",   "notify_on", "group",
      "model",       "batch",    "on_preempt", "suspend",  "comment"};
  const Json arguments = arguments_of("submit");
  std::set<std::string> known = {"command", "directory", "after",   "env",
                                 "hold",    "exclusive", "dry_run", "params"};
  for (const JobField& field : kJobFields) {
    if (field.option.type.empty()) continue;
    const std::string name = argument_of(field);
    const std::string where = "submit of berth mcp: " + std::string(field.name);
    known.insert(name);
    EXPECT_NE(arguments.contains(name), rare.contains(name)) << where;
    if (arguments.contains(name)) expect_fits(field, arguments[name], where);
  }
  for (const auto& [name, schema] : arguments.items()) EXPECT_THAT(known, Contains(name));
}

TEST(McpTools, AnArgumentThatNobodyHasIsRefusedWithTheNearest) {
  const Json answer =
      answer_to(R"({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": )"
                R"({"name": "submit", "arguments": {"command": ["true"], "vrm": "1G"}}})");
  const std::string text = answer["result"]["content"][0]["text"];
  EXPECT_THAT(text, testing::StartsWith("vrm: unknown argument of submit; valid arguments: after"));
  EXPECT_THAT(text, testing::EndsWith("; did you mean vram?"));
}

}  // namespace
}  // namespace berth::cli
