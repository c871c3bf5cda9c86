//===- BaguaUpdateOps.td - Structured arithmetic -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic that the runtime can run itself, on whole tensors, on shards or on
// servers: optimizer updates, linear combinations, and PowerSGD's products.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UPDATEOPS_TD
#define BAGUA_UPDATEOPS_TD

include "bagua/Dialect/Bagua/BaguaOpBase.td"

class Bagua_Arithmetic<string mnemonic, dag args, list<Trait> traits = [], code declarations = "",
                       code rules = Bagua_OwnRules>
    : Bagua_InStep<mnemonic, args, traits # [Pure], declarations, rules>;

/// Element `i` of the one result is a function of the operands' elements `i`
/// and of constants.
class Bagua_ElementwiseArithmetic<string mnemonic, dag args, list<Trait> traits = [], code declarations = "",
                                  code rules = Bagua_ElementwiseRules>
    : Bagua_Arithmetic<mnemonic, args, traits, [{
        bool isElementwise() { return true; }
        bool isArithmetic() { return true; }
        std::optional<unsigned> getInPlaceOperand(unsigned) { return 0; }
      }] # declarations, rules>;

/// An optimizer's: the states first, one a result, then the gradient.
class Bagua_Update<string mnemonic, dag args, list<Trait> traits = [], code declarations = "">
    : Bagua_Arithmetic<mnemonic, args, traits, [{
        bool isElementwise() { return true; }
        bool isArithmetic() { return true; }
        std::optional<unsigned> getInPlaceOperand(unsigned index) { return index; }
        unsigned getStateCount() { return (*this)->getNumResults(); }
        ::llvm::StringRef getHostWork() {
          return ::bagua::workOf(::bagua::rowOf(*getUpdateRule()), getStateCount());
        }
        std::optional<::bagua::InstructionFields> getInstruction();
      }] # declarations>;

def Bagua_LinearOp : Bagua_ElementwiseArithmetic<"linear",
    (ins DenseF32ArrayAttr:$coefficients, Variadic<Bagua_Tensor>:$inputs), [], [{
      std::optional<::bagua::InstructionFields> getInstruction();
    }], Bagua_OwnRules> {
  let summary = "a linear combination of tensors";
  let description = [{
    `((c0*x0) + c1*x1) + ...` in float32, each operation rounded, no contraction.

    ```
    %r = bagua.linear [0.5, 0.5] (%w, %g) : tensor<4096xf32>
    ```
  }];
  let results = (outs Bagua_Tensor:$output);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Bagua_SgdOp : Bagua_Update<"sgd",
    (ins Variadic<Bagua_Tensor>:$states, Bagua_Tensor:$grad, Optional<Bagua_Scalar>:$lr,
         OptionalAttr<F32Attr>:$lr_value, OptionalAttr<F32Attr>:$momentum), [AttrSizedOperandSegments], [{
      std::optional<::bagua::UpdateRule> getUpdateRule() { return ::bagua::UpdateRule::Sgd; }
    }]> {
  let summary = "stochastic gradient descent, with momentum or without";
  let description = [{
    States are `(w)`, or `(w, m)` with `momentum mu`: `m' = mu m + g; w' = w - lr
    m'`. The learning rate is a value or, where the exported step has a literal, an
    attribute.

    ```
    %n = bagua.sgd (%w) grad %g lr %lr : tensor<4096xf32>, tensor<f32>
    %n1, %m1 = bagua.sgd (%w, %m) momentum 0.9 grad %g lr 0.1 : tensor<4096xf32>
    ```
  }];
  let results = (outs Variadic<Bagua_Tensor>:$outputs);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$states, "::mlir::Value":$grad, "::mlir::Value":$lr,
                                 "::mlir::FloatAttr":$lrValue, "::mlir::FloatAttr":$momentum), [{
    build($_builder, $_state, states.getTypes(), states, grad, lr, lrValue, momentum, /*stream=*/nullptr,
          /*places=*/nullptr);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Bagua_AdamOp : Bagua_Update<"adam",
    (ins Variadic<Bagua_Tensor>:$states, Bagua_Tensor:$grad, Optional<Bagua_Scalar>:$lr,
         OptionalAttr<F32Attr>:$lr_value,
         DefaultValuedAttr<F32Attr, "0.9f">:$beta1, DefaultValuedAttr<F32Attr, "0.999f">:$beta2,
         DefaultValuedAttr<F32Attr, "1e-8f">:$eps, DefaultValuedAttr<F32Attr, "0.0f">:$decay,
         DefaultValuedAttr<Bagua_BiasCorrectionAttr, "::bagua::BiasCorrection::Moments">:$bias_correction),
    [AttrSizedOperandSegments], [{
      std::optional<::bagua::UpdateRule> getUpdateRule() { return ::bagua::UpdateRule::Adam; }
    }]> {
  let summary = "Adam, with decoupled weight decay";
  let description = [{
    States `(w, m, v)`: `m' = b1 m + (1 - b1) g; v' = b2 v + (1 - b2) g^2`, with `t`
    the number of this update, from 1:

    | `bias_correction` | `w'` |
    |---|---|
    | `none` | `w - lr m' / (sqrt(v') + eps)` |
    | `moments` | `w - lr (m' / (1 - b1^t)) / (sqrt(v' / (1 - b2^t)) + eps)` (Kingma and Ba, algorithm 1) |
    | `step_size` | `w - lr sqrt(1 - b2^t) / (1 - b1^t) m' / (sqrt(v') + eps)` (the same, end of section 2) |

    and before it `w = w - lr decay w`. Defaults: betas 0.9 and 0.999, eps 1e-08,
    decay 0, `moments`.

    ```
    %n, %m1, %v1 = bagua.adam (%w, %m, %v) grad %g lr %lr : tensor<4096xf32>, tensor<f32>
    %n2, %m2, %v2 = bagua.adam (%w, %m, %v) betas [0.9, 0.98] eps 1.0e-09 decay 0.01 bias_correction step_size grad %g lr 1.0e-04 : tensor<4096xf32>
    ```
  }];
  let results = (outs Variadic<Bagua_Tensor>:$outputs);
  // Without decay.
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$states, "::mlir::Value":$grad, "::mlir::Value":$lr,
                                 "::mlir::FloatAttr":$lrValue, "::mlir::FloatAttr":$beta1, "::mlir::FloatAttr":$beta2,
                                 "::mlir::FloatAttr":$eps, "::bagua::BiasCorrection":$bias), [{
    build($_builder, $_state, states.getTypes(), states, grad, lr, lrValue, beta1, beta2, eps,
          $_builder.getF32FloatAttr(0), ::bagua::BiasCorrectionAttr::get($_builder.getContext(), bias),
          /*stream=*/nullptr, /*places=*/nullptr);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Bagua_AdamApplyOp : Bagua_Update<"adam_apply",
    (ins Bagua_Tensor:$param, Bagua_Tensor:$moment, Bagua_Tensor:$variance, Bagua_Scalar:$lr,
         OptionalAttr<F32Attr>:$beta1, OptionalAttr<F32Attr>:$beta2,
         DefaultValuedAttr<F32Attr, "1e-8f">:$eps,
         DefaultValuedAttr<Bagua_BiasCorrectionAttr, "::bagua::BiasCorrection::None">:$bias_correction),
    [AllTypesMatch<["param", "moment", "variance", "output"]>], [{
      std::optional<::bagua::UpdateRule> getUpdateRule() { return ::bagua::UpdateRule::AdamApply; }
    }]> {
  let summary = "Adam's step with given moments, which it leaves alone";
  let description = [{
    `w - lr*m/(sqrt(v)+eps)`, as 1-bit Adam needs it after its warm-up. A
    `bias_correction` (the table of `adam`, with `m' = m`, `v' = v`) needs the
    betas that the moments were made with. Defaults: eps 1e-08, `none`.

    ```
    %n = bagua.adam_apply %w, %m, %v lr %lr : tensor<4096xf32>, tensor<f32>
    %n2 = bagua.adam_apply %w, %m, %v betas [0.9, 0.98] bias_correction moments lr %lr : tensor<4096xf32>, tensor<f32>
    ```
  }];
  let results = (outs Bagua_Tensor:$output);
  let assemblyFormat = [{
    $param `,` $moment `,` $variance (`betas` ` ` `[` $beta1^ `,` $beta2 `]`)? (`eps` $eps^)? (`bias_correction` custom<BiasCorrection>($bias_correction)^)? `lr` $lr (`on` custom<Stream>($stream)^)?
    (`at` custom<Places>($places)^)? attr-dict `:` type($output) `,` type($lr)
  }];
  let hasVerifier = 1;
}

def Bagua_MatmulOp : Bagua_Arithmetic<"matmul",
    (ins UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs, Bagua_Tensor:$lhs, Bagua_Tensor:$rhs),
    [], Bagua_NotInPlansYet> {
  let summary = "a matrix product (PowerSGD)";
  let description = [{
    ```
    %r = bagua.matmul transpose_lhs %p, %p : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<32x32xf32>
    ```
  }];
  let results = (outs Bagua_Tensor:$output);
  let assemblyFormat = [{
    (`transpose_lhs` $transpose_lhs^)? (`transpose_rhs` $transpose_rhs^)? $lhs `,` $rhs (`on` custom<Stream>($stream)^)?
    (`at` custom<Places>($places)^)? attr-dict `:` type($lhs) `,` type($rhs) `->` type($output)
  }];
  let hasVerifier = 1;
}

def Bagua_OrthonormalizeOp : Bagua_Arithmetic<"orthonormalize", (ins Bagua_Tensor:$input), [SameOperandsAndResultType],
                                              Bagua_NotInPlansYet> {
  let summary = "orthonormal columns by Gram-Schmidt, eps 1e-8 (PowerSGD)";
  let description = [{
    ```
    %r = bagua.orthonormalize %p : tensor<64x32xf32>
    ```
  }];
  let results = (outs Bagua_Tensor:$output);
  let assemblyFormat = [{
    $input (`on` custom<Stream>($stream)^)? (`at` custom<Places>($places)^)? attr-dict `:` type($output)
  }];
  let hasVerifier = 1;
}

#endif // BAGUA_UPDATEOPS_TD
