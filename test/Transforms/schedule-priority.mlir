// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-relax,bagua-bucketize{partition-bytes=2000},bagua-schedule{policy=priority updates=runtime},bagua-place,bagua-verify-schedule))' %s | FileCheck %s
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-relax,bagua-bucketize{partition-bytes=2000},bagua-schedule{policy=priority updates=runtime credit-bytes=4000},bagua-place,bagua-verify-schedule))' %s | FileCheck %s --check-prefix=CREDIT
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-relax,bagua-schedule{updates=runtime},bagua-place,bagua-verify-schedule))' %s | FileCheck %s --check-prefix=WFBP
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-schedule{policy=priority credit-bytes=-1}))' %s 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// Communication across the step's end. Two layers, 4,000 bytes of gradients each in parts of 2,000, which take 3,000 ns; the
// runtime updates, so the next step's forward of a layer waits for that layer alone.
!t = tensor<1000xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 4, latency_ns = 0, bytes_per_s = 1000000000>]

// NEGATIVE: error: expected credit-bytes of at least 0, found -1

// The second layer's first part is on its way when the first layer's gradient comes, which the next forward needs first:
// both of its parts overtake the second layer's other part, and its update the other update. A param's next value lies in
// its own tensor; what is whole again takes no time and is not queued behind what starts with it.
// CHECK: streams [compute, comm, update]
// CHECK: %[[B2:.*]]:2 = bagua.compute backward "l2"
// CHECK-NEXT: %[[P2:.*]]:2 = bagua.split %[[B2]]#1 on comm
// CHECK-NEXT: %[[R20:.*]] = bagua.all_reduce mean %[[P2]]#0 over [node] on comm
// CHECK-NEXT: %[[B1:.*]] = bagua.compute backward "l1"
// CHECK-NEXT: %[[P1:.*]]:2 = bagua.split %[[B1]] on comm
// CHECK-NEXT: %[[R10:.*]] = bagua.all_reduce mean %[[P1]]#0 over [node] on comm
// CHECK-NEXT: %[[R11:.*]] = bagua.all_reduce mean %[[P1]]#1 over [node] on comm
// CHECK-NEXT: %[[G1:.*]] = bagua.concat %[[R10]], %[[R11]] on update
// CHECK-NEXT: %[[N1:.*]] = bagua.sgd (%w1) grad %[[G1]] lr {{.*}} on update at ["w1"]
// CHECK-NEXT: %[[R21:.*]] = bagua.all_reduce mean %[[P2]]#1 over [node] on comm
// CHECK-NEXT: %[[G2:.*]] = bagua.concat %[[R20]], %[[R21]] on update
// CHECK-NEXT: %[[N2:.*]] = bagua.sgd (%w2) grad %[[G2]] lr {{.*}} on update at ["w2"]
// CHECK-NEXT: bagua.yield %[[N1]], %[[N2]]

// With credit for two parts, two streams carry them.
// CREDIT: streams [compute, comm, update, comm.1]
// CREDIT: bagua.all_reduce {{.*}} on comm at
// CREDIT: bagua.all_reduce {{.*}} on comm.1 at

// Without priority, updates in the order in which gradients arrive. The second layer's parameter is read by its backward,
// which makes the gradient, so nothing else has to be waited for.
// WFBP: bagua.all_reduce
// WFBP-NEXT: bagua.sgd (%w2)
// WFBP-NEXT: bagua.compute backward "l1"
// WFBP-NEXT: bagua.all_reduce
// WFBP-NEXT: bagua.sgd (%w1)
// WFBP-NOT: bagua.after
// WFBP-LABEL: bagua.step @separate
bagua.step @train on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t) {
  %a1 = bagua.compute forward "l1"(%x, %w1) cost_ns 2000 measured : (!t, !t) -> (!t)
  %a2 = bagua.compute forward "l2"(%a1, %w2) cost_ns 2000 measured : (!t, !t) -> (!t)
  %d, %g2 = bagua.compute backward "l2"(%a2, %w2) cost_ns 3000 measured : (!t, !t) -> (!t, !t grad "w2")
  %g1 = bagua.compute backward "l1"(%d) cost_ns 3000 measured : (!t) -> (!t grad "w1")
  %n1 = bagua.sgd (%w1) grad %g1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %g2 lr 0.1 : !t
  bagua.yield %n1, %n2 : !t, !t
}

// Where the gradient is made before the last read of the parameter that its update overwrites, the update waits: the next
// gradient says that the read is over.
// WFBP: %[[W2:.*]] = bagua.compute backward "wgrad2"
// WFBP-NEXT: %[[R2:.*]] = bagua.all_reduce mean %[[W2]]
// WFBP: bagua.compute backward "dgrad2"
// WFBP-NEXT: %[[W1:.*]] = bagua.compute backward "wgrad1"
// WFBP: %[[F2:.*]] = bagua.after %[[R2]] [%[[W1]]] on update at ["w2.grad"]
// WFBP-NEXT: bagua.sgd (%w2) grad %[[F2]]
bagua.step @separate on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t) {
  %a1 = bagua.compute forward "l1"(%x, %w1) cost_ns 2000 measured : (!t, !t) -> (!t)
  %a2 = bagua.compute forward "l2"(%a1, %w2) cost_ns 2000 measured : (!t, !t) -> (!t)
  %g2 = bagua.compute backward "wgrad2"(%a2) cost_ns 3000 measured : (!t) -> (!t grad "w2")
  %d = bagua.compute backward "dgrad2"(%a2, %w2) cost_ns 3000 measured : (!t, !t) -> (!t)
  %g1 = bagua.compute backward "wgrad1"(%d) cost_ns 3000 measured : (!t) -> (!t grad "w1")
  %n1 = bagua.sgd (%w1) grad %g1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %g2 lr 0.1 : !t
  bagua.yield %n1, %n2 : !t, !t
}
