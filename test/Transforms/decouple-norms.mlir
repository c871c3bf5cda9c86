// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-relax,bagua-bucketize{policy=mg-wfbp},bagua-decouple{update=shard}),bagua-verify-graph)' %s | FileCheck %s

// An update that scales a direction by norms runs on parts as well: the sums of squares of the parts are added first, all of
// a bucket at once. The recorded meaning, of norms of the whole, stays.
!t = tensor<10xf32>
!u = tensor<20xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 4, latency_ns = 25000, bytes_per_s = 12500000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 200000000000>]

// CHECK-LABEL: bagua.step @bucket
// CHECK-SAME: optimizer %m1 "m1" : tensor<10xf32, #[[LAYOUT:.*]]>, optimizer %m2
// CHECK: %[[S:.*]] = bagua.reduce_scatter mean %{{.*}} over [node, gpu]
// CHECK: %[[G:.*]]:2 = bagua.split %[[S]] striped
// CHECK-DAG: %[[P1:.*]] = bagua.slice %w1
// CHECK-DAG: %[[D1:.*]] = bagua.direction (%[[P1]], %m1) by lars [0.9, 0.01, 0.001, 0.0] grad %[[G]]#1
// CHECK-DAG: %[[A1:.*]] = bagua.squared_norm %[[P1]]
// CHECK-DAG: %[[B1:.*]] = bagua.squared_norm %[[D1]]
// CHECK-DAG: %[[P2:.*]] = bagua.slice %w2
// CHECK: %[[C:.*]] = bagua.concat %{{.*}}, %{{.*}}, %[[A1]], %[[B1]] : {{.*}} -> tensor<4xf32>
// CHECK-NEXT: %[[R:.*]] = bagua.all_reduce sum %[[C]] over [node, gpu] : tensor<4xf32>
// CHECK-NEXT: %[[N:.*]]:4 = bagua.split %[[R]]
// CHECK: bagua.update (%[[P1]], %m1) by lars [0.9, 0.01, 0.001, 0.0] grad %[[G]]#1 norms %[[N]]#2, %[[N]]#3 lr 0.1
// CHECK: bagua.all_gather %{{.*}} over [node, gpu]
bagua.step @bucket on @pod data [node, gpu] (batch %x "x" : !u, param %w1 "w1" : !t, param %w2 "w2" : !u, optimizer %m1 "m1" : !t, optimizer %m2 "m2" : !u, optimizer %v2 "v2" : !u) {
  %d, %g2 = bagua.compute backward "l2"(%x, %w2) : (!u, !u) -> (!u, !u grad "w2")
  %g1 = bagua.compute backward "l1"(%d, %x) : (!u, !u) -> (!t grad "w1")
  %d1 = bagua.direction (%w1, %m1) by lars [0.9, 0.01, 0.001, 0.0] grad %g1 : !t
  %a1 = bagua.squared_norm %w1 : !t
  %b1 = bagua.squared_norm %d1 : !t
  %n1, %o1 = bagua.update (%w1, %m1) by lars [0.9, 0.01, 0.001, 0.0] grad %g1 norms %a1, %b1 lr 0.1 : !t
  %d2 = bagua.direction (%w2, %m2, %v2) by lamb [0.9, 0.98, 1.0e-06, 0.01] moments grad %g2 : !u
  %a2 = bagua.squared_norm %w2 : !u
  %b2 = bagua.squared_norm %d2 : !u
  %n2, %o2, %p2 = bagua.update (%w2, %m2, %v2) by lamb [0.9, 0.98, 1.0e-06, 0.01] moments grad %g2 norms %a2, %b2 lr 0.1 : !u
  bagua.yield %n1, %n2, %o1, %o2, %p2 : !t, !u, !t, !u, !u
}

// Norms of another tensor than the direction are the step's own arithmetic, and stay on whole tensors.
// CHECK-LABEL: bagua.step @other
// CHECK-SAME: optimizer %m "m" : tensor<20xf32>
// CHECK: bagua.all_gather
// CHECK: bagua.update (%w, %m)
bagua.step @other on @pod data [node, gpu] (batch %x "x" : !u, param %w "w" : !u, optimizer %m "m" : !u) {
  %g = bagua.compute backward "l"(%x, %w) : (!u, !u) -> (!u grad "w")
  %a = bagua.squared_norm %w : !u
  %b = bagua.squared_norm %g : !u
  %n, %o = bagua.update (%w, %m) by lars [0.9, 0.01, 0.001, 0.0] grad %g norms %a, %b lr 0.1 : !u
  bagua.yield %n, %o : !u, !u
}
