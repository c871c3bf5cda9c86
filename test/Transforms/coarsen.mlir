// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-coarsen))' %s | FileCheck %s

// Runs of compute become one op; what communication waits for, or brings, ends one.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]

// Neighbours of one phase become one. It takes what the members take from outside
// and makes what is used outside; quantities add up; the costliest gives its name.
// CHECK-LABEL: bagua.step @run
// CHECK-NEXT: %[[C:.*]] = bagua.compute forward "dot"(%x, %y) flops 1500 bytes 160 cost_ns 30 measured : ({{.*}}) -> (tensor<8xf32>)
// CHECK-NEXT: bagua.compute update "print"(%[[C]])
bagua.step @run on @pod data [node] (batch %x "x" : !t, batch %y "y" : !t) {
  %a = bagua.compute forward "add"(%x, %y) flops 500 bytes 64 cost_ns 10 measured : (!t, !t) -> (!t)
  %b = bagua.compute forward "dot"(%a, %x) flops 1000 cost_ns 20 measured : (!t, !t) -> (!t)
  %c = bagua.compute forward "relu"(%b) bytes 96 : (!t) -> (!t)
  bagua.compute update "print"(%c) : (!t) -> ()
}

// A step without gradients, of one op, stays as it is.
// CHECK-LABEL: bagua.step @single
// CHECK-NEXT: bagua.compute forward "l"(%x) : (tensor<8xf32>) -> (tensor<8xf32>)
// CHECK-NEXT: bagua.yield
bagua.step @single on @pod data [node] (batch %x "x" : !t) {
  %a = bagua.compute forward "l"(%x) : (!t) -> (!t)
}

// Communication can start after each gradient: three ops stay three.
// CHECK-LABEL: bagua.step @gradients
// CHECK-NEXT: %{{.*}}:2 = bagua.compute backward "l2"{{.*}} grad "w2")
// CHECK-NEXT: bagua.compute backward "l1"{{.*}} grad "w1")
// CHECK-NEXT: bagua.compute backward "l0"
bagua.step @gradients on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t) {
  %d, %g2 = bagua.compute backward "l2"(%x) : (!t) -> (!t, !t grad "w2")
  %g1 = bagua.compute backward "l1"(%d) : (!t) -> (!t grad "w1")
  %e = bagua.compute backward "l0"(%d) : (!t) -> (!t)
  bagua.yield %w1, %w2 : !t, !t
}

// A param may still be on its way where it is first used, but not where it is used again.
// CHECK-LABEL: bagua.step @params
// CHECK-NEXT: %[[A:.*]] = bagua.compute forward "l1"(%x, %w1)
// CHECK-NEXT: bagua.compute forward "l2"(%[[A]], %w2, %w1)
// CHECK-NEXT: bagua.yield
bagua.step @params on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t) {
  %a = bagua.compute forward "l1"(%x, %w1) : (!t, !t) -> (!t)
  %b = bagua.compute forward "l2"(%a, %w2) : (!t, !t) -> (!t)
  %c = bagua.compute forward "tied"(%b, %w1) : (!t, !t) -> (!t)
  bagua.yield %w1, %w2 : !t, !t
}

// A collective ends the run before it, and its result starts the one after it.
// CHECK-LABEL: bagua.step @collective
// CHECK-NEXT: %[[A:.*]] = bagua.compute forward "l1"(%x)
// CHECK-NEXT: %[[R:.*]] = bagua.all_reduce mean %[[A]]
// CHECK-NEXT: bagua.compute forward "l2"(%[[R]], %x)
// CHECK-NEXT: bagua.yield
bagua.step @collective on @pod data [node] (batch %x "x" : !t) {
  %a = bagua.compute forward "l1"(%x) : (!t) -> (!t)
  %r = bagua.all_reduce mean %a over [node] : !t
  %b = bagua.compute forward "l2"(%r) : (!t) -> (!t)
  %c = bagua.compute forward "l3"(%b, %x) : (!t, !t) -> (!t)
}

// A result with a name is the program's to read when it is made. Another phase is another op.
// CHECK-LABEL: bagua.step @names_and_phases
// CHECK-NEXT: bagua.compute forward "loss"(%x) : {{.*}} as "loss")
// CHECK-NEXT: bagua.compute forward "accuracy"
// CHECK-NEXT: bagua.compute backward "loss"
// CHECK-NEXT: bagua.yield
bagua.step @names_and_phases on @pod data [node] (batch %x "x" : !t) {
  %a = bagua.compute forward "loss"(%x) : (!t) -> (!t as "loss")
  %b = bagua.compute forward "accuracy"(%x) : (!t) -> (!t)
  %c = bagua.compute backward "loss"(%x) : (!t) -> (!t)
}

// A duration of 0 has a source too, whichever member is the costliest.
// CHECK-LABEL: bagua.step @free
// CHECK-NEXT: bagua.compute forward "dot"(%x) flops 5 cost_ns 0 measured
// CHECK-NEXT: bagua.yield
bagua.step @free on @pod data [node] (batch %x "x" : !t) {
  %a = bagua.compute forward "reshape"(%x) cost_ns 0 measured : (!t) -> (!t)
  %b = bagua.compute forward "dot"(%a) flops 5 : (!t) -> (!t)
}

// What communicates by itself stays one op.
// CHECK-LABEL: bagua.step @own_communication
// CHECK-NEXT: bagua.compute forward "dot"(%x) :
// CHECK-NEXT: bagua.compute forward "scan"({{.*}}) communicates
// CHECK-NEXT: bagua.compute forward "add"
// CHECK-NEXT: bagua.yield
bagua.step @own_communication on @pod data [node] (batch %x "x" : !t) {
  %a = bagua.compute forward "dot"(%x) : (!t) -> (!t)
  %b = bagua.compute forward "scan"(%a) communicates : (!t) -> (!t)
  %c = bagua.compute forward "add"(%b) : (!t) -> (!t)
}

// Ranks must agree along 'tp' about the gradient of the whole param, so what it is computed from stays apart from the
// gradient of the param that is cut: as one op, both would differ.
bagua.cluster @mesh axes [#bagua.axis<"dp", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 2, latency_ns = 0, bytes_per_s = 1>]
// CHECK-LABEL: bagua.step @agreement
// CHECK-NEXT: bagua.compute forward "cut"(%x, %cut)
// CHECK-NEXT: %[[D:.*]] = bagua.compute backward "loss"(%x) :
// CHECK-NEXT: %[[CUT:.*]]:2 = bagua.compute backward "cut.2"(%[[D]], %cut) flops 1 : {{.*}} grad "cut")
// CHECK-NEXT: %[[SUM:.*]] = bagua.all_reduce sum %[[CUT]]#0
// CHECK-NEXT: bagua.compute backward "whole"(%[[D]], %[[SUM]]) : {{.*}} grad "whole")
bagua.step @agreement on @mesh data [dp] (batch %x "x" : !t, param %cut "cut" varies [tp] : !t, param %whole "whole" : !t) {
  bagua.compute forward "cut"(%x, %cut) : (!t, !t) -> ()
  %d = bagua.compute backward "loss"(%x) : (!t) -> (!t)
  %c = bagua.compute backward "cut.1"(%d, %cut) : (!t, !t) -> (!t)
  %e, %gc = bagua.compute backward "cut.2"(%c, %d) flops 1 : (!t, !t) -> (!t, !t grad "cut")
  %s = bagua.all_reduce sum %e over [tp] : !t
  %gw = bagua.compute backward "whole"(%d, %s) : (!t, !t) -> (!t grad "whole")
  %cut1 = bagua.sgd (%cut) grad %gc lr 0.1 : !t
  %whole1 = bagua.sgd (%whole) grad %gw lr 0.1 : !t
  bagua.yield %cut1, %whole1 : !t, !t
}

// Kernels run one after the other, so one's arithmetic doesn't hide another's traffic: 20 ns and 30 ns, not 30, with one launch. An op without work takes no time.
bagua.cluster @timed axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
    device #bagua.device<flop_per_s = 1000000000, bytes_per_s = 1000000000, launch_ns = 5>
// CHECK-LABEL: bagua.step @durations
// CHECK-NEXT: bagua.compute forward "dot"(%x) flops 20 bytes 30 cost_ns 55 roofline :
bagua.step @durations on @timed data [node] (batch %x "x" : !t) {
  %a = bagua.compute forward "dot"(%x) flops 20 : (!t) -> (!t)
  %b = bagua.compute forward "relu"(%a) bytes 30 : (!t) -> (!t)
  bagua.compute forward "reshape"(%b) flops 0 bytes 0 : (!t) -> ()
}
// A duration that is there counts as it is, and says where the sum comes from.
// CHECK-LABEL: bagua.step @measured
// CHECK-NEXT: bagua.compute forward "dot"(%x) flops 20 bytes 30 cost_ns 435 measured :
bagua.step @measured on @timed data [node] (batch %x "x" : !t) {
  %a = bagua.compute forward "dot"(%x) flops 20 cost_ns 400 measured : (!t) -> (!t)
  bagua.compute forward "relu"(%a) bytes 30 : (!t) -> ()
}
