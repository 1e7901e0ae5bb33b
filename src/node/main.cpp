#include "node/berthd.hpp"

int main(int argc, char** argv) { return berth::node::run_berthd(argc, argv); }
