// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy{form=flat servers=spread}),bagua-verify-graph)' %s | FileCheck %s --check-prefixes=CHECK,SPREAD
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy{form=flat servers=balanced}),bagua-verify-graph)' %s | FileCheck %s --check-prefixes=CHECK,BALANCED
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy{form=flat}),bagua-verify-graph)' %s | FileCheck %s --check-prefixes=CHECK,NONE
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy{form=flat servers=spread},bagua-schedule{policy=bsp},bagua-place,bagua-verify-schedule))' %s | FileCheck %s --check-prefix=PLACED
// RUN: sed 's/ servers 2//' %s > %t.mlir
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy{form=flat servers=spread}))' %t.mlir 2>&1 | FileCheck %s --check-prefix=WITHOUT

// Gradients by way of servers: spread over all of them, or each whole on one.
!s = tensor<10xf32>
!t = tensor<20xf32>
bagua.cluster @farm axes [#bagua.axis<"node", size = 4, latency_ns = 25000, bytes_per_s = 12500000000>] servers 2

// WITHOUT: error: expected a cluster with servers, found none in 'farm'

// CHECK-LABEL: bagua.step @train
// The loss is no gradient.
// CHECK: bagua.all_reduce mean %{{.*}} over [node] : tensor<f32>
// SPREAD: %[[S:.*]] = bagua.push mean %{{.*}} over [node] : tensor<20xf32> -> tensor<20xf32, #bagua.layout<server>>
// SPREAD-NEXT: %[[R:.*]] = bagua.pull %[[S]] over [node] : tensor<20xf32, #bagua.layout<server>> -> tensor<20xf32>
// SPREAD: bagua.sgd (%w3) grad %[[R]]
// The two small ones on one server, the large one on the other; the largest was first.
// BALANCED: bagua.push {{.*}} -> tensor<20xf32, #bagua.layout<server 0>>
// BALANCED: bagua.push {{.*}} -> tensor<10xf32, #bagua.layout<server 1>>
// BALANCED: bagua.push {{.*}} -> tensor<10xf32, #bagua.layout<server 1>>
// NONE-COUNT-3: bagua.all_reduce mean

// Pushes and pulls have streams of their own, so a link is used both ways; after backward, the first push is held back,
// and so is the loss on its own stream. A pulled gradient lies where it was pushed from.
// PLACED-LABEL: bagua.step @train
// PLACED-SAME: streams [compute, comm, push, pull]
// PLACED: bagua.compute backward "l1"
// PLACED: bagua.after %{{.*}} on comm
// PLACED-NEXT: bagua.all_reduce mean %{{.*}} on comm
// PLACED-NEXT: bagua.after %{{.*}} on push at ["w3.grad"]
// PLACED-NEXT: bagua.push mean %{{.*}} on push at [buckets:0]
// PLACED-NEXT: bagua.pull %{{.*}} on pull at ["w3.grad"]
// PLACED-NEXT: bagua.push mean %{{.*}} on push
bagua.step @train on @farm data [node] (batch %x "x" : !t, param %w1 "w1" : !s, param %w2 "w2" : !s, param %w3 "w3" : !t) {
  %loss = bagua.compute forward "loss"(%x, %w1, %w2, %w3) : (!t, !s, !s, !t) -> (tensor<f32>)
  %mean = bagua.all_reduce mean %loss over [node] : tensor<f32>
  %g3 = bagua.compute backward "l3"(%x, %w3) : (!t, !t) -> (!t grad "w3")
  %r3 = bagua.all_reduce mean %g3 over [node] : !t
  %g2 = bagua.compute backward "l2"(%x, %w2) : (!t, !s) -> (!s grad "w2")
  %r2 = bagua.all_reduce mean %g2 over [node] : !s
  %g1 = bagua.compute backward "l1"(%x, %w1) : (!t, !s) -> (!s grad "w1")
  %r1 = bagua.all_reduce mean %g1 over [node] : !s
  bagua.compute forward "print"(%mean) : (tensor<f32>) -> ()
  %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : !s
  %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : !s
  %n3 = bagua.sgd (%w3) grad %r3 lr 0.1 : !t
  bagua.yield %n1, %n2, %n3 : !s, !s, !t
}

// BytePS: the parts that a reduce_scatter in the node left.
// SPREAD-LABEL: bagua.step @parts
// SPREAD: bagua.push mean %{{.*}} over [node] : tensor<20xf32, #{{.*}}> -> tensor<20xf32, #bagua.layout<shard [gpu], server>>
// SPREAD-NEXT: bagua.pull
// SPREAD-NEXT: bagua.all_gather %{{.*}} over [gpu]
bagua.cluster @pod axes [#bagua.axis<"node", size = 4, latency_ns = 25000, bytes_per_s = 12500000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 200000000000>] servers_on [node]
bagua.step @parts on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %s = bagua.reduce_scatter mean %g over [gpu] : !t -> tensor<20xf32, #bagua.layout<shard [gpu]>>
  %a = bagua.all_reduce mean %s over [node] : tensor<20xf32, #bagua.layout<shard [gpu]>>
  %r = bagua.all_gather %a over [gpu] : tensor<20xf32, #bagua.layout<shard [gpu]>> -> !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}
