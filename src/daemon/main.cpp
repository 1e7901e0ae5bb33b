// berthd, for the GPUs of this machine.
#include "daemon/program.hpp"

int main(int argc, char** argv) {
  return berth::daemon::run_program(
      argc, argv,
      {.name = "berthd", .about = "Gives GPU jobs places where their memory is guaranteed."});
}
