// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-schedule{policy=wfbp updates=runtime},bagua-place,bagua-verify-schedule))' --verify-diagnostics %s | FileCheck %s

// What the runtime can't own is the program's although updates=runtime: results that no place can hold beside what else is
// needed. The rest of the step stays with the runtime.
!t = tensor<8xf32>
!h = tensor<8xbf16>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]

// A target network takes over the params as they were.
// CHECK-LABEL: bagua.step @target
// CHECK: bagua.sgd (%v)
// CHECK-NEXT: bagua.compute update "sgd w"
bagua.step @target on @pod data [node] (batch %x "x" : !t, param %w "w" : !t, param %v "v" : !t, buffer %t "target" : !t) {
  %g, %h = bagua.compute backward "l"(%x, %w, %t, %v) : (!t, !t, !t, !t) -> (!t grad "w", !t grad "v")
  %r = bagua.all_reduce mean %g over [node] : !t
  %s = bagua.all_reduce mean %h over [node] : !t
  // expected-remark @+1 {{is left to the program: the old value of 'w' becomes 'target'}}
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  %m = bagua.sgd (%v) grad %s lr 0.1 : !t
  bagua.yield %n, %m, %w : !t, !t, !t
}

// Compute reads the new value beside the old one.
// CHECK-LABEL: bagua.step @average
// CHECK: bagua.compute update "sgd w"
bagua.step @average on @pod data [node] (batch %x "x" : !t, param %w "w" : !t, buffer %e "average" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  // expected-remark @+1 {{is left to the program: compute of the same step uses what it makes}}
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  %f = bagua.compute update "average"(%e, %n, %w) : (!t, !t, !t) -> (!t)
  bagua.yield %n, %f : !t, !t
}

// Only the new value, but within the step: for a state, the program waits as the step found it.
// CHECK-LABEL: bagua.step @average_of_new
// CHECK: %[[N:.*]] = bagua.compute update "sgd w"
// CHECK: bagua.compute update "average"(%{{.*}}, %[[N]])
bagua.step @average_of_new on @pod data [node] (batch %x "x" : !t, param %w "w" : !t, buffer %e "average" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  // expected-remark @+1 {{'bagua.sgd' op is left to the program: compute of the same step uses what it makes}}
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  %f = bagua.compute update "average"(%e, %n) : (!t, !t) -> (!t)
  bagua.yield %n, %f : !t, !t
}

// One value as two states, and what leads to it.
// CHECK-LABEL: bagua.step @lookahead
// CHECK: bagua.compute update "sgd w"
// CHECK: bagua.compute update "linear slow"
bagua.step @lookahead on @pod data [node] (batch %x "x" : !t, param %w "w" : !t, optimizer %s "slow" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  // expected-remark @+1 {{is left to the program: compute of the same step uses what it makes}}
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  // expected-remark @+1 {{is left to the program: it makes the next value of 'slow' and of 'w'}}
  %l = bagua.linear [0.5, 0.5] (%s, %n) : !t
  bagua.yield %l, %l : !t, !t
}

// A param that is cast from its master lies where it was; the program waits for it by its name.
// CHECK-LABEL: bagua.step @master
// CHECK-SAME: param %w "w" at "w"
// CHECK: bagua.sgd (%m) {{.*}} on update at ["m"]
// CHECK-NEXT: bagua.cast {{.*}} on update at ["w"]
bagua.step @master on @pod data [node] (batch %x "x" : !t, param %w "w" : !h, optimizer %m "m" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !h) -> (!h grad "w")
  %r = bagua.all_reduce mean %g over [node] : !h
  %f = bagua.cast %r : !h -> !t
  %n = bagua.sgd (%m) grad %f lr 0.1 : !t
  %c = bagua.cast %n : !t -> !h
  bagua.yield %c, %n : !h, !t
}

// With no update behind it, arithmetic that only the program gets has no reason to be the runtime's. An average of what
// an update makes has.
// CHECK-LABEL: bagua.step @statistics
// CHECK-DAG: bagua.linear {{.*}} on update at ["average"]
// CHECK-DAG: bagua.compute update "linear mean"
bagua.step @statistics on @pod data [node] (batch %x "x" : !t, param %w "w" : !t, buffer %e "mean" : !t, buffer %a "average" : !t) {
  %s = bagua.compute forward "statistic"(%x) : (!t) -> (!t as "statistic")
  %r = bagua.all_reduce mean %s over [node] : !t as "sum"
  %f = bagua.linear [0.9, 0.1] (%e, %r) : !t
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %q = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %q lr 0.1 : !t
  %b = bagua.linear [0.99, 0.01] (%a, %n) : !t
  bagua.yield %n, %f, %b : !t, !t, !t
}
