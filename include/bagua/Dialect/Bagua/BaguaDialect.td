//===- BaguaDialect.td - The bagua dialect -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect itself. Attributes, types, interfaces and ops each have a file of
// their own beside this one.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_DIALECT_TD
#define BAGUA_DIALECT_TD

include "mlir/IR/OpBase.td"

def Bagua_Dialect : Dialect {
  let name = "bagua";
  let cppNamespace = "::bagua";
  let summary = "The communication of a distributed training step";
  let description = [{
    A `bagua.step` is one iteration of training, as one program that every rank
    runs. Its values are logical tensors; their types say what each rank stores
    (a *layout*), an analysis says over which axes of the cluster ranks agree on
    the numbers. Compute is opaque and run by the training program; everything
    else is run by the runtime.

    The same ops serve two levels. At *graph level* block order is just some
    topological order. At *scheduled level* every op has a `stream` (`on`) and a
    place (`at`) and block order is launch order.

    All quantities are integers whose names say the unit: ns, bytes, bytes/s,
    flop/s.

    The examples of this manual stand inside

    ```
    bagua.cluster @pod
        axes [#bagua.axis<"node", size = 4, latency_ns = 25000, bytes_per_s = 12500000000, sharers = 8>,
              #bagua.axis<"gpu", size = 8, latency_ns = 3000, bytes_per_s = 200000000000>]
        device #bagua.device<flop_per_s = 120000000000000, bytes_per_s = 900000000000, launch_ns = 5000>
        servers 2
    bagua.step @example on @pod data [node, gpu] (
        batch %x "x" : tensor<32x512xf32>, input %lr "lr" : tensor<f32>,
        param %w "w" : tensor<4096xf32>, optimizer %m "m" : tensor<4096xf32>, optimizer %v "v" : tensor<4096xf32>,
        residual %e "e" : tensor<4096xf32>, param %p "p" : tensor<64x32xf32>) {
      %g = bagua.compute backward "g"(%x, %w) : (tensor<32x512xf32>, tensor<4096xf32>) -> (tensor<4096xf32> grad "w")
      // the example
    }
    ```
  }];
  // Its own, for the words of encodings.
  let useDefaultAttributePrinterParser = 0;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser, ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attribute, ::mlir::DialectAsmPrinter &printer) const override;
    void registerAttributes();
    void registerTypes();
  }];
}

#endif // BAGUA_DIALECT_TD
