# glint/kernels/isa/*.cc is compiled once per instruction-set level, each into its own namespace (GLINT_ISA), and
# one level is chosen at start. tests/house/isa_symbols checks that no shared inline function escapes from here.
function(glint_add_isa level)
  add_library(glint_isa_${level} OBJECT ${GLINT_ISA_SOURCES})
  set_target_properties(glint_isa_${level} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(glint_isa_${level} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(glint_isa_${level} PRIVATE GLINT_ISA=isa_${level} GLINT_ISA_${level}=1)
  target_compile_options(glint_isa_${level} PRIVATE ${ARGN})
  # Kernels are always optimised: an unoptimised product would make debug builds unusable, and the always_inline
  # helpers must never be emitted as shared functions.
  target_compile_options(glint_isa_${level} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O3>)
  target_link_libraries(glint_isa_${level} PRIVATE glint_options)
  target_sources(glint_lib PRIVATE $<TARGET_OBJECTS:glint_isa_${level}>)
endfunction()

glint_add_isa(baseline)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  glint_add_isa(v3 -march=x86-64-v3)
  glint_add_isa(v4 -march=x86-64-v4 -mprefer-vector-width=512)
  target_compile_definitions(glint_lib PUBLIC GLINT_X86_LEVELS=1)
  # The bf16 products have their own instructions and their own files.
  set_source_files_properties(glint/kernels/bf16_amx.cc PROPERTIES COMPILE_OPTIONS
    "-march=x86-64-v4;-mavx512bf16;-mamx-tile;-mamx-bf16;-mprefer-vector-width=512;-O3")
  set_source_files_properties(glint/kernels/bf16_avx512.cc PROPERTIES COMPILE_OPTIONS
    "-march=x86-64-v4;-mavx512bf16;-mprefer-vector-width=512;-O3")
  set_source_files_properties(glint/kernels/bf16_amx.cc glint/kernels/bf16_avx512.cc PROPERTIES
                              SKIP_PRECOMPILE_HEADERS ON)
endif()
