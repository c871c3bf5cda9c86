//===- BaguaCollectiveOps.td - Communication ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that move data between the ranks of a group, and encode and decode beside
// them. `over` lists axes in cluster order.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_COLLECTIVEOPS_TD
#define BAGUA_COLLECTIVEOPS_TD

include "bagua/Dialect/Bagua/BaguaOpBase.td"

/// `reduces`: has a kind. All results can be named with `as`. `collective`: what
/// Support/Collective.h calls it.
class Bagua_Collective<string mnemonic, dag args, bit reduces, string collective, list<Trait> traits = [],
                       code declarations = "">
    : Bagua_InStep<mnemonic,
        !con(!if(reduces, (ins Bagua_ReduceKindAttr:$kind), (ins)), args,
             (ins Bagua_AxesAttr:$over, OptionalAttr<Bagua_NameArray>:$names)),
        traits # [Pure], [{
          ::bagua::AxesAttr getGroupAxes() { return getOver(); }
          ::mlir::StringAttr getResultName(unsigned index) {
            ::mlir::ArrayAttr names = getNamesAttr();
            return names ? ::llvm::cast<::mlir::StringAttr>(names[index]) : nullptr;
          }
          bool setResultName(unsigned index, ::mlir::StringAttr name) {
            if ((*this)->getNumResults() != 1)
              return false;
            setNamesAttr(::mlir::ArrayAttr::get(getContext(), {name}));
            return true;
          }
        }] # "std::optional<::bagua::Collective> getCollective() { return " # collective # "; }\n"
           # !if(reduces, "::bagua::ReduceKindAttr getReduction() { return getKind(); }\n", "") # declarations> {
  let hasVerifier = 1;
  // At graph level.
  let builders = [OpBuilder<!con((ins "::mlir::Type":$output), !if(reduces, (ins "::bagua::ReduceKindAttr":$kind), (ins)),
                                 (ins "::mlir::Value":$input, "::bagua::AxesAttr":$over,
                                      CArg<"::mlir::ArrayAttr", "nullptr">:$names)),
    "build($_builder, $_state, output, " # !if(reduces, "kind, ", "")
        # "input, over, names, /*stream=*/nullptr, /*places=*/nullptr);">];
}

defvar Bagua_Transit = "bool isTransit() { return true; }\n";
/// The methods of a collective whose result has its elements where the operand
/// has them, on every rank.
defvar Bagua_InPlace = [{
  bool isElementwise() { return true; }
  std::optional<unsigned> getInPlaceOperand(unsigned) { return 0; }
}];

def Bagua_AllReduceOp : Bagua_Collective<"all_reduce",
    (ins Bagua_Value:$input, OptionalAttr<Bagua_Codec>:$codec, UnitAttr:$feedback), 1,
    "::bagua::Collective::AllReduce", [SameOperandsAndResultType], !strconcat(Bagua_Transit, Bagua_InPlace, [{
      std::optional<::bagua::RelationKind> getRelation() { return ::bagua::RelationKind::Reduced; }
      std::optional<::bagua::InstructionFields> getInstruction();
      std::string whyNot(::bagua::Rewriting rewriting);
    }])> {
  let summary = "every rank of the group gets the combination of all ranks' values";
  let description = [{
    ```
    rank 0: x0 ─┐              ┌─ rank 0: x0 + x1
                ├─ all_reduce ─┤
    rank 1: x1 ─┘              └─ rank 1: x0 + x1
    ```

    ```
    %r = bagua.all_reduce mean %g over [node, gpu] : tensor<4096xf32>
    ```

    `codec` is a request that `bagua-lower-compression` expands; `feedback` asks
    for residuals with it.

    ```
    %c = bagua.all_reduce mean %g over [node, gpu] codec (#bagua.onebit) feedback : tensor<4096xf32>
    ```
  }];
  let results = (outs Bagua_Value:$output);
  let builders = [OpBuilder<(ins "::bagua::ReduceKindAttr":$kind, "::mlir::Value":$input, "::bagua::AxesAttr":$over,
                                 CArg<"::mlir::ArrayAttr", "nullptr">:$names), [{
    build($_builder, $_state, input.getType(), kind, input, /*codec=*/nullptr, /*feedback=*/nullptr, over, names,
          /*stream=*/nullptr, /*places=*/nullptr);
  }]>];
  let assemblyFormat = [{
    custom<Kind>($kind) $input `over` custom<Axes>($over) (`codec` `(` $codec^ `)`)? (`feedback` $feedback^)?
    (`on` custom<Stream>($stream)^)? (`at` custom<Places>($places)^)? attr-dict `:` type($output) (`as` custom<Names>($names)^)?
  }];
}

/// The methods of reduce_scatter and all_gather. The attribute that `dimension`
/// returns is set if these are between tensors of each rank's own.
class Bagua_MaybeInPieces<string dimension, string relation> {
  string declarations = !strconcat("bool isInPieces() { return ", dimension, "().has_value(); }\n",
      "bool isTransit() { return !isInPieces(); }\n",
      "std::optional<::bagua::RelationKind> getRelation() {\n",
      "  return isInPieces() ? std::optional(::bagua::RelationKind::", relation, ") : std::nullopt;\n}\n", [{
      ::llvm::LogicalResult verifyOnCluster(::bagua::ClusterOp &cluster);
      std::optional<::bagua::InstructionFields> getInstruction();
    }]);
}

def Bagua_ReduceScatterOp : Bagua_Collective<"reduce_scatter",
    (ins Bagua_Tensor:$input, OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$split_dim), 1,
    "::bagua::Collective::ReduceScatter", [], Bagua_MaybeInPieces<"getSplitDim", "Scattered">.declarations # [{
      bool carriesGradients() { return !isInPieces(); }
    }]> {
  let summary = "each rank of the group gets its part of the combination";
  let description = [{
    ```
    rank 0: a0 b0 ─┐                  ┌─ rank 0: a0 + a1
                   ├─ reduce_scatter ─┤
    rank 1: a1 b1 ─┘                  └─ rank 1:         b0 + b1
    ```

    ```
    %s = bagua.reduce_scatter mean %g over [gpu] : tensor<4096xf32> -> tensor<4096xf32, #bagua.layout<shard [gpu]>>
    ```

    With `split` each rank gets a tensor of its own, its piece along that
    dimension: what a step's program scatters itself (ZeRO).

    ```
    %s = bagua.reduce_scatter sum %x over [gpu] split 1 : tensor<32x512xf32> -> tensor<32x64xf32>
    ```
  }];
  let results = (outs Bagua_Tensor:$output);
  let builders = [OpBuilder<(ins "::mlir::Type":$output, "::bagua::ReduceKindAttr":$kind, "::mlir::Value":$input,
                                 "::bagua::AxesAttr":$over, CArg<"::mlir::ArrayAttr", "nullptr">:$names,
                                 CArg<"::mlir::IntegerAttr", "nullptr">:$splitDim), [{
    build($_builder, $_state, output, kind, input, splitDim, over, names, /*stream=*/nullptr, /*places=*/nullptr);
  }]>];
  let assemblyFormat = [{
    custom<Kind>($kind) $input `over` custom<Axes>($over) (`split` $split_dim^)? (`on` custom<Stream>($stream)^)? (`at` custom<Places>($places)^)?
    attr-dict `:` type($input) `->` type($output) (`as` custom<Names>($names)^)?
  }];
}

def Bagua_AllGatherOp : Bagua_Collective<"all_gather",
    (ins Bagua_Value:$input, OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$concat_dim), 0,
    "::bagua::Collective::AllGather", [], Bagua_MaybeInPieces<"getConcatDim", "Gathered">.declarations> {
  let summary = "every rank of the group gets all parts";
  let description = [{
    ```
    rank 0: a   ─┐              ┌─ rank 0: a b
                 ├─ all_gather ─┤
    rank 1:   b ─┘              └─ rank 1: a b
    ```

    An encoded shard becomes `parts`, an encoded whole tensor `terms`.

    ```
    %s = bagua.slice %w : tensor<4096xf32> -> tensor<4096xf32, #bagua.layout<shard [gpu]>>
    %r = bagua.all_gather %s over [gpu] : tensor<4096xf32, #bagua.layout<shard [gpu]>> -> tensor<4096xf32>
    ```

    With `concat` tensors of the ranks' own are put together along that dimension.

    ```
    %r = bagua.all_gather %p over [gpu] concat 0 : tensor<64x32xf32> -> tensor<512x32xf32>
    ```
  }];
  let results = (outs Bagua_Value:$output);
  let builders = [OpBuilder<(ins "::mlir::Type":$output, "::mlir::Value":$input, "::bagua::AxesAttr":$over,
                                 CArg<"::mlir::ArrayAttr", "nullptr">:$names,
                                 CArg<"::mlir::IntegerAttr", "nullptr">:$concatDim), [{
    build($_builder, $_state, output, input, concatDim, over, names, /*stream=*/nullptr, /*places=*/nullptr);
  }]>];
  let assemblyFormat = [{
    $input `over` custom<Axes>($over) (`concat` $concat_dim^)? (`on` custom<Stream>($stream)^)? (`at` custom<Places>($places)^)?
    attr-dict `:` type($input) `->` type($output) (`as` custom<Names>($names)^)?
  }];
}

def Bagua_ReduceOp : Bagua_Collective<"reduce", (ins Bagua_Tensor:$input), 1, "::bagua::Collective::Reduce", [],
                                      !strconcat(Bagua_Transit, Bagua_InPlace)> {
  let summary = "coordinate 0 of the group gets the combination";
  let description = [{
    ```
    %l = bagua.reduce mean %g over [gpu] : tensor<4096xf32> -> tensor<4096xf32, #bagua.layout<root [gpu]>>
    ```
  }];
  let results = (outs Bagua_Tensor:$output);
  let assemblyFormat = [{
    custom<Kind>($kind) $input `over` custom<Axes>($over) (`on` custom<Stream>($stream)^)? (`at` custom<Places>($places)^)?
    attr-dict `:` type($input) `->` type($output) (`as` custom<Names>($names)^)?
  }];
}

def Bagua_BroadcastOp : Bagua_Collective<"broadcast", (ins Bagua_Tensor:$input), 0, "::bagua::Collective::Broadcast", [],
                                         !strconcat(Bagua_Transit, Bagua_InPlace)> {
  let summary = "every rank of the group gets what coordinate 0 has";
  let description = [{
    ```
    %l = bagua.slice %w : tensor<4096xf32> -> tensor<4096xf32, #bagua.layout<root [gpu]>>
    %r = bagua.broadcast %l over [gpu] : tensor<4096xf32, #bagua.layout<root [gpu]>> -> tensor<4096xf32>
    ```
  }];
  let results = (outs Bagua_Tensor:$output);
  let assemblyFormat = [{
    $input `over` custom<Axes>($over) (`on` custom<Stream>($stream)^)? (`at` custom<Places>($places)^)?
    attr-dict `:` type($input) `->` type($output) (`as` custom<Names>($names)^)?
  }];
}

def Bagua_AllToAllOp : Bagua_Collective<"all_to_all",
    (ins Bagua_Value:$input, OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$split_dim,
         OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$concat_dim), 0, "::bagua::Collective::AllToAll", [], [{
      ::llvm::LogicalResult verifyOnCluster(::bagua::ClusterOp &cluster);
      bool isEncoded() { return ::llvm::isa<::bagua::EncodedType>(getInput().getType()); }
      bool isTransit() { return isEncoded(); }
      bool carriesGradients() { return isEncoded(); }
      std::optional<::bagua::RelationKind> getRelation() {
        return isEncoded() ? std::nullopt : std::optional(::bagua::RelationKind::AllToAll);
      }
      std::optional<::bagua::InstructionFields> getInstruction();
    }]> {
  let summary = "each rank sends a different piece to each";
  let description = [{
    ```
    rank 0: a0 b0 ─┐              ┌─ rank 0: a0 a1
                   ├─ all_to_all ─┤
    rank 1: a1 b1 ─┘              └─ rank 1: b0 b1
    ```

    A tensor is cut along dimension `split` and put together along `concat`. An
    encoded value in `parts [over]` becomes `terms [over]` of the shards.

    ```
    %d = bagua.all_to_all %x over [gpu] split 0 concat 1 : tensor<32x512xf32> -> tensor<4x4096xf32>
    ```
  }];
  let results = (outs Bagua_Value:$output);
  let builders = [OpBuilder<(ins "::mlir::Type":$output, "::mlir::Value":$input, "int64_t":$splitDim,
                                 "int64_t":$concatDim, "::bagua::AxesAttr":$over), [{
    build($_builder, $_state, output, input, $_builder.getI64IntegerAttr(splitDim),
          $_builder.getI64IntegerAttr(concatDim), over, /*names=*/nullptr, /*stream=*/nullptr, /*places=*/nullptr);
  }]>];
  let assemblyFormat = [{
    $input `over` custom<Axes>($over) (`split` $split_dim^ `concat` $concat_dim)? (`on` custom<Stream>($stream)^)?
    (`at` custom<Places>($places)^)? attr-dict `:` type($input) `->` type($output) (`as` custom<Names>($names)^)?
  }];
}

def Bagua_ExchangeOp : Bagua_Collective<"exchange",
    (ins Bagua_ExchangePatternAttr:$pattern, Bagua_Value:$input), 0,
    "getPattern() == ::bagua::ExchangePattern::Ring ? ::bagua::Collective::ExchangeRing : "
    "::bagua::Collective::ExchangeShiftOne", [], [{
      ::llvm::LogicalResult verifyOnCluster(::bagua::ClusterOp &cluster);
      std::optional<::bagua::InstructionFields> getInstruction();
    }]> {
  let summary = "swaps values with neighbours";
  let description = [{
    `ring`: results are what the left and the right neighbour have. `shift_one`:
    what this step's peer has; the group's size must be even, and the pairing
    changes from iteration to iteration, also those that run another step.

    ```
    %l, %r = bagua.exchange ring %w over [node, gpu] : tensor<4096xf32> -> tensor<4096xf32>, tensor<4096xf32>
    %q = bagua.exchange shift_one %w over [node, gpu] : tensor<4096xf32> -> tensor<4096xf32>
    ```
  }];
  let results = (outs Variadic<Bagua_Value>:$outputs);
  let builders = []; // nobody writes one
  let assemblyFormat = [{
    $pattern $input `over` custom<Axes>($over) (`on` custom<Stream>($stream)^)? (`at` custom<Places>($places)^)?
    attr-dict `:` type($input) `->` type($outputs) (`as` custom<Names>($names)^)?
  }];
}

def Bagua_PermuteOp : Bagua_Collective<"permute", (ins Bagua_Tensor:$input, DenseI64ArrayAttr:$pairs), 0,
    "::bagua::Collective::Permute", [SameOperandsAndResultType], [{
      ::llvm::LogicalResult verifyOnCluster(::bagua::ClusterOp &cluster);
      std::optional<::bagua::RelationKind> getRelation() { return ::bagua::RelationKind::Permuted; }
      std::optional<::bagua::InstructionFields> getInstruction();
    }]> {
  let summary = "some ranks of the group send, each to one";
  let description = [{
    ```
    rank 0: a ─┐             ┌─ rank 0: 0
               ├─ permute ───┤
    rank 1: b ─┘ [0 -> 1]    └─ rank 1: a
    ```

    `pairs` are of places in the group. Nobody sends twice or gets twice; who gets
    nothing has zeros. The stages of a pipeline hand on activations by it.

    ```
    %n = bagua.permute %x over [gpu] pairs [0 -> 1, 1 -> 2] : tensor<32x512xf32>
    ```
  }];
  let results = (outs Bagua_Tensor:$output);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$pairs, "::bagua::AxesAttr":$over), [{
    build($_builder, $_state, input.getType(), input, pairs, over, /*names=*/nullptr, /*stream=*/nullptr,
          /*places=*/nullptr);
  }]>];
  let assemblyFormat = [{
    $input `over` custom<Axes>($over) `pairs` custom<Pairs>($pairs) (`on` custom<Stream>($stream)^)?
    (`at` custom<Places>($places)^)? attr-dict `:` type($output) (`as` custom<Names>($names)^)?
  }];
}

def Bagua_PushOp : Bagua_Collective<"push", (ins Bagua_Value:$input), 1, "::bagua::Collective::Push", [],
                                    Bagua_Transit # [{
      ::llvm::LogicalResult verifyOnCluster(::bagua::ClusterOp &cluster);
    }]> {
  let summary = "servers get the combination of the group's values";
  let description = [{
    Spread over all servers (`server`) or whole on one (`server 3`). Under `asp`
    and `ssp` a push is applied as it arrives, and its kind is `sum` of one term.

    ```
    %s = bagua.push mean %g over [node, gpu] : tensor<4096xf32> -> tensor<4096xf32, #bagua.layout<server>>
    ```
  }];
  let results = (outs Bagua_Value:$output);
  let assemblyFormat = [{
    custom<Kind>($kind) $input `over` custom<Axes>($over) (`on` custom<Stream>($stream)^)? (`at` custom<Places>($places)^)?
    attr-dict `:` type($input) `->` type($output) (`as` custom<Names>($names)^)?
  }];
}

def Bagua_PullOp : Bagua_Collective<"pull", (ins Bagua_Value:$input), 0, "::bagua::Collective::Pull", [],
                                    Bagua_Transit> {
  let summary = "every rank of the group gets what the servers have";
  let description = [{
    ```
    %s = bagua.push mean %g over [node, gpu] : tensor<4096xf32> -> tensor<4096xf32, #bagua.layout<server 1>>
    %r = bagua.pull %s over [node, gpu] : tensor<4096xf32, #bagua.layout<server 1>> -> tensor<4096xf32>
    ```
  }];
  let results = (outs Bagua_Value:$output);
  let assemblyFormat = [{
    $input `over` custom<Axes>($over) (`on` custom<Stream>($stream)^)? (`at` custom<Places>($places)^)?
    attr-dict `:` type($input) `->` type($output) (`as` custom<Names>($names)^)?
  }];
}

def Bagua_EncodeOp : Bagua_InStep<"encode",
    (ins Bagua_Tensor:$input, Optional<Bagua_Tensor>:$residual, UnitAttr:$unchecked), [Pure],
    [{
      bool isTransit() { return !getResidual(); }
      bool carriesGradients() { return !getResidual(); }
      std::optional<::bagua::InstructionFields> getInstruction();
    }]> {
  let summary = "a tensor in a codec's form";
  let description = [{
    With `feedback` the residual is added first and what the codec lost is the
    next residual: `m = x + e; e' = m - Q(m)`. The residual is an argument of the
    step, used here and nowhere else, and the next one is yielded in its place. A
    codec that is biased (top-k, one bit) needs feedback; `unchecked` says that the
    step does without on purpose.

    ```
    %q = bagua.encode %g : (tensor<4096xf32>) -> (!bagua.encoded<tensor<4096xf32>, #bagua.minmax_uint8, parts [node]>)
    %r = bagua.decode %q : !bagua.encoded<tensor<4096xf32>, #bagua.minmax_uint8, parts [node]> -> tensor<4096xf32>
    ```
    ```
    %t, %n = bagua.encode %g feedback %e : (tensor<4096xf32>, tensor<4096xf32>) -> (!bagua.encoded<tensor<4096xf32>, #bagua.onebit>, tensor<4096xf32>)
    ```
  }];
  let results = (outs Bagua_EncodedType:$output, Optional<Bagua_Tensor>:$next_residual);
  let assemblyFormat = [{
    $input (`feedback` $residual^)? (`unchecked` $unchecked^)? (`on` custom<Stream>($stream)^)? (`at` custom<Places>($places)^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Bagua_DecodeOp : Bagua_InStep<"decode",
    (ins OptionalAttr<Bagua_ReduceKindAttr>:$kind, Bagua_EncodedType:$input), [Pure],
    [{
      bool isTransit() { return true; }
      bool carriesGradients() { return true; }
      ::bagua::ReduceKindAttr getReduction() { return getKindAttr(); }
    }]> {
  let summary = "the tensor back from a codec's form";
  let description = [{
    Parts concatenate; terms are combined in rank order, by `sum` or `mean`.

    ```
    %q = bagua.encode %g : (tensor<4096xf32>) -> (!bagua.encoded<tensor<4096xf32>, #bagua.minmax_uint8>)
    %r = bagua.decode %q : !bagua.encoded<tensor<4096xf32>, #bagua.minmax_uint8> -> tensor<4096xf32>
    ```
  }];
  let results = (outs Bagua_Tensor:$output);
  let assemblyFormat = [{
    custom<OptionalKind>($kind) $input (`on` custom<Stream>($stream)^)? (`at` custom<Places>($places)^)?
    attr-dict `:` type($input) `->` type($output)
  }];
  let hasVerifier = 1;
}

#endif // BAGUA_COLLECTIVEOPS_TD
