# Builds the files of web/ into the library: a generated source with one array of bytes a file. Run as a script
# (cmake -DOUTPUT=... -DFOLDER=... -P web.cmake) it writes that source; included, it adds the rule.
if(CMAKE_SCRIPT_MODE_FILE)
  file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*.js ${FOLDER}/*.css ${FOLDER}/*.html)
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
    string(APPEND table "    {\"${name}\", k_${id}, ${size}},\n")
  endforeach()
  list(LENGTH files count)
  file(WRITE ${OUTPUT} "// Written by cmake/web.cmake from web/.
#include \"glint/report/page.h\"

namespace glint {
namespace {
${arrays}
const WebFile kFiles[] = {
${table}};
}  // namespace

std::pair<const WebFile*, size_t> web_files() { return {kFiles, ${count}}; }
}  // namespace glint
")
  return()
endif()

file(GLOB GLINT_WEB_FILES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/*.js ${PROJECT_SOURCE_DIR}/web/*.css
     ${PROJECT_SOURCE_DIR}/web/*.html)
set(GLINT_WEB_SOURCE ${PROJECT_BINARY_DIR}/generated/web_files.cc)
add_custom_command(
  OUTPUT ${GLINT_WEB_SOURCE}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${GLINT_WEB_SOURCE} -DFOLDER=${PROJECT_SOURCE_DIR}/web -P
          ${PROJECT_SOURCE_DIR}/cmake/web.cmake
  DEPENDS ${GLINT_WEB_FILES} ${PROJECT_SOURCE_DIR}/cmake/web.cmake
  COMMENT "Embedding web/")
target_sources(glint_lib PRIVATE ${GLINT_WEB_SOURCE})
