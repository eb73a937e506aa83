# libglint_mpi.so, the plugin with which several processes train one model, where there is an MPI. The program does not
# link it: glint/train/launcher.h.
set(GLINT_MPICXX "" CACHE STRING "Compiler wrapper of the MPI of the plugin; empty: mpicxx where there is one, OFF: none")
set(glint_mpicxx "${GLINT_MPICXX}")
if(glint_mpicxx STREQUAL "")
  # Every build looks again, so that an MPI that was installed since is found.
  string(REPLACE ":" ";" folders "$ENV{PATH}")
  list(TRANSFORM folders APPEND /mpicxx)
  file(GLOB found CONFIGURE_DEPENDS ${folders})
  if(found)
    list(GET found 0 glint_mpicxx)
  endif()
endif()
if(glint_mpicxx AND NOT GLINT_SANITIZE)
  # Open MPI names its flags by --showme, MPICH by -show.
  execute_process(COMMAND ${glint_mpicxx} --showme:compile OUTPUT_VARIABLE compile RESULT_VARIABLE failed
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    execute_process(COMMAND ${glint_mpicxx} --showme:link OUTPUT_VARIABLE link RESULT_VARIABLE failed
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  else()
    execute_process(COMMAND ${glint_mpicxx} -show OUTPUT_VARIABLE compile RESULT_VARIABLE failed
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    set(link "${compile}")
  endif()
  string(REGEX MATCHALL "(^| )-I[^ ]+" compile "${compile}")
  string(REGEX MATCHALL "(^| )(-L|-l|-Wl,-rpath)[^ ]+" link "${link}")
  list(TRANSFORM compile STRIP)
  list(TRANSFORM compile REPLACE "^-I" "")
  list(TRANSFORM link STRIP)
  # The C++ bindings of MPI are not used; Open MPI names their library all the same.
  list(FILTER link EXCLUDE REGEX "^-lmpi_cxx$|^-lmpicxx$")
  if(NOT failed)
    add_library(glint_mpi MODULE glint/mpi/plugin.cc)
    set_target_properties(glint_mpi PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
                                               CXX_VISIBILITY_PRESET hidden)
    target_include_directories(glint_mpi PRIVATE ${PROJECT_SOURCE_DIR})
    target_include_directories(glint_mpi SYSTEM PRIVATE ${compile})
    target_compile_definitions(glint_mpi PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
    target_link_libraries(glint_mpi PRIVATE glint_options ${link})
    add_dependencies(glint_cli glint_mpi)
    install(TARGETS glint_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/glint)
  endif()
endif()
if(TARGET glint_mpi)
  message(STATUS "MPI: ${glint_mpicxx}")
else()
  message(STATUS "MPI: none found, the plugin is not built")
endif()
