// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-place,bagua-verify-schedule))' %s | FileCheck %s
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-place{max-bytes=64}))' %s 2>&1 | FileCheck %s --check-prefix=LIMIT
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-place{max-bytes=192}))' %s -o /dev/null

// What the runtime touches gets a place: the program's tensor, or bytes of an arena.
// All results are proved by bagua-verify-schedule. place-errors.mlir has what is refused.
!t = tensor<8xf32>
!u = tensor<3xf32>
!b = tensor<11xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                         #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>]

// A gradient that travels alone is reduced in the program's own tensor. What the
// runtime never touches is the program's.
// CHECK-LABEL: bagua.step @alone
// CHECK-NEXT: bagua.compute backward {{.*}} at [program, "w.grad"]
// CHECK-NEXT: bagua.all_reduce {{.*}} at ["w.grad"]
// CHECK-NEXT: bagua.compute update {{.*}} at [program]
bagua.step @alone on @pod data [node] streams [compute, comm] (batch %x "x" : !t, param %w "w" : !t) {
  %d, %g = bagua.compute backward "l"(%x) on compute : (!t) -> (!t, !t grad "w")
  %r = bagua.all_reduce mean %g over [node] on comm : !t
  %n = bagua.compute update "sgd w"(%w, %r) on compute : (!t, !t) -> (!t)
  bagua.yield %n : !t
}

// The tensors of a bucket lie side by side in an arena, where the program writes and
// reads them. (An optional one too: the runtime puts zeros there.) The next bucket
// begins at a multiple of 64 bytes. The sum of both is what max-bytes limits.
// LIMIT: error: expected at most 64 bytes of runtime memory, found 128, 64 too many
// CHECK-LABEL: bagua.step @buckets
// CHECK-NEXT: bagua.compute backward {{.*}} at [buckets:0, buckets:32, buckets:64, buckets:76]
// CHECK-NEXT: bagua.concat {{.*}} at [buckets:0]
// CHECK-NEXT: bagua.all_reduce {{.*}} at [buckets:0]
// CHECK-NEXT: bagua.split {{.*}} at [buckets:0, buckets:32]
// CHECK-NEXT: bagua.concat {{.*}} at [buckets:64]
// CHECK-NEXT: bagua.all_reduce {{.*}} at [buckets:64]
// CHECK-NEXT: bagua.split {{.*}} at [buckets:64, buckets:76]
bagua.step @buckets on @pod data [node] streams [compute, comm] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !u, param %w3 "w3" : !u, param %w4 "w4" : !u) {
  %g1, %g2, %g3, %g4 = bagua.compute backward "l"(%x) on compute : (!t) -> (!t grad "w1", !u optional grad "w2", !u grad "w3", !u grad "w4")
  %b = bagua.concat %g1, %g2 on comm : !t, !u -> !b
  %c = bagua.all_reduce mean %b over [node] on comm : !b
  %r1, %r2 = bagua.split %c on comm : !b -> !t, !u
  %b2 = bagua.concat %g3, %g4 on comm : !u, !u -> tensor<6xf32>
  %c2 = bagua.all_reduce mean %b2 over [node] on comm : tensor<6xf32>
  %r3, %r4 = bagua.split %c2 on comm : tensor<6xf32> -> !u, !u
  %n1, %n2, %n3, %n4 = bagua.compute update "sgd"(%w1, %w2, %w3, %w4, %r1, %r2, %r3, %r4) on compute : (!t, !u, !u, !u, !t, !u, !u, !u) -> (!t, !u, !u, !u)
  bagua.yield %n1, %n2, %n3, %n4 : !t, !u, !u, !u
}

// A bucket of one tensor, reshaped, is that tensor.
// CHECK-LABEL: bagua.step @reshaped
// CHECK-NEXT: bagua.compute backward {{.*}} at ["w.grad"]
// CHECK-NEXT: bagua.concat {{.*}} at ["w.grad"]
// CHECK-NEXT: bagua.all_reduce {{.*}} at ["w.grad"]
// CHECK-NEXT: bagua.split {{.*}} at ["w.grad"]
bagua.step @reshaped on @pod data [node] streams [compute, comm] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x) on compute : (!t) -> (!t grad "w")
  %b = bagua.concat %g on comm : !t -> tensor<2x4xf32>
  %c = bagua.all_reduce mean %b over [node] on comm : tensor<2x4xf32>
  %r = bagua.split %c on comm : tensor<2x4xf32> -> !t
  %n = bagua.compute update "sgd"(%w, %r) on compute : (!t, !t) -> (!t)
  bagua.yield %n : !t
}

// A gradient that compute still reads afterwards is not reduced in place: the mean is
// a tensor of its own, with a name.
// CHECK-LABEL: bagua.step @used_later
// CHECK-NEXT: bagua.compute backward {{.*}} at ["w.grad"]
// CHECK-NEXT: bagua.all_reduce {{.*}} at ["all_reduce"] : {{.*}} as "all_reduce"
bagua.step @used_later on @pod data [node] streams [compute, comm] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x) on compute : (!t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] on comm : !t
  bagua.compute update "noise scale"(%g) on compute : (!t) -> ()
  %n = bagua.compute update "sgd w"(%w, %r) on compute : (!t, !t) -> (!t)
  bagua.yield %n : !t
}

// A tensor that lies in one bucket is copied into a second one: the first concat costs
// nothing, the second has to move its bytes, before the first is reduced in place.
// CHECK-LABEL: bagua.step @two_buckets
// CHECK-NEXT: bagua.compute backward {{.*}} at [buckets:0, buckets:32]
// CHECK-NEXT: bagua.concat {{.*}} at [buckets:0]
// CHECK-NEXT: bagua.concat {{.*}} at ["all_reduce"]
// CHECK-NEXT: bagua.all_reduce mean {{.*}} at [buckets:0]
// CHECK-NEXT: bagua.split {{.*}} at [buckets:0, buckets:32]
// CHECK-NEXT: bagua.all_reduce max {{.*}} at ["all_reduce"] : {{.*}} as "all_reduce"
bagua.step @two_buckets on @pod data [node] streams [compute, comm] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !u) {
  %g1, %g2 = bagua.compute backward "l"(%x) on compute : (!t) -> (!t grad "w1", !u grad "w2")
  %b = bagua.concat %g1, %g2 on comm : !t, !u -> !b
  %a = bagua.concat %g2, %g1 on comm : !u, !t -> !b
  %c = bagua.all_reduce mean %b over [node] on comm : !b
  %r1, %r2 = bagua.split %c on comm : !b -> !t, !u
  %m = bagua.all_reduce max %a over [node] on comm : !b
  bagua.compute update "overflow"(%m) on compute : (!b) -> ()
  %n1, %n2 = bagua.compute update "sgd"(%w1, %w2, %r1, %r2) on compute : (!t, !u, !t, !u) -> (!t, !u)
  bagua.yield %n1, %n2 : !t, !u
}

// Under bsp the first gradient is used as it is, later: `after` moves nothing.
// CHECK-LABEL: bagua.step @bsp
// CHECK: bagua.compute backward "l1"{{.*}} at ["w1.grad"]
// CHECK: bagua.compute backward "l2"{{.*}} at ["w2.grad"]
// CHECK: bagua.after {{.*}} at ["w1.grad"]
// CHECK: bagua.all_reduce {{.*}} at ["w1.grad"]
// CHECK: bagua.all_reduce {{.*}} at ["w2.grad"]
bagua.step @bsp on @pod data [node] streams [compute, comm] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t) {
  %g1 = bagua.compute backward "l1"(%x) on compute : (!t) -> (!t grad "w1")
  %g2 = bagua.compute backward "l2"(%x) on compute : (!t) -> (!t grad "w2")
  %f = bagua.after %g1 [%g2] on comm : !t [!t]
  %r1 = bagua.all_reduce mean %f over [node] on comm : !t
  %r2 = bagua.all_reduce mean %g2 over [node] on comm : !t
  %n1, %n2 = bagua.compute update "sgd"(%w1, %w2, %r1, %r2) on compute : (!t, !t, !t, !t) -> (!t, !t)
  bagua.yield %n1, %n2 : !t, !t
}

// Activations: operand and result are tensors of their own, which get names.
// CHECK-LABEL: bagua.step @activations
// CHECK-NEXT: bagua.compute forward "gate"{{.*}} at ["gate.0"] : {{.*}} as "gate.0")
// CHECK-NEXT: bagua.all_to_all {{.*}} at ["all_to_all"] : {{.*}} as "all_to_all"
// CHECK-NEXT: bagua.compute forward "expert"{{.*}} at [program]
bagua.step @activations on @pod data [node] streams [compute, comm, activation] (batch %x "x" : !t) {
  %a = bagua.compute forward "gate"(%x) on compute : (!t) -> (!t)
  %i = bagua.all_to_all %a over [tp] split 0 concat 0 on activation : !t -> !t
  %e = bagua.compute forward "expert"(%i) on compute : (!t) -> (!t)
}

// A result with a name has memory of its own, in which the program finds it.
// CHECK-LABEL: bagua.step @named
// CHECK: bagua.all_reduce {{.*}} at ["mean loss"] : tensor<f32> as "mean loss"
bagua.step @named on @pod data [node] streams [compute, comm] (batch %x "x" : !t) {
  %l = bagua.compute forward "loss"(%x) on compute : (!t) -> (tensor<f32>)
  %m = bagua.all_reduce mean %l over [node] on comm : tensor<f32> as "mean loss"
  bagua.compute update "log"(%m) on compute : (tensor<f32>) -> ()
}

// State that the runtime reads stays where it is: averaged weights in place.
// CHECK-LABEL: bagua.step @average on @pod data [node] streams [comm] (param %w "w" varies [node] at "w" : tensor<8xf32>)
// CHECK-NEXT: bagua.all_reduce {{.*}} at ["w"]
bagua.step @average on @pod data [node] streams [comm] (param %w "w" varies [node] : !t) {
  %n = bagua.all_reduce mean %w over [node] on comm : !t
  bagua.yield %n : !t
}

// A step without communication has nothing to place.
// CHECK-LABEL: bagua.step @evaluate on @pod data [node] streams [compute, comm] (batch %x "x" : tensor<8xf32>, param %w "w" : tensor<8xf32>)
// CHECK-NEXT: bagua.compute {{.*}} at [program]
bagua.step @evaluate on @pod data [node] streams [compute, comm] (batch %x "x" : !t, param %w "w" : !t) {
  %l = bagua.compute forward "l"(%x, %w) on compute : (!t, !t) -> (!t as "loss")
  bagua.yield %w : !t
}
