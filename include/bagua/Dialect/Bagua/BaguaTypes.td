//===- BaguaTypes.td - Types of the bagua dialect ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The encoded type, and the operand constraints that ops share.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TYPES_TD
#define BAGUA_TYPES_TD

include "bagua/Dialect/Bagua/BaguaEncodings.td"
include "bagua/Dialect/Bagua/BaguaInterfaces.td"

def Bagua_EncodedType : TypeDef<Bagua_Dialect, "Encoded"> {
  let mnemonic = "encoded";
  let summary = "a tensor encoded by a codec";
  let description = [{
    `parts [axes]`: as many separately encoded pieces, which concatenate, as the
    axes have ranks. `terms [axes]`: one such value for each rank of the axes, to
    be added up. Bytes are static, given the cluster.

    ```
    !bagua.encoded<tensor<4096xf32>, #bagua.onebit, parts [node, gpu]>
    ```
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tensor, "::mlir::Attribute":$codec,
                        "::bagua::AxesAttr":$parts, "::bagua::AxesAttr":$terms);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::bagua::EncodingAttr getEncodingAttr() const;
    const ::bagua::EncodingRow &getRow() const { return getEncodingAttr().getRow(); }
    ::bagua::Encoding getEncoding() const { return getEncodingAttr().getEncoding(); }
  }];
}

/// Static shapes only: sizes known only at run time mean another plan.
def Bagua_Tensor : StaticShapeTensorOf<[AnyType]>;
def Bagua_Value : AnyTypeOf<[Bagua_Tensor, Bagua_EncodedType]>;
def Bagua_Scalar : 0DTensorOf<[F32]>,
    BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getF32Type())">;

#endif // BAGUA_TYPES_TD
