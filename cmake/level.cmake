# berth_level(name LINKS left...): one level of the architecture, every .cpp below its folder.
# A new file needs no edit here.
function(berth_level name)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  add_library(berth_${name} STATIC ${sources})
  target_link_libraries(berth_${name} PUBLIC berth_flags)
  foreach(left ${ARG_LINKS})
    target_link_libraries(berth_${name} PUBLIC berth_${left})
  endforeach()
endfunction()
