// Goal: `usage` and `history` sum up and list right, as tables and as CSV.
// Method: the real program against a daemon of canned answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/fake_daemon.hpp"
#include "cli/print/table_forms.hpp"
#include "cli/program.hpp"

namespace berth::cli {
namespace {

using test::Ran;
using testing::HasSubstr;
using testing::StartsWith;

class UsageVerb : public testing::Test {
 protected:
  Ran berth(std::vector<std::string> arguments) const {
    return test::berth(std::move(arguments),
                       {.environment = {"BERTH_SOCKET=" + daemon_.socket(), "TZ=UTC"}});
  }
  test::FakeDaemon daemon_;
};

constexpr const char* kGroups = R"({"since":0,"until":1,"groups":[
    {"user":1,"user_name":"ann","month":"2026-10","jobs":{"done":3,"failed":1,"cancelled":1},
     "gpu_seconds":7200,"memory_byte_seconds":38654705664000,"energy_joules":7200000.5,
     "peak_bytes":2147483648},
    {"user":1,"user_name":"ann","month":"2026-11","jobs":{"done":1,"oom":2,"timeout":1},
     "gpu_seconds":3600,"memory_byte_seconds":0,"energy_joules":1800,"peak_bytes":3221225472},
    {"user":2,"user_name":"bob","month":"2026-11","jobs":{"running":1},
     "gpu_seconds":360000,"memory_byte_seconds":0,"energy_joules":null,"peak_bytes":null}]})";

TEST_F(UsageVerb, SumsByUserOrMonth) {
  daemon_.answer("GET /v1/usage", kGroups);
  EXPECT_EQ(berth({"usage"}).out,
            "USER  GPU-HOURS  GIB-HOURS  DONE  FAILED  OOM  OTHER  RUNNING    ENERGY   PEAK\n"
            "ann        3.00      10.00     4       1    2      2        0  2.00 kWh  3 GiB\n"
            "bob         100       0.00     0       0    0      0        1         -      -\n"
            "all         103      10.00     4       1    2      2        1  2.00 kWh  3 GiB\n");
  EXPECT_EQ(berth({"usage", "--by", "month", "--csv"}).out,
            "month,gpu_hours,gib_hours,done,failed,oom,other,running,peak_bytes,energy_joules\n"
            "2026-10,2.00,10.00,3,1,0,1,0,2147483648,7200000.5\n"
            "2026-11,101,0.00,1,0,2,1,1,3221225472,1800.0\n");
}

TEST_F(UsageVerb, HasNoEnergyWhereNoneIsKnown) {
  daemon_.answer("GET /v1/usage", R"({"groups":[{"user":1,"user_name":"ann","month":"2026-10",
      "jobs":{"done":1},"gpu_seconds":7200,"memory_byte_seconds":0,"energy_joules":null,
      "peak_bytes":null}]})");
  EXPECT_THAT(berth({"usage"}).out, testing::Not(HasSubstr("ENERGY")));
  EXPECT_THAT(berth({"usage", "--csv"}).out, HasSubstr(",1,0,0,0,0,,\n"));
}

TEST_F(UsageVerb, AsksFromWhen) {
  daemon_.answer("GET /v1/usage", R"({"groups":[]})");
  EXPECT_THAT(berth({"usage", "--since", "2026-11-01"}).out, StartsWith("USER  GPU-HOURS"));
  EXPECT_EQ(daemon_.take("GET /v1/usage").parameter("since"), "1793491200");
  const Ran wrong = berth({"usage", "--since", "soon"});
  EXPECT_EQ(wrong.exit_code, test::kBadUsage);
  EXPECT_EQ(
      wrong.err,
      "berth: --since soon: is neither a day such as 2026-11-01 nor a time such as 30d, nor all\n");
}

TEST_F(UsageVerb, HistoryHasPeaksAndCsv) {
  daemon_.answer("GET /v1/jobs", R"-({"jobs":[
      {"id":9,"state":"done","exit_code":0,"user":1,"user_name":"ann","name":"a,\"b\"",
       "gpu_count":2,"vram_bytes":42949672960,"peak_bytes":11811160064,"submitted_at":100,
       "started_at":160,"ended_at":3760},
      {"id":8,"state":"failed","exit_code":3,"user":1,"user_name":"ann","command_line":"c",
       "gpu_count":1,"vram_bytes":null,"submitted_at":100,"started_at":100,"ended_at":101}]})-");
  EXPECT_EQ(berth({"history"}).out,
            "ID  NAME   USER  STATE   GPUS   ASKED    PEAK  WAITED    RAN  ENDED\n"
            " 8  c      ann   failed     1   whole       -      0s     1s  1970-01-01 00:01\n"
            " 9  a,\"b\"  ann   done       2  40 GiB  11 GiB   1m00s  1h00m  1970-01-01 01:02\n");
  EXPECT_THAT(
      berth({"history", "--csv", "-n", "1"}).out,
      HasSubstr(
          "9,\"a,\"\"b\"\"\",ann,done,0,2,42949672960,11811160064,100,160,3760,,3600.0,9,\n"));
}

TEST_F(UsageVerb, HistoryHasEnergyWhereItIsKnown) {
  daemon_.answer("GET /v1/jobs", R"-({"jobs":[
      {"id":9,"state":"done","exit_code":0,"user":1,"user_name":"ann","name":"a","gpu_count":1,
       "vram_bytes":null,"energy_joules":5400.25,"submitted_at":100,"started_at":160,
       "ended_at":3760}]})-");
  EXPECT_THAT(berth({"history"}).out, HasSubstr("  1.50 Wh  "));
  EXPECT_THAT(berth({"history", "--csv"}).out, HasSubstr(",3760,5400.25,3600.0,9,\n"));
}

TEST(Csv, QuotesWhatNeedsIt) {
  EXPECT_EQ(csv_line({"a", "b c", "d,e", "f\"g", ""}), "a,b c,\"d,e\",\"f\"\"g\",\n");
}

}  // namespace
}  // namespace berth::cli
