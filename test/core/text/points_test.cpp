// Goal: what a task of a sweep is given is read back from its name as it was, and words are filled
// in where their user meant it only. Method: points and words written by hand.
#include "core/text/points.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/text/handle.hpp"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Point kPoint = {{.name = "lr", .value = "0.1"}, {.name = "opt", .value = "a b"}};

ArrayPlace task(std::int64_t number) {
  return {.first = JobId(1), .task = number, .tasks = 9, .at_once = 0};
}

TEST(Points, AreReadAsTheyWereWritten) {
  EXPECT_EQ(point_text(kPoint), "lr=0.1 opt='a b'");
  for (const char* const value : {"", "x", "it's", "''", "a\\b", "[3]", "a=b", " ", "{lr}", "ü"}) {
    const Point point = {{.name = "a", .value = value}, {.name = "_b2", .value = value}};
    EXPECT_EQ(parse_point(point_text(point)), point) << value;
  }
  for (const char* const text : {"lr", "=1", "lr=0.1  b=2", "lr=a b", "1r=2", "lr='a", "lr=0.1 "}) {
    EXPECT_EQ(parse_point(text), std::nullopt) << text;
  }
}

TEST(Points, StandBehindTheNamesOfTasks) {
  const std::string name = task_name("train", 3, point_text(kPoint));
  EXPECT_EQ(name, "train[3] lr=0.1 opt='a b'");
  EXPECT_EQ(point_of(name, task(3)), kPoint);
  EXPECT_EQ(array_name(name, task(3)), "train");
  EXPECT_EQ(array_name("train[3]", task(3)), "train");
  EXPECT_EQ(array_name("a[3] b[3]", task(3)), "a[3] b");
  EXPECT_THAT(point_of("train[3]", task(3)), IsEmpty());
  EXPECT_THAT(point_of(name, task(4)), IsEmpty());
  EXPECT_THAT(point_of(name, ArrayPlace()), IsEmpty()) << "its user named a job so";
  const Point odd = {{.name = "x", .value = "y[3]"}};
  EXPECT_EQ(point_of(task_name("a", 3, point_text(odd)), task(3)), odd);
}

TEST(Placeholders, AreNamesInBracesOfTheirOwn) {
  EXPECT_EQ(filled("--lr={lr}/{opt}.pt", kPoint), "--lr=0.1/a b.pt");
  EXPECT_EQ(filled(R"({"lr": {lr}, "in": {"lr":{lr}}})", kPoint),
            R"({"lr": 0.1, "in": {"lr":0.1}})");
  for (const char* const word : {"{}", "{1}", "{ lr }", "${lr}", "{lr", "lr}", "{", "", "{other}",
                                 "{{.Names}}", "${HOME}/x"}) {
    EXPECT_EQ(filled(word, kPoint), word);
  }
  EXPECT_EQ(filled("{{lr}} {{other}} {{lr} {lr}}", kPoint), "{lr} {other} {0.1 0.1}");
  EXPECT_THAT(placeholders("{a}{{b}}${c}{d}{a}{1}"), ElementsAre("a", "d", "a"));
}

TEST(Placeholders, OfNoParameterAreNamedWithTheNearest) {
  EXPECT_EQ(fault_of_placeholders({"a", "{lr}{opt}"}, {"lr", "opt"}), "");
  EXPECT_EQ(fault_of_placeholders({"--seed", "{sed}"}, {"lr", "seed"}),
            "{sed} in the command is no parameter; did you mean seed?; write {{sed}} for the text "
            "as it is");
}

}  // namespace
}  // namespace berth
