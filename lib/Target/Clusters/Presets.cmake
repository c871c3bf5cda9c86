# Writes ClusterPresets.inc: {"name", "text"} of each preset, in alphabetical order.
# cmake -DSOURCES=a.mlir;b.mlir -DOUTPUT=... -P Presets.cmake
set(table "")
foreach(source ${SOURCES})
  get_filename_component(name "${source}" NAME_WE)
  file(READ "${source}" text)
  string(APPEND table "{\"${name}\", R\"preset(${text})preset\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "${table}")
