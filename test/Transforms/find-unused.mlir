// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-find-unused))' %s | FileCheck %s
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-find-unused,bagua-relax),bagua-verify-graph)' %s | FileCheck %s --check-prefix=RELAXED
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-find-unused{params=expert.*},bagua-accumulate{micro-batches=2},bagua-relax),bagua-verify-graph)' %s | FileCheck %s --check-prefix=SOME
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-find-unused))' %s --bagua-report=%t.json -o /dev/null
// RUN: FileCheck %s --check-prefix=REPORT < %t.json
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-find-unused,bagua-find-unused))' %s 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-find-unused{params=gate}))' %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-find-unused{params=expert(}))' %s 2>&1 | FileCheck %s --check-prefix=PATTERN
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-relax,bagua-find-unused))' %s 2>&1 | FileCheck %s --check-prefix=LATE
// RUN: sed 's/bagua.compute update "lamb"(%w3, %g3) : (!t, !t) -> (!t)/bagua.linear [1.0, -0.1] (%w3, %g3) : !t/' %s > %t.mlir
// RUN: not bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-find-unused))' %t.mlir 2>&1 | FileCheck %s --check-prefix=LINEAR

// Params that a rank may not have used.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                         #bagua.axis<"tp", size = 2, latency_ns = 0, bytes_per_s = 1>]

// NONE: error: expected a param with a gradient whose name matches 'gate', found none
// PATTERN: error: expected a regular expression, found 'expert(': parentheses not balanced
// TWICE: error: makes the gradient of 'w', which is optional already
// REPORT-DAG: "optional":{{\[\[}}"w","expert.1","expert.2"]],"pass":"bagua-find-unused"
// REPORT-DAG: "optional":{{\[\[}}"w","z"],["expert"]],"pass"
// LATE: error: expected a step before bagua-relax, found one with a contract
// LINEAR: error: expected sgd, adam, lamb, lars{{.*}} or compute to update 'expert.2', which may be unused, found bagua.linear

// Who used what is known when backward begins, and reduced before the gradients are made. Updates become the program's
// and see it: what nobody used they leave alone. A param that has no gradient stays as it is.
// CHECK-LABEL: bagua.step @train
// CHECK: bagua.compute forward "l"
// CHECK-NEXT: %[[U:.*]] = bagua.compute backward "find unused"({{.*}}) bytes 3 : {{.*}} -> (tensor<3xi8> as "used.1")
// CHECK-NEXT: %[[R:.*]] = bagua.all_reduce max %[[U]] over [node] : tensor<3xi8>
// CHECK-NEXT: %[[G:.*]]:3 = bagua.compute backward "l"{{.*}} optional grad "w", {{.*}} optional grad "expert.1", {{.*}} optional grad "expert.2")
// CHECK-NEXT: %[[N1:.*]]:2 = bagua.compute update "sgd w"(%w, %m, %[[G]]#0, %lr, %[[R]]) bytes 164 :
// CHECK-NEXT: %[[N2:.*]]:3 = bagua.compute update "adam expert.1"(%expert.1, %m2, %v2, %[[G]]#1, %[[R]])
// CHECK-NEXT: %[[N3:.*]] = bagua.compute update "lamb"(%expert.2, %[[G]]#2, %[[R]])
// CHECK-NEXT: bagua.yield %[[N1]]#0, %[[N2]]#0, %[[N3]], %used,
//
// RELAXED: bagua.contract = [#bagua.relation<"used.1" = max "used.1" over [node]>, #bagua.relation<"w.grad" = mean "w.grad" over [node]>
//
// SOME: tensor<2xi8> as "used.1"
// SOME: tensor<8xf32> grad "w", tensor<8xf32> optional grad "expert.1", tensor<8xf32> optional grad "expert.2")
// SOME: bagua.sgd (%w, %m)
bagua.step @train on @pod data [node] (batch %x "x" : !t, input %lr "lr" : tensor<f32>, param %w "w" : !t, param %w2 "expert.1" : !t, param %w3 "expert.2" : !t,
    param %w4 "used" : !t, optimizer %m "m" : !t, optimizer %m2 "m2" : !t, optimizer %v2 "v2" : !t) {
  %a = bagua.compute forward "l"(%x, %w, %w2, %w3) : (!t, !t, !t, !t) -> (!t)
  %g, %g2, %g3 = bagua.compute backward "l"(%a, %x) : (!t, !t) -> (!t grad "w", !t grad "expert.1", !t grad "expert.2")
  %n, %o = bagua.sgd (%w, %m) momentum 0.9 grad %g lr %lr : !t, tensor<f32>
  %n2, %o2, %u2 = bagua.adam (%w2, %m2, %v2) grad %g2 lr 0.1 : !t
  %n3 = bagua.compute update "lamb"(%w3, %g3) : (!t, !t) -> (!t)
  bagua.yield %n, %n2, %n3, %w4, %o, %o2, %u2 : !t, !t, !t, !t, !t, !t, !t
}

// Who shares a param shares its flag: a param that varies over an axis has one for each rank there. Moments that have an
// update of their own see the flags, a fused update once; so do masters in another type, whose gradient is widened first.
// CHECK-LABEL: bagua.step @shared
// CHECK: %[[U:.*]]:2 = bagua.compute backward "find unused"({{.*}}) bytes 3 : {{.*}} -> (tensor<2xi8> as "used", tensor<1xi8> as "used.1")
// CHECK-NEXT: %[[ALL:.*]] = bagua.all_reduce max %[[U]]#0 over [node, tp]
// CHECK-NEXT: %[[PART:.*]] = bagua.all_reduce max %[[U]]#1 over [node]
// CHECK: bagua.compute update "moment"({{.*}}, %[[ALL]]) :
// CHECK: bagua.compute update "apply"({{.*}}, %[[ALL]]) :
// CHECK: bagua.compute update "sgd expert"({{.*}}, %[[PART]])
// CHECK: %[[M:.*]] = bagua.compute update "sgd master"({{.*}}, %[[ALL]])
// CHECK: bagua.cast %[[M]]
bagua.step @shared on @pod data [node, tp] (batch %x "x" : !t, param %w "w" : !t, param %e "expert" varies [tp] : !t, param %z "z" : tensor<8xbf16>,
    optimizer %m "m" : !t, optimizer %master "master" : !t) {
  %a = bagua.compute forward "l"(%x, %w, %e) : (!t, !t, !t) -> (!t)
  %g, %ge, %gz = bagua.compute backward "l"(%a, %x) : (!t, !t) -> (!t grad "w", !t grad "expert", tensor<8xbf16> grad "z")
  %n = bagua.compute update "moment"(%m, %g) : (!t, !t) -> (!t)
  %nw = bagua.compute update "apply"(%w, %n) : (!t, !t) -> (!t)
  %ne = bagua.sgd (%e) grad %ge lr 0.1 : !t
  %fz = bagua.cast %gz : tensor<8xbf16> -> !t
  %nm = bagua.sgd (%master) grad %fz lr 0.1 : !t
  %nz = bagua.cast %nm : !t -> tensor<8xbf16>
  bagua.yield %nw, %ne, %nz, %n, %nm : !t, !t, tensor<8xbf16>, !t, !t
}
