#include "cli/print/verbs.hpp"

int main(int argc, char** argv) { return berth::cli::run(argc, argv); }
