//===- BaguaInterfaces.td - Interfaces of the dialect ------*- tablegen -*-===//
//
// What every pass may ask of every op inside a step, so that none has to switch
// over op kinds, and of every codec.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_INTERFACES_TD
#define BAGUA_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Bagua_StepOpInterface : OpInterface<"StepOpInterface"> {
  let cppNamespace = "::bagua";
  let description = [{
    An op inside a step: who runs it, on which stream, where its results lie, over
    which group it communicates, and what it does to agreement between ranks.
  }];
  let methods = [
    InterfaceMethod<"The stream; null at graph level.",
                    "::mlir::StringAttr", "getStreamAttr">,
    InterfaceMethod<"Sets the stream, or removes it with null.",
                    "void", "setStreamAttr", (ins "::mlir::StringAttr":$stream)>,
    InterfaceMethod<"One PlaceAttr a result; null at graph level.",
                    "::mlir::ArrayAttr", "getPlacesAttr">,
    InterfaceMethod<"Sets the places, or removes them with null.",
                    "void", "setPlacesAttr", (ins "::mlir::ArrayAttr":$places)>,
    InterfaceMethod<"The axes over which the op communicates; null if it does not.",
                    "::bagua::AxesAttr", "getGroupAxes", (ins), "", "return nullptr;">,
    InterfaceMethod<"How it combines values; null if it does not.",
                    "::bagua::ReduceKindAttr", "getReduction", (ins), "", "return nullptr;">,
    InterfaceMethod<"Whether the training program runs it, rather than the runtime.",
                    "bool", "isRunByProgram", (ins), "", "return false;">,
    InterfaceMethod<"The name under which program and runtime hand over result `index`; null if none.",
                    "::mlir::StringAttr", "getResultName", (ins "unsigned":$index), "",
                    "return nullptr;">,
    InterfaceMethod<[{
        Facts of the results from those of the operands, one Facts an operand and
        a result. Emits an error and fails where a reduction is wrong.
      }], "::llvm::LogicalResult", "inferFacts",
      (ins "const ::bagua::FactContext &":$context, "::llvm::ArrayRef<::bagua::Facts>":$operands,
           "::llvm::SmallVectorImpl<::bagua::Facts> &":$results)>,
  ];
}

def Bagua_CodecAttrInterface : AttrInterface<"CodecAttrInterface"> {
  let cppNamespace = "::bagua";
  let description = [{
    What passes and verifiers need to know of a codec. A part is what one encode
    makes of consecutive elements; statistics (min, norm, scale) belong to a part.
  }];
  let methods = [
    InterfaceMethod<"Bytes of an encoded part of `count` elements; 0 for none.",
                    "int64_t", "getEncodedBytes", (ins "int64_t":$count)>,
    InterfaceMethod<"Encoded values may be added element by element.",
                    "bool", "isLinear", (ins), "", "return false;">,
    InterfaceMethod<"Encoded values merge pairwise in a fixed tree order.",
                    "bool", "isMergeable", (ins), "", "return false;">,
    InterfaceMethod<"The same input encodes to the same bytes, without a seed.",
                    "bool", "isDeterministic", (ins), "", "return true;">,
    InterfaceMethod<"Alignment of a part in bytes.",
                    "int64_t", "getAlignment", (ins), "", "return 32;">,
    InterfaceMethod<"Whether elements of this type can be encoded.",
                    "bool", "supports", (ins "::mlir::Type":$elementType), "",
                    "return elementType.isF32() || elementType.isF16() || elementType.isBF16();">,
  ];
}

#endif // BAGUA_INTERFACES_TD
