// Goal: of each attempt after which a job starts again it is said once why it ended, and with what
// the job starts again. Method: answers of the daemon, words by hand.
#include "cli/tell/attempt_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kWaitsWithMore = R"({"state":"queued","attempt":1,"vram_bytes":4294967296})";

std::vector<std::string> texts_of(const std::string& job, const std::string& news = kWaitsWithMore,
                                  std::int64_t told = 0) {
  std::vector<std::string> texts;
  for (const AttemptOver& over : attempts_over(*parse_json(job), told, *parse_json(news))) {
    texts.push_back(over.text);
  }
  return texts;
}

/// An ended job's row has what was asked for first.
std::string job_with(const std::string& attempts, const std::string& state = "queued") {
  return R"({"state":")" + state + R"(","vram_bytes":2147483648,"attempts":[)" + attempts + "]}";
}

constexpr auto kOom =
    R"({"attempt":1,"outcome":"oom","exit_code":1,"note":"ran out of GPU memory, asked 2 GiB"})";

TEST(AttemptText, SaysWithHowMuchMemoryTheJobStartsAgain) {
  const std::string line = "attempt 1 ended: out of GPU memory, asked 2 GiB; starts again with ";
  EXPECT_THAT(texts_of(job_with(kOom)), ElementsAre(line + "4 GiB"));
  const std::string second = R"(,{"attempt":2,"outcome":"done","exit_code":0,"note":""})";
  EXPECT_THAT(texts_of(job_with(std::string(kOom) + second, "done"),
                       R"({"state":"running","attempt":2,"vram_bytes":4294967296})"),
              ElementsAre(line + "4 GiB"))
      << "the end of the last one is the job's";
  EXPECT_THAT(texts_of(job_with(kOom), R"({"state":"queued","attempt":1,"vram_bytes":null})"),
              ElementsAre(line + "a whole GPU"));
}

TEST(AttemptText, SaysNotWithHowMuchWhereThatIsNotKnown) {
  const std::string second = R"(,{"attempt":2,"outcome":"failed","exit_code":75,"note":""})";
  const std::vector<std::string> texts = {
      "attempt 1 ended: out of GPU memory, asked 2 GiB; starts again",
      "attempt 2 ended: exit 75; starts again"};
  for (const char* const news : {R"({"state":"queued","attempt":2})", "{}"}) {
    EXPECT_EQ(texts_of(job_with(std::string(kOom) + second), news), texts);
  }
}

TEST(AttemptText, SaysWhatBerthDidAsItsNoteHasIt) {
  EXPECT_THAT(texts_of(job_with(R"({"attempt":1,"outcome":"preempted",
                            "note":"preempted by job 7, starts again"},
                           {"attempt":2,"outcome":"oom","note":"ended: it held 5 GiB on GPU 0"})"),
                       R"({"state":"queued","attempt":2,"vram_bytes":4294967296})"),
              ElementsAre("attempt 1 ended: preempted by job 7, starts again",
                          "attempt 2 ended: it held 5 GiB on GPU 0; starts again with 4 GiB"));
}

TEST(AttemptText, SaysNothingOfOneThatWasToldOfOrGoesOn) {
  EXPECT_THAT(texts_of(job_with(kOom), kWaitsWithMore, 1), IsEmpty());
  EXPECT_THAT(texts_of(job_with(R"({"attempt":1,"outcome":null,"note":"was suspended"},
                                   {"attempt":2,"outcome":null,"note":""})",
                                "running")),
              IsEmpty());
  EXPECT_THAT(texts_of(R"({"state":"queued","attempts":7})"), IsEmpty());
  EXPECT_THAT(texts_of(R"({"state":"queued"})"), IsEmpty());
}

}  // namespace
}  // namespace berth::cli
