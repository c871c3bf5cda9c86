//===- BaguaEncodings.td - The attribute of encodings ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One attribute for all encodings. Which there are, and what they are, is the
// table's in Support/Encodings.h, which the runtime shares.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_ENCODINGS_TD
#define BAGUA_ENCODINGS_TD

include "bagua/Dialect/Bagua/BaguaAttributes.td"

/// Its syntax is the dialect's: the word of a row stands for a mnemonic.
def Bagua_EncodingAttr : AttrDef<Bagua_Dialect, "Encoding"> {
  let attrName = "bagua.encoding";
  let summary = "how a tensor is encoded to be sent";
  let description = [{
    The word of a row of `Support/Encodings.h` that is no cast, and its
    parameters: those that are what the row has for them may be left out. A part
    is what one encode makes of consecutive elements; statistics (a minimum, a
    norm, a scale) belong to a part.

    ```
    #bagua.minmax_uint8
    #bagua.qsgd<levels = 7, block = 256>
    ```
  }];
  let parameters = (ins "::bagua::Encoding":$encoding);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    const ::bagua::EncodingRow &getRow() const { return ::bagua::rowOf(getEncoding()); }
    /// Whether elements of this type can be encoded.
    bool supports(::mlir::Type elementType) const;

    /// Parses the parameters that follow a row's word.
    static ::mlir::Attribute parseParameters(::mlir::AsmParser &parser, const ::bagua::EncodingRow &row);
    /// Prints the word and the parameters.
    void printWithWord(::mlir::AsmPrinter &printer) const;
  }];
}

/// The same where an op has it: printed in full.
def Bagua_Codec : Attr<CPred<"::llvm::isa<::bagua::EncodingAttr>($_self)">, "an encoding"> {
  let storageType = "::bagua::EncodingAttr";
  let returnType = "::bagua::EncodingAttr";
  let convertFromStorage = "$_self";
}

#endif // BAGUA_ENCODINGS_TD
