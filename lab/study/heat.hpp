// Tables of every way in every scenario, coloured by how far each is from the best.
#pragma once

#include <string>

#include "lab/study/document.hpp"

namespace berth::lab {

/// Whether no other way ended more jobs: a way that loses its hardest jobs is best in nothing.
bool ended_most(const ScenarioResults& scenario, const WayResults& way);

/// As HTML, a table for each figure and group of scenarios.
std::string heats(const StudyDocument& document);

}  // namespace berth::lab
