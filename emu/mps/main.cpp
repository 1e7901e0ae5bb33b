// nvidia-cuda-mps-control of the emulated driver: a control daemon, and the program that talks to
// it. As NVIDIA's: -d starts the daemon for the folder CUDA_MPS_PIPE_DIRECTORY, without a flag
// commands are read from standard input. Known are those that berthd and people need most; the
// rest is refused. What clients may have is their own environment's, and the driver's business.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

#include "emu/state/mps.hpp"
#include "emu/state/region.hpp"

namespace berth::emu {
namespace {

constexpr int kFailed = 1;

int fail(const std::string& message) {
  std::fprintf(stderr, "nvidia-cuda-mps-control (emulated): %s\n", message.c_str());
  return kFailed;
}

/// Before the pid, which makes clients.
bool write_visible() {
  const std::string name = mps_folder() + "/" + kMpsVisibleFile;
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return ::unlink(name.c_str()) == 0 || errno == ENOENT;
  std::ofstream file(name, std::ios::trunc);
  file << visible << '\n';
  file.close();
  return file.good();
}

/// Under its final name complete or not at all: a client may look at any time.
bool write_pid(pid_t pid) {
  const std::string name = mps_folder() + "/" + kMpsPidFile;
  std::ofstream file(name + ".new", std::ios::trunc);
  file << pid << '\n';
  file.close();
  return file.good() && ::rename((name + ".new").c_str(), name.c_str()) == 0;
}

/// The daemon itself: it is there until it is told to go.
[[noreturn]] void stay() {
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {0, 1, 2}) ::dup2(nothing, standard);
  ::signal(SIGTERM, SIG_DFL);
  for (;;) ::pause();
}

int start_daemon() {
  if (::mkdir(mps_folder().c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(mps_folder() + ": " + std::strerror(errno));
  }
  if (const auto other = control_of(mps_folder())) {
    return fail("An instance of this daemon is already running: " + std::to_string(*other));
  }
  const pid_t pid = ::fork();
  if (pid < 0) return fail(std::string("fork: ") + std::strerror(errno));
  if (pid == 0) stay();
  if (write_visible() && write_pid(pid)) return 0;
  ::kill(pid, SIGKILL);
  return fail(mps_folder() + ": cannot be written");
}

void list_clients(std::string_view command) {
  const char* path = std::getenv("BERTH_EMU_STATE");
  const auto region = Region::open(path == nullptr ? "" : path);
  if (!region) return;
  const auto clients = clients_of(region->layout(), server_of(mps_folder()));
  if (command == "get_server_list") {
    if (!clients.empty()) std::printf("%d\n", static_cast<int>(*control_of(mps_folder())));
    return;
  }
  for (const pid_t client : clients) std::printf("%d\n", static_cast<int>(client));
}

int quit(pid_t control) {
  ::kill(control, SIGTERM);
  constexpr int kTurns = 1000;
  for (int turn = 0; turn < kTurns && control_of(mps_folder()); ++turn) ::usleep(1000);
  ::unlink((mps_folder() + "/" + kMpsPidFile).c_str());
  return 0;
}

int talk() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    if (!(words >> command)) continue;
    const auto control = control_of(mps_folder());
    if (!control) {
      return fail("Cannot find MPS control daemon process");
    }
    if (command == "quit") return quit(*control);
    if (command != "get_server_list" && command != "get_client_list") {
      return fail("unknown command " + command);
    }
    list_clients(command);
  }
  return 0;
}

}  // namespace
}  // namespace berth::emu

int main(int count, char** words) {
  using namespace berth::emu;
  if (count == 1) return talk();
  if (count == 2 && std::string_view(words[1]) == "-d") return start_daemon();
  return fail("usage: nvidia-cuda-mps-control [-d]");
}
