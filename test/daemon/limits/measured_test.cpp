// Goal: what each rung lets pass is said with the same measured figures in doc/memory-limits.md and
// in `doctor`. Method: the words of both; a real berthd on the rungs that need no rights.
#include "daemon/limits/measured.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/rig.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using daemon::measured;
using daemon::Rung;
using test::Rig;
using test::RigOptions;
using testing::HasSubstr;

/// What `doctor` says under this name.
std::string doctor(const RigOptions& options, const std::string& name) {
  Rig rig(options);
  rig.start();
  const test::Json doctor = rig.request("GET", "/v1/doctor").body;
  for (const test::Json& check : doctor["checks"]) {
    if (check["name"] == name) return check["detail"];
  }
  return "";
}

TEST(Rungs, AreInTheDocumentWithTheirMeasuredFigures) {
  const std::string page = test::read_file(test::source_dir() / "doc/memory-limits.md");
  for (const Rung rung : {Rung::Driver, Rung::Mig, Rung::Mps, Rung::Watch, Rung::None}) {
    const std::string row =
        "| `" + std::string(word_for(rung)) + "` | " + std::string(measured(rung)) + " |";
    EXPECT_THAT(page, HasSubstr(row));
  }
}

TEST(Rungs, AreInDoctorWithTheirMeasuredFigures) {
  const auto expect = [](const RigOptions& options, const std::string& name, Rung rung) {
    const std::string text = "(measured on emulated GPUs: " + std::string(measured(rung)) + ")";
    EXPECT_THAT(doctor(options, name), HasSubstr(text));
  };
  expect({.gpus = "1x24GiB"}, "memory enforcement", Rung::Watch);
  expect({.gpus = "1x24GiB"}, "mps", Rung::Mps);
  expect({.gpus = "1x24GiB", .config = "admission = \"declared\"\n"}, "memory enforcement",
         Rung::None);
  expect({.gpus = "1x80GiB,mig=h100:3g.40gb+2g.20gb"}, "memory enforcement", Rung::Mig);
}

}  // namespace
}  // namespace berth
