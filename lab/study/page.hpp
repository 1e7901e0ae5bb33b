// The study as one HTML file with its figures in it: no scripts, no network. A pure function.
#pragma once

#include <string>

#include "lab/study/document.hpp"

namespace berth::lab {

std::string page(const StudyDocument& document);

}  // namespace berth::lab
