# Builds the files of web/ and recipes/ into the library, and the pages of docs/ that `glint help` shows into the program: one generated
# source per folder, with one array of bytes per file. Run as a script (cmake -DKIND=web|recipes|docs -DOUTPUT=...
# -DFOLDER=... -P embed.cmake) it writes that source; included, it adds the rules.
set(GLINT_EMBED_web *.js *.css *.html)
set(GLINT_EMBED_recipes *.toml)
set(GLINT_EMBED_docs glossary.md reading.md)

if(CMAKE_SCRIPT_MODE_FILE)
  list(TRANSFORM GLINT_EMBED_${KIND} PREPEND ${FOLDER}/ OUTPUT_VARIABLE patterns)
  file(GLOB files RELATIVE ${FOLDER} ${patterns})
  list(SORT files)
  set(arrays "")
  set(table "")
  foreach(name IN LISTS files)
    file(READ ${FOLDER}/${name} hex HEX)
    string(LENGTH "${hex}" length)
    math(EXPR size "${length} / 2")
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    string(MAKE_C_IDENTIFIER ${name} id)
    string(APPEND arrays "const unsigned char k_${id}[] = {\n${hex}};\n")
    if(KIND STREQUAL web)
      string(APPEND table "    {\"${name}\", k_${id}, ${size}},\n")
    else()
      string(REGEX REPLACE "\\.(toml|md)$" "" stem ${name})
      string(APPEND table "    {\"${stem}\", {reinterpret_cast<const char*>(k_${id}), ${size}}},\n")
    endif()
  endforeach()
  list(LENGTH files count)
  set(space glint)
  if(KIND STREQUAL web)
    set(header glint/report/page.h)
    set(type WebFile)
    set(getter "std::pair<const WebFile*, size_t> web_files() { return {kFiles, ${count}}; }")
  elseif(KIND STREQUAL docs)
    set(header glint/cli/help.h)
    set(space glint::cli)
    set(type BuiltInPage)
    set(getter "std::span<const BuiltInPage> built_in_pages() { return kFiles; }")
  else()
    set(header glint/train/options.h)
    set(type BuiltInRecipe)
    set(getter "std::span<const BuiltInRecipe> built_in_recipes() { return kFiles; }")
  endif()
  file(WRITE ${OUTPUT} "// Written by cmake/embed.cmake from ${KIND}/.
#include \"${header}\"

namespace ${space} {
namespace {
${arrays}
const ${type} kFiles[] = {
${table}};
}  // namespace

${getter}
}  // namespace ${space}
")
  return()
endif()

foreach(kind web recipes docs)
  list(TRANSFORM GLINT_EMBED_${kind} PREPEND ${PROJECT_SOURCE_DIR}/${kind}/ OUTPUT_VARIABLE patterns)
  file(GLOB files CONFIGURE_DEPENDS ${patterns})
  set(source ${PROJECT_BINARY_DIR}/generated/${kind}_files.cc)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DKIND=${kind} -DOUTPUT=${source} -DFOLDER=${PROJECT_SOURCE_DIR}/${kind} -P
            ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    COMMENT "Embedding ${kind}/")
  if(kind STREQUAL docs)
    target_sources(glint_cli PRIVATE ${source})
  else()
    target_sources(glint_lib PRIVATE ${source})
  endif()
endforeach()
