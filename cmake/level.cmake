# berth_jumbo(targets...): with BERTH_JUMBO eight files of a target are compiled at once.
# Most of a small file's compile time goes into the headers it includes; so they are shared, and a
# name in an unnamed namespace must be unique among its neighbours. The presets without it compile
# each file alone and so hold every file to including what it uses.
function(berth_jumbo)
  set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ${BERTH_JUMBO} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# berth_level(name LINKS left...): one level of the architecture, every .cpp below its folder.
# A new file needs no edit here.
function(berth_level name)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  add_library(berth_${name} STATIC ${sources})
  target_link_libraries(berth_${name} PUBLIC berth_flags)
  berth_jumbo(berth_${name})
  foreach(left ${ARG_LINKS})
    target_link_libraries(berth_${name} PUBLIC berth_${left})
  endforeach()
endfunction()
