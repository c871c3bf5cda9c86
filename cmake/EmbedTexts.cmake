# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Writes {"name", "text"} of each file, in the order given, as a table to include; names are the files' without extension.
# cmake -DSOURCES=a.mlir;b.mlir -DOUTPUT=... -P EmbedTexts.cmake
set(table "")
foreach(source ${SOURCES})
  get_filename_component(name "${source}" NAME_WE)
  file(READ "${source}" text)
  string(APPEND table "{\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "${table}")
