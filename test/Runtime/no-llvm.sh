#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The runtime and bagua-run neither load an LLVM library nor name an LLVM or MLIR symbol.
# usage: no-llvm.sh BINARY-OR-ARCHIVE...
set -eu
for file in "$@"; do
  case $file in
  *.a) ;;
  *)
    if ldd "$file" | grep -iE 'libLLVM|libMLIR'; then
      echo "$file loads an LLVM library" >&2
      exit 1
    fi
    ;;
  esac
  # Mangled names of the namespaces llvm and mlir.
  if nm --format=posix "$file" | grep -E '^_?_Z[A-Za-z]*(N[A-Z]*)?4(llvm|mlir)'; then
    echo "$file names LLVM symbols" >&2
    exit 1
  fi
done
echo "no LLVM in $# files"
