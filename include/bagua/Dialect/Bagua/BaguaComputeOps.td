//===- BaguaComputeOps.td - Compute and rearrangement ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program's own compute, and the ops that move no data between ranks.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_COMPUTEOPS_TD
#define BAGUA_COMPUTEOPS_TD

include "bagua/Dialect/Bagua/BaguaOpBase.td"

def Bagua_ComputeOp : Bagua_InStep<"compute",
    (ins Variadic<Bagua_Tensor>:$inputs, Bagua_PhaseKindAttr:$phase, StrAttr:$name,
         OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$flops,
         OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$bytes,
         OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$cost_ns,
         OptionalAttr<Bagua_CostSourceAttr>:$cost_source,
         OptionalAttr<ArrayAttr>:$result_info, UnitAttr:$communicates, OptionalAttr<Bagua_AxesAttr>:$varies,
         UnitAttr:$late),
    [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>], [{
      bool isRunByProgram() { return true; }
      ::mlir::StringAttr getResultName(unsigned index);
      bool setResultName(unsigned index, ::mlir::StringAttr name);
      std::string getNameStem(unsigned index);
      std::optional<::bagua::InstructionFields> getInstruction() { return std::nullopt; }
      /// The role of result `index` for the runtime; null if it has none.
      ::bagua::ResultAttr getResultInfo(unsigned index);
      void setResultInfo(unsigned index, ::bagua::ResultAttr info);
    }]> {
  let summary = "opaque work of the training program";
  let description = [{
    Any tensors in, any tensors out. Its cost is `flops` and `bytes`, a duration
    with its source, or both. A result marked `grad "w"` is the gradient of param
    `w`, named `w.grad`: its mean over the data axes over which `w` does not vary
    is what is wanted. `as "name"` names a result otherwise, `optional` lets the
    program leave it out (the runtime then adds zeros).

    It has the effect "program", so no pass merges or erases it. One that
    `communicates` has collectives of the program's own inside, of which the
    runtime knows nothing: allowed on the way to gradients only. What it makes
    `varies` along axes where it depends on the rank's own place, or is random,
    besides its operands. In a scheduled step
    one that is `late` runs in the program's next step, right before the first op
    that needs what it makes; after the last step it is caught up on.

    ```
    %a, %c = bagua.compute backward "l3"(%x, %w) cost_ns 600000 measured : (tensor<32x512xf32>, tensor<4096xf32>) -> (tensor<32x512xf32>, tensor<2xi8> as "used")
    %s = bagua.compute forward "scan"(%x) communicates : (tensor<32x512xf32>) -> (tensor<32x512xf32>)
    %i = bagua.compute forward "index"() varies [gpu] : () -> (tensor<2xi8>)
    %d = bagua.compute forward "l1"(%x) flops 1000000 bytes 65536 : (tensor<32x512xf32>) -> (tensor<32x512xf32>)
    ```
  }];
  let results = (outs Variadic<Bagua_Tensor>:$outputs);
  // Costs and what results are to the runtime are set where they are known.
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$outputs, "::mlir::ValueRange":$inputs,
                                 "::bagua::PhaseKind":$phase, "::llvm::StringRef":$name), [{
    build($_builder, $_state, outputs, inputs, phase, name, /*flops=*/nullptr, /*bytes=*/nullptr, /*cost_ns=*/nullptr,
          /*cost_source=*/nullptr, /*result_info=*/nullptr, /*communicates=*/false, /*varies=*/nullptr,
          /*late=*/false, /*stream=*/nullptr, /*places=*/nullptr);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

class Bagua_Rearrange<string mnemonic, dag args, list<Trait> traits = [], code declarations = "">
    : Bagua_InStep<mnemonic, args, traits # [Pure], declarations>;

/// The methods that concat and split share.
defvar Bagua_Bucket = [{
      bool carriesGradients() { return true; }
      std::optional<::bagua::BucketView> getBucket();
      ::llvm::LogicalResult verifyOnCluster(::bagua::ClusterOp &cluster);
      std::optional<::bagua::InstructionFields> getInstruction();
    }];

def Bagua_ConcatOp : Bagua_Rearrange<"concat",
    (ins Variadic<Bagua_Tensor>:$inputs, OptionalAttr<Bagua_LayoutAttr>:$striped), [], Bagua_Bucket> {
  let summary = "tensors, flattened, one after the other: a bucket";
  let description = [{
    With `striped` each operand is padded to a multiple of the layout's parts and
    part `r` of the result is the parts `r` of the operands, so that a rank's part
    of the bucket is its parts of the tensors. One operand: a reshape.

    ```
    %b = bagua.concat %g, %w : tensor<4096xf32>, tensor<4096xf32> -> tensor<8192xf32>
    ```
  }];
  let results = (outs Bagua_Tensor:$output);
  let builders = [OpBuilder<(ins "::mlir::Type":$output, "::mlir::ValueRange":$inputs,
                                 CArg<"::bagua::LayoutAttr", "nullptr">:$striped), [{
    build($_builder, $_state, output, inputs, striped, /*stream=*/nullptr, /*places=*/nullptr);
  }]>];
  let assemblyFormat = [{
    $inputs (`striped` custom<Layout>($striped)^)? (`on` custom<Stream>($stream)^)? (`at` custom<Places>($places)^)?
    attr-dict `:` type($inputs) `->` type($output)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def Bagua_SplitOp : Bagua_Rearrange<"split",
    (ins Bagua_Tensor:$input, OptionalAttr<Bagua_LayoutAttr>:$striped), [], Bagua_Bucket> {
  let summary = "a flattened tensor cut into tensors: the inverse of concat";
  let description = [{
    ```
    %q0, %q1 = bagua.split %g : tensor<4096xf32> -> tensor<1024xf32>, tensor<3072xf32>
    ```
  }];
  let results = (outs Variadic<Bagua_Tensor>:$outputs);
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$outputs, "::mlir::Value":$input,
                                 CArg<"::bagua::LayoutAttr", "nullptr">:$striped), [{
    build($_builder, $_state, outputs, input, striped, /*stream=*/nullptr, /*places=*/nullptr);
  }]>];
  let assemblyFormat = [{
    $input (`striped` custom<Layout>($striped)^)? (`on` custom<Stream>($stream)^)? (`at` custom<Places>($places)^)?
    attr-dict `:` type($input) `->` type($outputs)
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Bagua_SliceOp : Bagua_Rearrange<"slice", (ins Bagua_Tensor:$input), [],
                                    "bool isElementwise() { return true; }\n"> {
  let summary = "keeps what the result's layout gives this rank; no communication";
  let description = [{
    ```
    %o = bagua.slice %w : tensor<4096xf32> -> tensor<4096xf32, #bagua.layout<shard [node, gpu]>>
    ```
  }];
  let results = (outs Bagua_Tensor:$output);
  let builders = [OpBuilder<(ins "::mlir::Type":$output, "::mlir::Value":$input), [{
    build($_builder, $_state, output, input, /*stream=*/nullptr, /*places=*/nullptr);
  }]>];
  let assemblyFormat = [{
    $input (`on` custom<Stream>($stream)^)? (`at` custom<Places>($places)^)? attr-dict `:` type($input) `->` type($output)
  }];
  let hasVerifier = 1;
}

def Bagua_AfterOp : Bagua_Rearrange<"after",
    (ins Bagua_Tensor:$input, Variadic<Bagua_Value>:$dependencies), [AllTypesMatch<["input", "output"]>], [{
      std::optional<::bagua::BucketView> getBucket();
      unsigned getReadCount() { return 1; }
      bool isFree() { return true; }
    }]> {
  let summary = "the operand, available when other values are too";
  let description = [{
    Written by placement where reuse of memory needs an order that values do not
    give. Scheduled level only.

    ```
    %f = bagua.after %g [%x] : tensor<4096xf32> [tensor<32x512xf32>]
    ```
  }];
  let results = (outs Bagua_Tensor:$output);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::ValueRange":$dependencies, "::mlir::StringAttr":$stream), [{
    build($_builder, $_state, input.getType(), input, dependencies, stream, /*places=*/nullptr);
  }]>];
  let assemblyFormat = [{
    $input ` ` `[` ($dependencies^)? `]` (`on` custom<Stream>($stream)^)? (`at` custom<Places>($places)^)?
    attr-dict `:` type($input) (` ` `[` type($dependencies)^ `]`)?
  }];
  let hasFolder = 1;
}

def Bagua_CastOp : Bagua_Rearrange<"cast", (ins Bagua_Tensor:$input), [], [{
      bool carriesGradients() { return true; }
      bool isTransit() { return true; }
      bool isElementwise() { return true; }
      bool isArithmetic() { return true; }
    }]> {
  let summary = "another element type, rounded to nearest even";
  let description = [{
    float16 and bfloat16 on the wire are casts: the sum stays an all_reduce.

    ```
    %h = bagua.cast %g : tensor<4096xf32> -> tensor<4096xbf16>
    ```
  }];
  let results = (outs Bagua_Tensor:$output);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$element), [{
    auto type = ::llvm::cast<::mlir::RankedTensorType>(input.getType());
    build($_builder, $_state, ::mlir::RankedTensorType::get(type.getShape(), element, type.getEncoding()), input,
          /*stream=*/nullptr, /*places=*/nullptr);
  }]>];
  let assemblyFormat = [{
    $input (`on` custom<Stream>($stream)^)? (`at` custom<Places>($places)^)? attr-dict `:` type($input) `->` type($output)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // BAGUA_COMPUTEOPS_TD
