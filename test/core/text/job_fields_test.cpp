// Goal: each row of the table of fields says what its member keeps. Method: the rows, one by one,
// on a job that says nothing and on one that says them.
#include "core/text/job_fields.hpp"

#include <gtest/gtest.h>

#include <set>

namespace berth {
namespace {

TEST(JobFields, HaveNamesAndOptionsOfTheirOwn) {
  std::set<std::string_view> names;
  std::set<std::string_view> options;
  for (const JobField& field : kJobFields) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    if (field.option.type.empty()) continue;
    EXPECT_TRUE(options.insert(field.option.name).second) << field.name;
    EXPECT_TRUE(field.option.name.starts_with("--")) << field.name;
    EXPECT_TRUE(field.meaning.ends_with('.') || field.meaning.ends_with(']')) << field.name;
  }
  EXPECT_GT(names.size(), 40U);
  EXPECT_EQ(find_job_field("gpus")->name, "gpus");
  EXPECT_EQ(find_job_field("gpu"), nullptr);
}

TEST(JobFields, KeepNumbersAtBothEnds) {
  const JobSpec nothing;
  for (const JobField& field : kJobFields) {
    const FieldMember& member = field.member;
    if (member.number == nullptr) continue;
    EXPECT_EQ(member.number(nothing), member.unsaid) << field.name;
    for (const std::int64_t end : {field.range.least, field.range.most}) {
      JobSpec spec;
      member.set_number(spec, end);
      EXPECT_EQ(member.number(spec), end) << field.name;
      EXPECT_TRUE(end == member.unsaid || spec != nothing) << field.name;
    }
  }
}

TEST(JobFields, KeepTexts) {
  for (const JobField& field : kJobFields) {
    const FieldMember& member = field.member;
    if (member.text == nullptr) continue;
    JobSpec spec;
    EXPECT_EQ(member.text(spec), "") << field.name;
    member.set_text(spec, "x");
    EXPECT_EQ(member.text(spec), "x") << field.name;
    EXPECT_GT(field.range.most, 0) << field.name;
  }
}

}  // namespace
}  // namespace berth
