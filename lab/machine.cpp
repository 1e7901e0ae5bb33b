#include "lab/machine.hpp"

#include <chrono>
#include <ctime>
#include <fstream>
#include <thread>

namespace berth::lab {

std::string machine() {
  std::ifstream cpus("/proc/cpuinfo");
  std::string line;
  std::string model = "unknown processor";
  while (std::getline(cpus, line)) {
    if (line.starts_with("model name")) model = line.substr(line.find(':') + 2);
  }
  return std::to_string(std::thread::hardware_concurrency()) + " cores, " + model;
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

}  // namespace berth::lab
