// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-prefetch))' %s | FileCheck %s
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-prefetch))' --bagua-report=%t.json %s -o /dev/null
// RUN: FileCheck %s --check-prefix=REPORT --input-file=%t.json
// RUN: bagua-opt --bagua-strategy=ddp %s -o %t.mlir
// RUN: FileCheck %s --check-prefix=PLANNED --input-file=%t.mlir

// The program's own gathers run ahead of their use, and what follows its scatters behind everything else.
!t = tensor<1000xf32>
!p = tensor<500xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1000000000>]
    device #bagua.device<flop_per_s = 1000000000, bytes_per_s = 1000000000>

// Two layers of 2000 ns each, whose params take 2000 ns to gather: the second gather begins beside the first layer, with the slice that it needs. So does the scatter of the first gradient beside the second, and the pieces are put together at the end.
// CHECK-LABEL: bagua.step @layers
// CHECK-NEXT: %[[S0:.*]] = bagua.compute forward "slice 0"(%w)
// CHECK-NEXT: %[[W0:.*]] = bagua.all_gather %[[S0]]
// CHECK-NEXT: %[[S1:.*]] = bagua.compute forward "slice 1"(%w)
// CHECK-NEXT: %[[W1:.*]] = bagua.all_gather %[[S1]]
// CHECK-NEXT: %[[H:.*]] = bagua.compute forward "layer 0"(%x, %[[W0]])
// CHECK-NEXT: %[[D:.*]] = bagua.compute backward "layer 1"(%[[H]], %[[W1]])
// CHECK-NEXT: %[[P1:.*]] = bagua.reduce_scatter sum %[[D]]
// CHECK-NEXT: %[[E:.*]] = bagua.compute backward "layer 0"(%[[D]], %[[W0]])
// CHECK-NEXT: %[[P0:.*]] = bagua.reduce_scatter sum %[[E]]
// CHECK-NEXT: %[[G1:.*]] = bagua.compute backward "put 1"(%w, %[[P1]])
// CHECK-NEXT: %[[G0:.*]] = bagua.compute backward "put 0"(%[[G1]], %[[P0]])
// CHECK-NEXT: bagua.sgd (%w) grad %[[G0]]
// The update takes 12000 ns.
// REPORT: {"after_ns":22000,"ahead_bytes":8000,"before_ns":26000,"pass":"bagua-prefetch","step":"layers"}
bagua.step @layers on @pod data [node] (batch %x "x" : !t, param %w "w" varies [node] : tensor<2x500xf32>) {
  %s0 = bagua.compute forward "slice 0"(%w) flops 0 bytes 0 : (tensor<2x500xf32>) -> (!p)
  %w0 = bagua.all_gather %s0 over [node] concat 0 : !p -> !t
  %h = bagua.compute forward "layer 0"(%x, %w0) flops 2000 : (!t, !t) -> (!t)
  %s1 = bagua.compute forward "slice 1"(%w) flops 0 bytes 0 : (tensor<2x500xf32>) -> (!p)
  %w1 = bagua.all_gather %s1 over [node] concat 0 : !p -> !t
  %d = bagua.compute backward "layer 1"(%h, %w1) flops 2000 : (!t, !t) -> (!t)
  %p1 = bagua.reduce_scatter sum %d over [node] split 0 : !t -> !p
  %g1 = bagua.compute backward "put 1"(%w, %p1) flops 0 bytes 0 : (tensor<2x500xf32>, !p) -> (tensor<2x500xf32>)
  %e = bagua.compute backward "layer 0"(%d, %w0) flops 2000 : (!t, !t) -> (!t)
  %p0 = bagua.reduce_scatter sum %e over [node] split 0 : !t -> !p
  %g0 = bagua.compute backward "put 0"(%g1, %p0) flops 0 bytes 0 : (tensor<2x500xf32>, !p) -> (tensor<2x500xf32> grad "w")
  %n = bagua.sgd (%w) grad %g0 lr 0.1 : tensor<2x500xf32>
  bagua.yield %n : tensor<2x500xf32>
}

// Before ops become coarse ones: each strategy has the gathers where the pass puts them.
// PLANNED-LABEL: bagua.step @layers
// PLANNED: bagua.all_gather
// PLANNED: bagua.all_gather
// PLANNED: "layer 0"

// A step without communication of its own, one that cannot be faster, and micro-batches stay.
// CHECK-LABEL: bagua.step @plain
// CHECK-NEXT: "a"
// CHECK-NEXT: "b"
bagua.step @plain on @pod data [node] (batch %x "x" : !t) {
  %a = bagua.compute forward "a"(%x) flops 2000 : (!t) -> (!t)
  bagua.compute forward "b"(%x) flops 2000 : (!t) -> ()
}
// CHECK-LABEL: bagua.step @loss
// CHECK-NEXT: "loss"
// CHECK-NEXT: bagua.all_reduce
// CHECK-NEXT: "print"
bagua.step @loss on @pod data [node] (batch %x "x" : !t) {
  %a = bagua.compute forward "loss"(%x) flops 2000 : (!t) -> (!t)
  %b = bagua.all_reduce mean %a over [node] : !t
  bagua.compute forward "print"(%b) : (!t) -> ()
}
// CHECK-LABEL: bagua.step @micro
// CHECK-NEXT: "layer"
// CHECK-NEXT: "slice"
// CHECK-NEXT: bagua.all_gather
bagua.step @micro on @pod data [node] (batch %x "x" : !t, param %w "w" varies [node] : !p) {
  %h = bagua.compute forward "layer"(%x) flops 2000 {bagua.micro_batch = 0} : (!t) -> (!t)
  %s = bagua.compute forward "slice"(%w) {bagua.micro_batch = 0} : (!p) -> (!p)
  %g = bagua.all_gather %s over [node] concat 0 : !p -> !t
  bagua.compute forward "use"(%h, %g) flops 2000 {bagua.micro_batch = 0} : (!t, !t) -> ()
  bagua.yield %w : !p
}
