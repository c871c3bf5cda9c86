// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-compression),bagua-verify-graph)' %s | FileCheck %s
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy{form=rail}),bagua-verify-graph)' %s | FileCheck %s --check-prefix=RAIL
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy{form=multilevel}),bagua-verify-graph)' %s | FileCheck %s --check-prefix=RAIL
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy{form=leader}),bagua-verify-graph)' %s | FileCheck %s --check-prefix=LEADER

bagua.cluster @pod
    axes [#bagua.axis<"node", size = 2, latency_ns = 25000, bytes_per_s = 12500000000>,
          #bagua.axis<"gpu", size = 4, latency_ns = 3000, bytes_per_s = 200000000000>,
          #bagua.axis<"one", size = 1, latency_ns = 0, bytes_per_s = 200000000000>]
    device #bagua.device<flop_per_s = 120000000000000, bytes_per_s = 900000000000>

// Encode in parts, exchange, combine, encode, gather, decode; the name stays with what the program gets.
// CHECK-LABEL: bagua.step @train
// CHECK: %[[Q:.*]] = bagua.encode %{{.*}} : (tensor<100xf32>) -> !bagua.encoded<tensor<100xf32>, #bagua.minmax_uint8, parts [node, gpu]>
// CHECK-NEXT: %[[T:.*]] = bagua.all_to_all %[[Q]] over [node, gpu]
// CHECK-SAME: -> !bagua.encoded<tensor<100xf32, #bagua.layout<shard [node, gpu]>>, #bagua.minmax_uint8, terms [node, gpu]>
// CHECK-NEXT: %[[M:.*]] = bagua.decode mean %[[T]]
// CHECK-NEXT: %[[O:.*]] = bagua.encode %[[M]]
// CHECK-NEXT: %[[P:.*]] = bagua.all_gather %[[O]] over [node, gpu]
// CHECK-NEXT: %[[R:.*]] = bagua.decode %[[P]]
// CHECK-NEXT: bagua.sgd (%{{.*}}) grad %[[R]]

// Only what crosses the slow axis is encoded.
// RAIL-LABEL: bagua.step @train
// RAIL: %[[S:.*]] = bagua.reduce_scatter mean %{{.*}} over [gpu] : tensor<100xf32>
// RAIL: bagua.encode %{{.*}} -> !bagua.encoded<tensor<100xf32, #bagua.layout<shard [gpu]>>, #bagua.minmax_uint8, parts [node]>
// RAIL: bagua.all_to_all %{{.*}} over [node]
// RAIL: bagua.decode mean
// RAIL: bagua.all_gather %{{.*}} over [node]
// RAIL: bagua.decode
// RAIL: bagua.all_gather %{{.*}} over [gpu]
// RAIL-SAME: -> tensor<100xf32>

// LEADER-LABEL: bagua.step @train
// LEADER: bagua.reduce mean %{{.*}} over [gpu]
// LEADER: bagua.encode %{{.*}} -> !bagua.encoded<tensor<100xf32, #bagua.layout<root [gpu]>>, #bagua.minmax_uint8, parts [node]>
// LEADER: bagua.broadcast %{{.*}} over [gpu]
bagua.step @train on @pod data [node, gpu] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<100xf32>) {
  %g = bagua.compute backward "l"(%x, %w) : (tensor<8xf32>, tensor<100xf32>) -> (tensor<100xf32> grad "w")
  %r = bagua.all_reduce mean %g over [node, gpu] codec (#bagua.minmax_uint8) : tensor<100xf32>
  %n = bagua.sgd (%w) grad %r lr 0.1 : tensor<100xf32>
  bagua.yield %n : tensor<100xf32>
}

// A rank alone loses nothing; parameters, feedback and codecs without a kernel stay as they are asked for.
// CHECK-LABEL: bagua.step @others
// CHECK: bagua.all_reduce mean %{{.*}} over [one] : tensor<8xf32>
// CHECK: bagua.encode {{.*}}#bagua.minmax_uint8<eps = 1.0e-07>
// CHECK: bagua.all_reduce mean %{{.*}} codec(#bagua.qsgd<levels = 7, block = 64>)
// CHECK: bagua.all_reduce mean %{{.*}} codec(#bagua.onebit) feedback
bagua.step @others on @pod data [node, gpu, one] (batch %x "x" : tensor<8xf32>) {
  %a = bagua.all_reduce mean %x over [one] codec (#bagua.minmax_uint8) : tensor<8xf32>
  %b = bagua.all_reduce mean %x over [gpu] codec (#bagua.minmax_uint8<eps = 1.0e-7>) : tensor<8xf32>
  %c = bagua.all_reduce mean %x over [gpu] codec (#bagua.qsgd<levels = 7, block = 64>) : tensor<8xf32>
  %d = bagua.all_reduce mean %x over [gpu] codec (#bagua.onebit) feedback : tensor<8xf32>
  bagua.yield
}
