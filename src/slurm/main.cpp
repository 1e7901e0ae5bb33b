#include "slurm/berth_slurm.hpp"

int main(int argc, char** argv) { return berth::slurm::run_berth_slurm(argc, argv); }
