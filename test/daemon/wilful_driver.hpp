// A berthd on a driver that does as the test says (wilful_nvml.c).
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "daemon/rig.hpp"

namespace berth::test {

/// `warn: ...`, as the doctor has it.
inline std::string check_of(Rig& rig, const std::string& name) {
  const Json doctor = rig.request("GET", "/v1/doctor").body;
  for (const Json& check : doctor["checks"]) {
    if (check["name"] == name)
      return check["status"].get<std::string>() + ": " + check["detail"].get<std::string>();
  }
  return "";
}

inline Json gpu_of(Rig& rig, std::size_t index) {
  return rig.request("GET", "/v1/gpus").body["gpus"][index];
}

/// Waits until no GPU takes jobs any more.
inline void await_unhealthy(Rig& rig) {
  eventually("all are unhealthy", [&] {
    return gpu_of(rig, 0)["healthy"] == false && gpu_of(rig, 1)["healthy"] == false;
  });
}

class WilfulDriver : public testing::Test {
 protected:
  WilfulDriver() {
    be('o');
    ::setenv("WILFUL_NVML", will().c_str(), 1);
  }
  ~WilfulDriver() override {
    be('o');  // what hangs in it ends
    ::unsetenv("WILFUL_NVML");
  }
  static std::string config() {
    return std::string("probe = \"100ms\"\ngrace = \"500ms\"\nnvml = \"") + WILFUL_NVML_LIBRARY +
           "\"\n";
  }
  std::string will() const { return folder_ / "will"; }
  void be(char letter) const {
    const std::string beside = folder_ / "next";
    std::ofstream(beside) << letter;
    std::filesystem::rename(beside, will());
  }

  const ScratchFolder folder_;
  Rig rig_{{.gpus = "", .config = config()}};
};

}  // namespace berth::test
