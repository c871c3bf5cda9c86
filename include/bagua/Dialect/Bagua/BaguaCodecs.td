//===- BaguaCodecs.td - Codec attributes -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The codecs. Their formulas of sizes are in Support/CodecSizes.h, which the
// runtime shares.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_CODECS_TD
#define BAGUA_CODECS_TD

include "bagua/Dialect/Bagua/BaguaAttributes.td"
include "bagua/Dialect/Bagua/BaguaInterfaces.td"

/// `overrides` names the interface's methods whose defaults don't fit.
class Bagua_Codec<string name, string codecMnemonic, list<string> overrides = []>
    : Bagua_Attr<name, codecMnemonic, [DeclareAttrInterfaceMethods<Bagua_CodecAttrInterface, overrides>]>;

def Bagua_MinmaxUint8Attr : Bagua_Codec<"MinmaxUint8", "minmax_uint8"> {
  let summary = "8 bits an element between a part's minimum and maximum (BAGUA ByteGrad)";
}

def Bagua_Fp8E4M3Attr : Bagua_Codec<"Fp8E4M3", "fp8_e4m3"> {
  let summary = "8-bit floats with a float32 scale for each block of elements";
  let parameters = (ins "int64_t":$block);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Bagua_QsgdAttr : Bagua_Codec<"Qsgd", "qsgd", ["isDeterministic"]> {
  let summary = "stochastic levels of |x| relative to each block's norm (QSGD)";
  let parameters = (ins "int64_t":$levels, "int64_t":$block);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Bagua_OnebitAttr : Bagua_Codec<"Onebit", "onebit", ["needsFeedback"]> {
  let summary = "one sign bit an element and one scale a part (1-bit Adam)";
}

def Bagua_SignsgdAttr : Bagua_Codec<"Signsgd", "signsgd"> {
  let summary = "one sign bit an element, majority vote at the owner (signSGD)";
}

def Bagua_EfsignsgdAttr : Bagua_Codec<"Efsignsgd", "efsignsgd", ["needsFeedback"]> {
  let summary = "one sign bit an element, scaled by the part's mean magnitude (EF-signSGD)";
}

def Bagua_TopkAttr : Bagua_Codec<"Topk", "topk", ["needsFeedback"]> {
  let summary = "the `count` elements of largest magnitude of a part, as index and value";
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Bagua_GtopkAttr : Bagua_Codec<"Gtopk", "gtopk", ["isMergeable", "needsFeedback"]> {
  let summary = "top-k, merged pairwise to k again at every level of a tree (gTop-k)";
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Bagua_DgcAttr : Bagua_Codec<"Dgc", "dgc", ["needsFeedback"]> {
  let summary = "top-k by a sampled threshold, capped at `count` and padded (DGC)";
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Bagua_RandomkAttr : Bagua_Codec<"Randomk", "randomk", ["isLinear", "isDeterministic"]> {
  let summary = "`count` elements at indices that all ranks draw alike; can be all-reduced";
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // BAGUA_CODECS_TD
