//===- AssemblyFormat.h - Pieces of syntax that ops share -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsers and printers of axis lists, kinds, streams, places and names; the
// custom<...> directives of the op definitions resolve to these.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_DIALECT_BAGUA_ASSEMBLYFORMAT_H
#define BAGUA_LIB_DIALECT_BAGUA_ASSEMBLYFORMAT_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include <string>

namespace bagua {

/// `[node, gpu]`.
mlir::ParseResult parseAxes(mlir::AsmParser &parser, AxesAttr &axes);
void printAxes(mlir::AsmPrinter &printer, AxesAttr axes);

/// `[0 -> 1, 1 -> 2]`.
mlir::ParseResult parsePairs(mlir::AsmParser &parser,
                             mlir::DenseI64ArrayAttr &pairs);
void printPairs(mlir::AsmPrinter &printer, mlir::DenseI64ArrayAttr pairs);

/// `program`, `"name"` or `arena:byte`.
mlir::ParseResult parsePlace(mlir::AsmParser &parser, PlaceAttr &place);
void printPlace(mlir::AsmPrinter &printer, PlaceAttr place);

/// `"w" varies [gpu] counted "t" at place`: an argument without its role.
mlir::ParseResult parseArgumentInfo(mlir::AsmParser &parser, Role role,
                                    ArgumentAttr &info);
void printArgumentInfo(mlir::AsmPrinter &printer, ArgumentAttr info);

/// `[place, place]`.
mlir::ParseResult parsePlaces(mlir::AsmParser &parser, mlir::ArrayAttr &places);
void printPlaces(mlir::AsmPrinter &printer, mlir::ArrayAttr places);

/// A bare word, or a string if the name is not one.
mlir::ParseResult parseStream(mlir::AsmParser &parser, mlir::StringAttr &name);
void printStream(mlir::AsmPrinter &printer, mlir::StringAttr name);

mlir::ParseResult parseKind(mlir::AsmParser &parser, ReduceKindAttr &kind);
void printKind(mlir::AsmPrinter &printer, ReduceKindAttr kind);

mlir::ParseResult parseBiasCorrection(mlir::AsmParser &parser,
                                      BiasCorrectionAttr &correction);

/// `"name"`, or `["left", "right"]` for several results.
mlir::ParseResult parseNames(mlir::AsmParser &parser, mlir::ArrayAttr &names);
void printNames(mlir::AsmPrinter &printer, mlir::ArrayAttr names);

/// `<shard [gpu]>` or an alias. (After `#bagua.layout<...>` a colon would be
/// parsed as the attribute's own type.)
mlir::ParseResult parseLayout(mlir::AsmParser &parser, LayoutAttr &layout);

/// `(on stream)? (at [places])?`, for ops with a parser of their own.
mlir::ParseResult parseSchedule(mlir::OpAsmParser &parser,
                                mlir::OperationState &result,
                                llvm::StringRef streamName,
                                llvm::StringRef placesName);
void printSchedule(mlir::OpAsmPrinter &printer, mlir::StringAttr stream,
                   mlir::ArrayAttr places);

/// The shortest text that reads back as the same number: `0.9`.
std::string shortestFloat(float value);

/// A decimal number. MLIR would read a hexadecimal one as the bits of a
/// float64.
mlir::ParseResult parseNumber(mlir::AsmParser &parser, double &number);

/// A float attribute without its type: `0.9`.
mlir::ParseResult parseF32(mlir::OpAsmParser &parser, mlir::FloatAttr &value);

// The forms that custom<...> directives call; they get the op as well.
inline void printAxes(mlir::OpAsmPrinter &printer, mlir::Operation *,
                      AxesAttr axes) {
  printAxes(printer, axes);
}
inline void printPairs(mlir::OpAsmPrinter &printer, mlir::Operation *,
                       mlir::DenseI64ArrayAttr pairs) {
  printPairs(printer, pairs);
}
inline void printPlaces(mlir::OpAsmPrinter &printer, mlir::Operation *,
                        mlir::ArrayAttr places) {
  printPlaces(printer, places);
}
inline void printStream(mlir::OpAsmPrinter &printer, mlir::Operation *,
                        mlir::StringAttr name) {
  printStream(printer, name);
}
inline void printKind(mlir::OpAsmPrinter &printer, mlir::Operation *,
                      ReduceKindAttr kind) {
  printKind(printer, kind);
}
inline void printBiasCorrection(mlir::OpAsmPrinter &printer, mlir::Operation *,
                                BiasCorrectionAttr correction) {
  printer << wordOf(correction.getValue());
}
inline void printNames(mlir::OpAsmPrinter &printer, mlir::Operation *,
                       mlir::ArrayAttr names) {
  printNames(printer, names);
}
inline void printLayout(mlir::OpAsmPrinter &printer, mlir::Operation *,
                        LayoutAttr layout) {
  printer.printStrippedAttrOrType(layout);
}

/// A kind, or nothing if the operand follows at once.
mlir::ParseResult parseOptionalKind(mlir::OpAsmParser &parser,
                                    ReduceKindAttr &kind);
inline void printOptionalKind(mlir::OpAsmPrinter &printer, mlir::Operation *,
                              ReduceKindAttr kind) {
  if (kind)
    printKind(printer, kind);
}

} // namespace bagua

#endif // BAGUA_LIB_DIALECT_BAGUA_ASSEMBLYFORMAT_H
