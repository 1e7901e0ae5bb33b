// Goal: every door knows the fields of a job that the table has, with the same bounds, and no
// others. Method: each row against the pages and programs that are written by hand; keys that
// nobody has.
#include "core/text/job_fields.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "daemon/requests/requests.hpp"
#include "support/paths.hpp"

namespace berth::daemon {
namespace {

using testing::HasSubstr;

std::string openapi_page() { return test::read_file(test::source_dir() / "doc/openapi.yaml"); }

/// The lines from this one on that are indented deeper, with it.
std::string block_of(const std::string& text, const std::string& first) {
  const std::size_t indent = first.find_first_not_of(' ');
  std::istringstream lines(text);
  std::string block;
  for (std::string line; std::getline(lines, line);) {
    if (block.empty() ? !line.starts_with(first) : line.find_first_not_of(' ') <= indent) {
      if (!block.empty()) break;
      continue;
    }
    block += line + "\n";
  }
  return block;
}

/// The properties of a part of the page, which stand this deep: what is said of each, without what
/// is said of its parts.
std::map<std::string, std::string> properties_of(const std::string& part, std::size_t depth) {
  std::map<std::string, std::string> properties;
  std::istringstream lines(part);
  bool is_there = false;
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find_first_not_of(' ');
    if (at + 2 == depth) is_there = line.ends_with("properties:");
    if (!is_there || (at != depth && at != depth + 2)) continue;
    if (at == depth) name = line.substr(depth, line.find(':') - depth);
    properties[name] += line + "\n";
  }
  return properties;
}

/// What stands behind this word of a property; "" if it is not there.
std::string said_of(const std::string& property, const std::string& word) {
  std::smatch found;
  const std::regex form("[{ ]" + word + ": (\\[[^\\]]*\\]|[^,}\\n]+)");
  return std::regex_search(property, found, form) ? found[1].str() : "";
}

std::string type_of(FieldKind kind) {
  switch (kind) {
    case FieldKind::Flag:
      return "boolean";
    case FieldKind::Text:
      return "string";
    case FieldKind::Word:
      return "";  // it has `enum`
    case FieldKind::Count:
      return "integer";
    case FieldKind::Size:
      return "[integer, string]";
    case FieldKind::Cores:
    case FieldKind::Moment:
      return "number";
    case FieldKind::Time:
      return "[number, string]";
    case FieldKind::List:
      return "array";
    case FieldKind::Object:
      return "object";
  }
  return "";
}

/// How the page says the larger end of a kind; "" where no one word does.
std::string most_word(FieldKind kind) {
  if (kind == FieldKind::Text) return "maxLength";
  if (kind == FieldKind::List) return "maxItems";
  return kind == FieldKind::Flag || kind == FieldKind::Word ? "" : "maximum";
}

void expect_as_table(const JobField& field, const std::string& property, const std::string& where) {
  EXPECT_EQ(said_of(property, "type"), type_of(field.kind)) << where;
  const std::int64_t most = field.range.most / counted_of_one(field.kind);
  if (most > 0) {
    EXPECT_EQ(said_of(property, most_word(field.kind)), std::to_string(most)) << where;
  }
  if (field.kind == FieldKind::Count || field.kind == FieldKind::Size) {
    EXPECT_EQ(said_of(property, "minimum"), std::to_string(field.range.least)) << where;
  }
}

TEST(JobFieldsOfThePage, AreThoseOfASubmission) {
  const auto properties = properties_of(block_of(openapi_page(), "    Submit:"), 8);
  for (const JobField& field : kJobFields) {
    const std::string where = "doc/openapi.yaml, Submit: " + std::string(field.name);
    const auto found = properties.find(std::string(field.name));
    ASSERT_NE(found, properties.end()) << where << " is missing";
    expect_as_table(field, found->second, where);
    EXPECT_EQ(said_of(found->second, "default"), field.fallback) << where;
  }
  for (const auto& [name, text] : properties) {
    EXPECT_NE(find_job_field(name), nullptr) << "doc/openapi.yaml, Submit: " << name;
  }
}

TEST(JobFieldsOfThePage, AreThoseOfAnUpdate) {
  const auto properties =
      properties_of(block_of(block_of(openapi_page(), "  /v1/jobs/{id}/update:"), "    post:"), 16);
  for (const JobField& field : kJobFields) {
    const std::string where = "doc/openapi.yaml, update: " + std::string(field.name);
    const auto found = properties.find(std::string(field.name));
    const bool is_there = found != properties.end();
    EXPECT_EQ(is_there, may_be_changed(field)) << where;
    if (is_there) expect_as_table(field, found->second, where);
  }
  EXPECT_GT(properties.size(), 6U);
}

TEST(JobFieldsOfThePage, AreThoseOfAnswers) {
  const auto row = properties_of(block_of(openapi_page(), "    Job:"), 8);
  const auto detail = properties_of(block_of(openapi_page(), "    JobDetail:"), 12);
  for (const JobField& field : kJobFields) {
    const std::string name(field.name == "gpus" ? "gpu_count" : field.name);
    const bool is_of_row = field.shown == FieldShown::Always || field.shown == FieldShown::IfSaid;
    EXPECT_EQ(row.contains(name), is_of_row) << "doc/openapi.yaml, Job: " << name;
    EXPECT_EQ(detail.contains(name), field.shown == FieldShown::InDetail)
        << "doc/openapi.yaml, JobDetail: " << name;
  }
}

/// Each key that a client written in Python sends.
TEST(JobFieldsOfClients, AreThoseOfTheTable) {
  const std::regex form(R"re((?:body|made)\["(\w+)"\] =)re");
  const std::string slurm = "clients/slurm/slurm_commands/";
  for (const std::string& path : {std::string("clients/python/berth.py"), slurm + "request.py",
                                  slurm + "sbatch.py", slurm + "scontrol.py"}) {
    const std::string text = test::read_file(test::source_dir() / path);
    std::size_t keys = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), form), end; at != end; ++at, ++keys) {
      EXPECT_NE(find_job_field((*at)[1].str()), nullptr) << path << ": " << (*at)[1];
    }
    EXPECT_GT(keys, 1U) << path;
  }
}

std::string told_of_change(const std::string& body) {
  const auto change = parse_change(body);
  return change ? "taken" : change.error().message;
}

TEST(JobFieldsOfTheApi, AKeyThatNobodyHasIsRefusedWithTheNearest) {
  const auto told = [](const std::string& body) {
    const auto job = parse_submission(body, {.pid = 7, .user = 1000, .group = 100, .groups = {}});
    return job ? "taken" : job.error().message;
  };
  EXPECT_EQ(told(R"({"time_limit_second": 3})"),
            "time_limit_second: unknown key; doc/openapi.yaml names all; did you mean "
            "time_limit_seconds?");
  EXPECT_EQ(told(R"({"zzzzzzzz": 3})"), "zzzzzzzz: unknown key; doc/openapi.yaml names all");
  const std::string kValid =
      "cannot be changed; valid keys: vram_bytes, gpus, gpu_types, gpu_indices, "
      "share, cpus, mem_bytes, time_limit_seconds, suspend, priority, begin_at, array_at_once, "
      "name, comment";
  EXPECT_EQ(told_of_change(R"({"prioriti": 3})"),
            "prioriti: " + kValid + "; did you mean priority?");
  EXPECT_EQ(told_of_change(R"({"retries": 3})"), "retries: " + kValid);
}

TEST(JobFieldsOfTheApi, AnUpdateSaysWhatItChanges) {
  const auto change = parse_change(R"({"priority": 3, "time_limit_seconds": "2m", "name": "n"})");
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_EQ(change->fields.size(), 3U);
  EXPECT_TRUE(change->has("priority"));
  EXPECT_FALSE(change->has("gpus"));
  EXPECT_FALSE(change->moves());
  EXPECT_EQ(change->said.spec.priority, 3);
  EXPECT_EQ(change->said.spec.time_limit, minutes(2));
  EXPECT_EQ(change->said.name, "n");
  const auto now = parse_change(R"({"share": "now"})");
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_EQ(now->said.spec.request.gpu.sharing, Sharing::AtOnce);
  EXPECT_EQ(told_of_change(R"({"share": "now,mps"})"),
            "share: 'mps' cannot be changed; now, patient and never can");
}

}  // namespace
}  // namespace berth::daemon
