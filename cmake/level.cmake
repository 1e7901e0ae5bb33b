# berth_jumbo(targets...): with BERTH_JUMBO up to 48 files of a target are compiled at once.
# Most of a small file's compile time goes into the headers it includes; so they are shared, and a
# name in an unnamed namespace must be unique among its neighbours. The presets without it compile
# each file alone and so hold every file to including what it uses.
function(berth_jumbo)
  set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ${BERTH_JUMBO} UNITY_BUILD_BATCH_SIZE 48)
endfunction()

# berth_level(name LINKS left... PROGRAMS folders...): one level of the architecture: every .cpp below
# src/name but main.cpp and what is below `folders`. LINKS names every level whose headers it may
# include, so this is the one place that says so: test/tidy reads it. A new file needs no edit here.
function(berth_level name)
  cmake_parse_arguments(ARG "" "" "LINKS;PROGRAMS" ${ARGN})
  set(folder ${CMAKE_SOURCE_DIR}/src/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  foreach(program ${ARG_PROGRAMS})
    list(FILTER sources EXCLUDE REGEX "^${folder}/${program}/")
  endforeach()
  set(scope PUBLIC)
  if(sources)
    add_library(berth_${name} STATIC ${sources})
    berth_jumbo(berth_${name})
    if(BERTH_JUMBO)  # g++ inlines less where much is compiled at once: replays took a tenth longer
      target_compile_options(
        berth_${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:--param=large-unit-insns=1000000>)
    endif()
  else()
    add_library(berth_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(berth_${name} ${scope} berth_flags)
  foreach(left ${ARG_LINKS})
    target_link_libraries(berth_${name} ${scope} berth_${left})
  endforeach()
endfunction()

# berth_wings(level folders...): the folders of a level, left to right; a file may include its own and
# those left of it. `.` is the level's own. test/tidy reads these lines too.
function(berth_wings level)
  foreach(wing ${ARGN})
    if(NOT IS_DIRECTORY ${CMAKE_SOURCE_DIR}/src/${level}/${wing})
      message(FATAL_ERROR "src/${level}/${wing} is a wing without a folder")
    endif()
  endforeach()
endfunction()
