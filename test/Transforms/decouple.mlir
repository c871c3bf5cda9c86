// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-decouple),bagua-verify-graph)' %s | FileCheck %s --check-prefixes=CHECK,WHOLE
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-decouple{update=shard}),bagua-verify-graph)' %s | FileCheck %s --check-prefixes=CHECK,SHARD
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-decouple{update=shard form=multilevel}),bagua-verify-graph)' %s | FileCheck %s --check-prefix=MULTI
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-decouple{update=shard},bagua-schedule{policy=decoupled updates=runtime},bagua-place,bagua-verify-schedule))' %s | FileCheck %s --check-prefix=PLACED

// The two halves of an all_reduce, and what may lie between them.
!t = tensor<10xf32>
!u = tensor<20xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 4, latency_ns = 25000, bytes_per_s = 12500000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 200000000000>]

// A bucket: 10 and 20 elements in 8 parts of 2 and of 3, so 40 elements, 5 on each rank. Moments are parts from now on.
// CHECK-LABEL: bagua.step @bucket
// WHOLE-SAME: optimizer %m1 "m1" : tensor<10xf32>
// SHARD-SAME: optimizer %m1 "m1" : tensor<10xf32, #[[LAYOUT:.*]]>, optimizer
// WHOLE: %[[S:.*]] = bagua.reduce_scatter mean %{{.*}} over [node, gpu] : tensor<30xf32> -> tensor<30xf32, #{{.*}}>
// WHOLE-NEXT: bagua.all_gather %[[S]] over [node, gpu] : tensor<30xf32, #{{.*}}> -> tensor<30xf32>
// SHARD: %[[B:.*]] = bagua.concat %{{.*}}, %{{.*}} striped <shard [node, gpu]> : tensor<20xf32>, tensor<10xf32> -> tensor<40xf32>
// SHARD-NEXT: %[[S:.*]] = bagua.reduce_scatter mean %[[B]] over [node, gpu]
// SHARD-NEXT: %[[G:.*]]:2 = bagua.split %[[S]] striped
// SHARD: %[[P1:.*]] = bagua.slice %w1
// SHARD-NEXT: bagua.sgd (%[[P1]], %m1) momentum {{.*}} grad %[[G]]#1
// SHARD: %[[C:.*]] = bagua.concat
// SHARD-NEXT: %[[A:.*]] = bagua.all_gather %[[C]] over [node, gpu] : tensor<40xf32, #{{.*}}> -> tensor<40xf32>
// SHARD-NEXT: bagua.split %[[A]] striped
// MULTI-LABEL: bagua.step @bucket
// MULTI: bagua.concat {{.*}} striped <shard [gpu], shard [node]>
// MULTI-NEXT: bagua.reduce_scatter mean %{{.*}} over [gpu]
// MULTI-NEXT: bagua.reduce_scatter mean %{{.*}} over [node]
// MULTI: bagua.slice %w1
// MULTI-NEXT: bagua.slice
// MULTI: bagua.all_gather %{{.*}} over [node]
// MULTI-NEXT: bagua.all_gather %{{.*}} over [gpu]

// The new params lie where the old ones did; nothing of that waits on the stream of the scatters.
// PLACED-LABEL: bagua.step @bucket
// PLACED-SAME: streams [compute, comm, update]
// PLACED: bagua.reduce_scatter {{.*}} on comm
// PLACED-NEXT: bagua.split {{.*}} on update
// PLACED: bagua.slice %w{{[12]}} on update
// PLACED-NEXT: bagua.sgd {{.*}} on update at [buckets:{{[0-9]+}}, "m{{[12]}}"]
// PLACED: bagua.concat {{.*}} on update
// PLACED-NEXT: bagua.all_gather {{.*}} on comm
// PLACED-NEXT: bagua.split {{.*}} on comm at ["w2", "w1"]
bagua.step @bucket on @pod data [node, gpu] (batch %x "x" : !u, param %w1 "w1" : !t, param %w2 "w2" : !u, optimizer %m1 "m1" : !t, optimizer %m2 "m2" : !u) {
  %d, %g2 = bagua.compute backward "l2"(%x, %w2) : (!u, !u) -> (!u, !u grad "w2")
  %g1 = bagua.compute backward "l1"(%d, %x) : (!u, !u) -> (!t grad "w1")
  %b = bagua.concat %g2, %g1 : !u, !t -> tensor<30xf32>
  %c = bagua.all_reduce mean %b over [node, gpu] : tensor<30xf32>
  %r2, %r1 = bagua.split %c : tensor<30xf32> -> !u, !t
  %n1, %o1 = bagua.sgd (%w1, %m1) momentum 0.9 grad %r1 lr 0.1 : !t
  %n2, %o2 = bagua.sgd (%w2, %m2) momentum 0.9 grad %r2 lr 0.1 : !u
  bagua.yield %n1, %n2, %o1, %o2 : !t, !u, !t, !u
}

// The program's own update needs whole gradients, so does one whose moment the program looks at; the loss is no gradient.
// CHECK-LABEL: bagua.step @others
// CHECK-SAME: optimizer %m1 "m1" : tensor<10xf32>
// CHECK: bagua.all_reduce mean %{{.*}} over [node, gpu] : tensor<f32>
// CHECK: bagua.reduce_scatter {{.*}} tensor<20xf32>
// CHECK-NEXT: %[[R2:.*]] = bagua.all_gather
// CHECK: bagua.reduce_scatter {{.*}} tensor<10xf32>
// CHECK-NEXT: %[[R1:.*]] = bagua.all_gather
// CHECK: bagua.sgd (%w1, %m1) momentum {{.*}} grad %[[R1]]
bagua.step @others on @pod data [node, gpu] (batch %x "x" : !u, param %w1 "w1" : !t, param %w2 "w2" : !u, optimizer %m1 "m1" : !t) {
  %l = bagua.compute forward "loss"(%x, %w1) : (!u, !t) -> (tensor<f32>)
  %loss = bagua.all_reduce mean %l over [node, gpu] : tensor<f32>
  %g2 = bagua.compute backward "l2"(%x, %w2) : (!u, !u) -> (!u grad "w2")
  %g1 = bagua.compute backward "l1"(%x) : (!u) -> (!t grad "w1")
  %r2 = bagua.all_reduce mean %g2 over [node, gpu] : !u
  %r1 = bagua.all_reduce mean %g1 over [node, gpu] : !t
  %n1, %o1 = bagua.sgd (%w1, %m1) momentum 0.9 grad %r1 lr 0.1 : !t
  %n2 = bagua.compute update "lamb"(%w2, %r2) : (!u, !u) -> (!u)
  bagua.compute forward "print"(%loss, %o1) : (tensor<f32>, !t) -> ()
  bagua.yield %n1, %n2, %o1 : !t, !u, !t
}

// A target network takes over the old params, which the program alone can keep: it needs whole gradients.
// CHECK-LABEL: bagua.step @target
// CHECK-NOT: bagua.slice
// CHECK: bagua.all_gather
// CHECK-NEXT: bagua.sgd (%w) grad
bagua.step @target on @pod data [node, gpu] (batch %x "x" : tensor<20xf32>, param %w "w" : tensor<20xf32>, buffer %t "target" : tensor<20xf32>) {
  %g = bagua.compute backward "l"(%x, %w, %t) : (tensor<20xf32>, tensor<20xf32>, tensor<20xf32>) -> (tensor<20xf32> grad "w")
  %r = bagua.all_reduce mean %g over [node, gpu] : tensor<20xf32>
  %n = bagua.sgd (%w) grad %r lr 0.1 : tensor<20xf32>
  bagua.yield %n, %w : tensor<20xf32>, tensor<20xf32>
}
