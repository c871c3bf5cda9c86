//===- BaguaOpBase.td - Base classes of ops in a step ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The properties that all ops inside a step share: stream, places, parent and
// interface.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_OPBASE_TD
#define BAGUA_OPBASE_TD

include "bagua/Dialect/Bagua/BaguaInterfaces.td"
include "bagua/Dialect/Bagua/BaguaTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Bagua_PlaceArray : TypedArrayAttrBase<Bagua_PlaceAttr, "places, one a result">;
def Bagua_NameArray : TypedArrayAttrBase<StrAttr, "names, one a result">;

class Bagua_Op<string mnemonic, list<Trait> traits = []> : Op<Bagua_Dialect, mnemonic, traits>;

/// Rules about agreement and meaning that are in the op's .cpp file.
defvar Bagua_OwnRules = [{
    ::llvm::LogicalResult inferFacts(const ::bagua::FactContext &context,
                                     ::llvm::ArrayRef<::bagua::Facts> operands,
                                     ::llvm::SmallVectorImpl<::bagua::Facts> &results);
    void defineMeaning(::bagua::MeaningAnalysis &meanings);
}];
/// Those of any function of the operands' elements `i`.
defvar Bagua_ElementwiseRules = [{
    ::llvm::LogicalResult inferFacts(const ::bagua::FactContext &context,
                                     ::llvm::ArrayRef<::bagua::Facts> operands,
                                     ::llvm::SmallVectorImpl<::bagua::Facts> &results) {
      results.append((*this)->getNumResults(), ::bagua::varyUnlessReplicated(context, operands));
      return ::mlir::success();
    }
    void defineMeaning(::bagua::MeaningAnalysis &meanings) { ::bagua::defineElementwise(*this, meanings); }
}];

/// The runtime can't run it so far.
defvar Bagua_NotInPlansYet = "std::optional<::bagua::InstructionFields> getInstruction() { return std::nullopt; }\n";

/// An op inside a step. `args` are its own operands and attributes; stream and
/// places are added. `declarations` go into the C++ class, and so do `rules`.
class Bagua_InStep<string mnemonic, dag args, list<Trait> traits, code declarations = "", code rules = Bagua_OwnRules>
    : Bagua_Op<mnemonic, traits # [HasParent<"::bagua::StepOp">, Bagua_StepOpInterface]> {
  let arguments = !con(args, (ins OptionalAttr<StrAttr>:$stream, OptionalAttr<Bagua_PlaceArray>:$places));
  let extraClassDeclaration = rules # declarations;
}

#endif // BAGUA_OPBASE_TD
