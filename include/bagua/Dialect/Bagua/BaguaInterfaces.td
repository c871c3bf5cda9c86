//===- BaguaInterfaces.td - Interfaces of the dialect ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface of all ops inside a step. Passes ask ops through it, so no pass
// has to switch over op kinds.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_INTERFACES_TD
#define BAGUA_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Bagua_StepOpInterface : OpInterface<"StepOpInterface"> {
  let cppNamespace = "::bagua";
  let description = [{
    An op inside a step, and all that passes need to know of it: who runs it, on
    which stream and where its results lie; what it communicates; what it does to
    agreement between ranks and to the meaning of values; how its results relate
    to its operands' elements and bytes; what it is in a plan. A method without a
    default is one that no op can do without.
  }];
  let methods = [
    // Schedule.
    InterfaceMethod<"The stream; null at graph level.",
                    "::mlir::StringAttr", "getStreamAttr">,
    InterfaceMethod<"Sets the stream, or removes it with null.",
                    "void", "setStreamAttr", (ins "::mlir::StringAttr":$stream)>,
    InterfaceMethod<"One PlaceAttr a result; null at graph level.",
                    "::mlir::ArrayAttr", "getPlacesAttr">,
    InterfaceMethod<"Sets the places, or removes them with null.",
                    "void", "setPlacesAttr", (ins "::mlir::ArrayAttr":$places)>,
    InterfaceMethod<"Whether the training program runs it, rather than the runtime.",
                    "bool", "isRunByProgram", (ins), "", "return false;">,

    // Names.
    InterfaceMethod<"The name under which program and runtime hand over result `index`; null if none.",
                    "::mlir::StringAttr", "getResultName", (ins "unsigned":$index), "",
                    "return nullptr;">,
    InterfaceMethod<"Gives result `index` a name; false where it can have none.",
                    "bool", "setResultName", (ins "unsigned":$index, "::mlir::StringAttr":$name), "",
                    "return false;">,
    InterfaceMethod<"What an invented name begins with.",
                    "std::string", "getNameStem", (ins "unsigned":$index), "",
                    "return $_op->getName().stripDialect().str();">,

    // Communication.
    InterfaceMethod<"The collective that it is; nothing if it is none.",
                    "std::optional<::bagua::Collective>", "getCollective", (ins), "", "return std::nullopt;">,
    InterfaceMethod<"The axes over which the op communicates; null if it does not.",
                    "::bagua::AxesAttr", "getGroupAxes", (ins), "", "return nullptr;">,
    InterfaceMethod<"How it combines values; null if it does not.",
                    "::bagua::ReduceKindAttr", "getReduction", (ins), "", "return nullptr;">,
    InterfaceMethod<"What must hold of it on the step's cluster, besides axes and layouts. Emits an error.",
                    "::llvm::LogicalResult", "verifyOnCluster", (ins "::bagua::ClusterOp &":$cluster), "",
                    "return ::mlir::success();">,

    InterfaceMethod<"What keeps it from being rewritten so, as a clause about it (`it asks for ...`); empty if nothing does.",
                    "std::string", "whyNot", (ins "::bagua::Rewriting":$rewriting), "", "return \"\";">,

    // Agreement and meaning.
    InterfaceMethod<[{
        Facts of the results from those of the operands, one Facts an operand and
        a result. Emits an error and fails where a reduction is wrong.
      }], "::llvm::LogicalResult", "inferFacts",
      (ins "const ::bagua::FactContext &":$context, "::llvm::ArrayRef<::bagua::Facts>":$operands,
           "::llvm::SmallVectorImpl<::bagua::Facts> &":$results)>,
    InterfaceMethod<"Defines what the results mean by what the operands do (Meaning.h).",
                    "void", "defineMeaning", (ins "::bagua::MeaningAnalysis &":$meanings)>,
    InterfaceMethod<"Whether the result of gradients alone is gradients that may still be reduced.",
                    "bool", "carriesGradients", (ins), "", "return false;">,
    InterfaceMethod<[{
        Whether its one result is its one operand on the way to or from other
        ranks: sent, reduced, in another element type or in an encoding's form.
      }], "bool", "isTransit", (ins), "", "return false;">,
    InterfaceMethod<"How its result, given back, follows from its operand; nothing where no check knows.",
                    "std::optional<::bagua::RelationKind>", "getRelation", (ins), "", "return std::nullopt;">,

    // Elements and bytes.
    InterfaceMethod<"The bucket that it puts together or takes apart; nothing if it does neither.",
                    "std::optional<::bagua::BucketView>", "getBucket", (ins), "", "return std::nullopt;">,
    InterfaceMethod<"It reads the first so many operands and only waits for the others.",
                    "unsigned", "getReadCount", (ins), "", "return $_op->getNumOperands();">,
    InterfaceMethod<"Whether it moves nothing, so that its result lies where its first operand does.",
                    "bool", "isFree", (ins), "", "return false;">,
    InterfaceMethod<[{
        Whether elements `i` of results are made of elements `i` of a rank's own
        operands, so that a result may take exactly an operand's bytes.
      }], "bool", "isElementwise", (ins), "", "return false;">,
    InterfaceMethod<"The operand in whose bytes result `index` is best computed; nothing for none.",
                    "std::optional<unsigned>", "getInPlaceOperand", (ins "unsigned":$index), "",
                    "return std::nullopt;">,

    // Arithmetic.
    InterfaceMethod<"Whether it is arithmetic of a rank by itself, which the program can run as well.",
                    "bool", "isArithmetic", (ins), "", "return false;">,
    InterfaceMethod<[{
        Of an optimizer's update, how many states it replaces, else 0: result `i`
        is the next value of operand `i`, and after the states comes the gradient
        (or its moment), at the end the learning rate unless that is a literal.
      }], "unsigned", "getStateCount", (ins), "", "return 0;">,
    InterfaceMethod<"Of what the runtime runs by itself: which of a host's times (HostAttr) it takes.",
                    "::llvm::StringRef", "getHostWork", (ins), "", "return \"linear\";">,
    InterfaceMethod<"The arithmetic of an update; nothing for other ops.",
                    "std::optional<::bagua::UpdateRule>", "getUpdateRule", (ins), "", "return std::nullopt;">,

    // Plan.
    InterfaceMethod<[{
        What an instruction needs to know beyond values, axes and reduction; its
        opcode has the op's name. Nothing for what has no form in a plan.
      }], "std::optional<::bagua::InstructionFields>", "getInstruction", (ins), "",
      "return ::bagua::InstructionFields();">,
  ];
  let extraClassDeclaration = [{
    /// The operand or result of a collective that is whole over its axes.
    ::mlir::Value getWholeValue();
    /// The operand or result of a collective that is not its whole value.
    ::mlir::Value getPartialValue();
    bool isUpdate() { return getStateCount() > 0; }
  }];
}

#endif // BAGUA_INTERFACES_TD
