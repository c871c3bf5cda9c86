// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy{form=rail}),bagua-verify-graph)' %s | FileCheck %s --check-prefixes=CHECK,RAIL
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy{form=leader}),bagua-verify-graph)' %s | FileCheck %s --check-prefixes=CHECK,LEADER
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy{form=multilevel}),bagua-verify-graph)' %s | FileCheck %s --check-prefixes=CHECK,MULTI
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy{form=flat}),bagua-verify-graph)' %s | FileCheck %s --check-prefixes=CHECK,FLAT
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy),bagua-verify-graph)' %s | FileCheck %s --check-prefixes=CHECK,CHEAPEST

// How an all_reduce over three levels is made, form by form; where an inner level may have one axis or two, the cheaper
// has. Of all forms, one round of direct messages is the cheapest for a small gradient.
!t = tensor<1048576xf32>
!s = tensor<16xf32>
bagua.cluster @row axes [#bagua.axis<"rack", size = 2, latency_ns = 4000, bytes_per_s = 10000000000>,
                         #bagua.axis<"node", size = 2, latency_ns = 2500, bytes_per_s = 10000000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 300, bytes_per_s = 20000000000>]

// CHECK-LABEL: bagua.step @train
// RAIL: %[[S:.*]] = bagua.reduce_scatter mean %{{.*}} over [gpu]
// RAIL-NEXT: %[[T:.*]] = bagua.all_reduce mean %[[S]] over [rack, node] : tensor<1048576xf32, #bagua.layout<shard [gpu]>>
// RAIL-NEXT: bagua.all_gather %[[T]] over [gpu]
// LEADER: %[[L:.*]] = bagua.reduce mean %{{.*}} over [gpu]
// LEADER-NEXT: %[[M:.*]] = bagua.all_reduce mean %[[L]] over [rack, node] : tensor<1048576xf32, #bagua.layout<root [gpu]>>
// LEADER-NEXT: bagua.broadcast %[[M]] over [gpu]
// MULTI: bagua.reduce_scatter mean %{{.*}} over [gpu]
// MULTI-NEXT: bagua.reduce_scatter mean %{{.*}} over [node]
// MULTI-NEXT: bagua.reduce_scatter mean %{{.*}} over [rack]
// MULTI-NEXT: bagua.all_gather %{{.*}} over [rack]
// MULTI-NEXT: bagua.all_gather %{{.*}} over [node]
// MULTI-NEXT: bagua.all_gather %{{.*}} over [gpu]
// FLAT: bagua.all_reduce mean %{{.*}} over [rack, node, gpu] : tensor<1048576xf32>
// CHEAPEST: bagua.all_reduce mean %{{.*}} over [rack, node, gpu] : tensor<16xf32>
bagua.step @train on @row data [rack, node, gpu] (batch %x "x" : !t, param %w "w" : !t, param %b "b" : !s) {
  %gw, %gb = bagua.compute backward "l"(%x, %w, %b) : (!t, !t, !s) -> (!t grad "w", !s grad "b")
  %rw = bagua.all_reduce mean %gw over [rack, node, gpu] : !t
  %rb = bagua.all_reduce mean %gb over [rack, node, gpu] : !s
  %nw = bagua.sgd (%w) grad %rw lr 0.1 : !t
  %nb = bagua.sgd (%b) grad %rb lr 0.1 : !s
  bagua.yield %nw, %nb : !t, !s
}

// What must not change: one axis, a part of a tensor, a request for a codec.
// CHECK-LABEL: bagua.step @others
// CHECK: bagua.all_reduce mean %{{.*}} over [gpu] : tensor<16xf32>
// CHECK: bagua.reduce_scatter mean %{{.*}} over [gpu]
// CHECK-NEXT: bagua.all_reduce mean %{{.*}} over [rack, node] : tensor<16xf32, #bagua.layout<shard [gpu]>>
// CHECK: bagua.all_reduce mean %{{.*}} over [rack, node, gpu] codec(#bagua.signsgd)
bagua.step @others on @row data [rack, node, gpu] (batch %x "x" : !s) {
  %a, %b, %c = bagua.compute backward "l"(%x) : (!s) -> (!s, !s, !s)
  %r = bagua.all_reduce mean %a over [gpu] : !s
  %p = bagua.reduce_scatter mean %b over [gpu] : !s -> tensor<16xf32, #bagua.layout<shard [gpu]>>
  %q = bagua.all_reduce mean %p over [rack, node] : tensor<16xf32, #bagua.layout<shard [gpu]>>
  %s = bagua.all_gather %q over [gpu] : tensor<16xf32, #bagua.layout<shard [gpu]>> -> !s
  %t = bagua.all_reduce mean %c over [rack, node, gpu] codec (#bagua.signsgd) : !s
  bagua.compute forward "print"(%r, %s, %t) : (!s, !s, !s) -> ()
}

// A form on the op itself goes before the option; servers must be there.
// RUN: sed 's/kind_of_form/halves/' %S/Inputs/form.mlir | bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy{form=rail}),bagua-verify-graph)' | FileCheck %s --check-prefix=HALVES
// RUN: sed 's/kind_of_form/servers/' %S/Inputs/form.mlir | not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy))' 2>&1 | FileCheck %s --check-prefix=SERVERS
// RUN: sed 's/kind_of_form/rail-servers/; s#// ranks_only#servers_on [node]#' %S/Inputs/form.mlir | bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy),bagua-verify-graph)' | FileCheck %s --check-prefix=BYTEPS
// RUN: sed 's/kind_of_form/square/' %S/Inputs/form.mlir | not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy))' 2>&1 | FileCheck %s --check-prefix=SQUARE
// HALVES: bagua.reduce_scatter mean %{{.*}} over [node, gpu]
// HALVES-NEXT: bagua.all_gather %{{.*}} over [node, gpu]
// SERVERS: error: 'bagua.all_reduce' op expected a cluster with servers, found none in 'pod'
// BYTEPS: bagua.reduce_scatter mean %{{.*}} over [gpu]
// BYTEPS-NEXT: bagua.push mean %{{.*}} over [node]
// BYTEPS-NEXT: bagua.pull %{{.*}} over [node]
// BYTEPS-NEXT: bagua.all_gather %{{.*}} over [gpu]
// SQUARE: error: 'bagua.all_reduce' op expected a form in 'bagua.form', found "square"
