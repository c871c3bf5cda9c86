// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-relax),bagua-verify-graph)' %s | FileCheck %s
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-relax))' %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Every pending gradient gets its mean, and the step its contract. All results are
// proved by bagua-verify-graph.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                         #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>]

// Each gradient is reduced where it is made, and all of its users get the mean.
// CHECK-LABEL: bagua.step @train
// CHECK-SAME: bagua.contract = [#bagua.relation<"w2.grad" = mean "w2.grad" over [node]>, #bagua.relation<"w1.grad" = mean "w1.grad" over [node]>, #bagua.update<["w1"] by sgd [] lr 1.000000e-01 : f32 grad mean "w1.grad" over [node]>, #bagua.update<["w2"] by sgd [] lr 1.000000e-01 : f32 grad mean "w2.grad" over [node]>]
// CHECK: %[[G2:.*]] = bagua.compute backward "l2"
// CHECK-NEXT: %[[R2:.*]] = bagua.all_reduce mean %[[G2]] over [node]
// CHECK-NEXT: %[[G1:.*]] = bagua.compute backward "l1"
// CHECK-NEXT: %[[R1:.*]] = bagua.all_reduce mean %[[G1]] over [node]
// CHECK-NEXT: bagua.compute update "norm"(%[[R1]], %[[R2]])
// CHECK-NEXT: bagua.sgd (%w1) grad %[[R1]]
// CHECK-NEXT: bagua.sgd (%w2) grad %[[R2]]
bagua.step @train on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t) {
  %g2 = bagua.compute backward "l2"(%x) : (!t) -> (!t grad "w2")
  %g1 = bagua.compute backward "l1"(%x) : (!t) -> (!t optional grad "w1")
  %m = bagua.compute update "norm"(%g1, %g2) : (!t, !t) -> (!t)
  %n1 = bagua.sgd (%w1) grad %g1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %g2 lr 0.1 : !t
  bagua.yield %n1, %n2 : !t, !t
}

// A param that varies over a data axis has gradients of the rank's own there.
// CHECK-LABEL: bagua.step @local
// CHECK-SAME: bagua.contract = []
// CHECK-NOT: all_reduce
// CHECK: bagua.yield
bagua.step @local on @pod data [node] (batch %x "x" : !t, param %w "w" varies [node] : !t) {
  %g = bagua.compute backward "l"(%x) : (!t) -> (!t grad "w")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  bagua.yield %n : !t
}

// A step without gradients has nothing to reduce.
// CHECK-LABEL: bagua.step @evaluate
// CHECK-SAME: bagua.contract = []
// CHECK-NEXT: bagua.compute forward
// CHECK-NEXT: bagua.yield
bagua.step @evaluate on @pod data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %l = bagua.compute forward "l"(%x, %w) : (!t, !t) -> (!t as "loss")
  bagua.yield %w : !t
}

// What the step itself communicates keeps its place, gets names for the program, and
// stands in the contract: expert dispatch, and the mean of a loss that compute uses.
// CHECK-LABEL: bagua.step @activations
// CHECK-SAME: bagua.contract = [#bagua.relation<"all_to_all" = all_to_all "gate.0" over [tp] split 0 concat 0>, #bagua.relation<"all_reduce" = mean "expert.1" over [node]>, #bagua.relation<"w.grad" = mean "w.grad" over [node]>, #bagua.update<["w"] by sgd [] lr 1.000000e-01 : f32 grad mean "w.grad" over [node]>]
// CHECK: bagua.compute forward "gate"{{.*}} as "gate.0")
// CHECK: bagua.all_to_all {{.*}} as "all_to_all"
// CHECK: bagua.compute forward "expert"{{.*}} as "expert.1")
// CHECK: bagua.all_reduce mean {{.*}} as "all_reduce"
bagua.step @activations on @pod data [node] (batch %x "x" : !t, param %w "w" varies [tp] : !t) {
  %a = bagua.compute forward "gate"(%x) : (!t) -> (!t)
  %i = bagua.all_to_all %a over [tp] split 0 concat 0 : !t -> !t
  %e, %l = bagua.compute forward "expert"(%i, %w) : (!t, !t) -> (!t, tensor<f32>)
  %m = bagua.all_reduce mean %l over [node] : tensor<f32>
  %g = bagua.compute backward "expert"(%e, %m) : (!t, tensor<f32>) -> (!t grad "w")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  bagua.yield %n : !t
}

// A gradient that the step reduces by itself is left alone, also in a bucket or as
// another element type.
// CHECK-LABEL: bagua.step @by_itself
// CHECK-SAME: bagua.contract = [#bagua.relation<"w1.grad" = mean "w1.grad" over [node]>, #bagua.relation<"w2.grad" = mean "w2.grad" over [node]>, #bagua.relation<"w3.grad" = mean "w3.grad" over [node]>, #bagua.update<["w1"] by sgd [] lr 1.000000e-01 : f32 grad mean "w1.grad" over [node]>]
// CHECK-COUNT-2: bagua.all_reduce
// CHECK-NOT: bagua.all_reduce
bagua.step @by_itself on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t, param %w3 "w3" : !t) {
  %g1, %g2, %g3 = bagua.compute backward "l"(%x) : (!t) -> (!t grad "w1", !t grad "w2", !t grad "w3")
  %r1 = bagua.all_reduce mean %g1 over [node] : !t
  %b = bagua.concat %g2, %g3 : !t, !t -> tensor<16xf32>
  %h = bagua.cast %b : tensor<16xf32> -> tensor<16xbf16>
  %c = bagua.all_reduce mean %h over [node] : tensor<16xbf16>
  %d = bagua.cast %c : tensor<16xbf16> -> tensor<16xf32>
  %r2, %r3 = bagua.split %d : tensor<16xf32> -> !t, !t
  %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : !t
  %n3 = bagua.sgd (%w3) grad %r3 lr 0.1 : !t
  bagua.yield %n1, %n2, %n3 : !t, !t, !t
}

// If something else needs the rank's own gradient, the mean is another tensor, and
// it is that which the contract is about.
// CHECK-LABEL: bagua.step @both
// CHECK-SAME: bagua.contract = [#bagua.relation<"all_reduce" = mean "w.grad" over [node]>, #bagua.update<["w"] by sgd [] lr 1.000000e-01 : f32 grad mean "w.grad" over [node]>]
// CHECK: bagua.all_reduce mean {{.*}} as "all_reduce"
bagua.step @both on @pod data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x) : (!t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %m = bagua.compute update "noise scale"(%g, %r) : (!t, !t) -> (!t as "noise")
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}

// A reduction over another axis than data (the parts of a tensor-parallel layer) is
// not the gradient's mean.
// The mean is promised of what the program gave, and nothing of the sum, which has no name.
// CHECK-LABEL: bagua.step @over_another_axis
// CHECK-SAME: bagua.contract = [#bagua.relation<"w.grad" = mean "w.grad" over [node]>]
// CHECK: %[[G:.*]] = bagua.compute backward
// CHECK-NEXT: %[[R:.*]] = bagua.all_reduce mean %[[G]] over [node]
// CHECK-NEXT: bagua.all_reduce sum %[[R]] over [tp]
bagua.step @over_another_axis on @pod data [node] (batch %x "x" : !t, param %w "w" : !t, param %v "v" varies [tp] : !t) {
  %g = bagua.compute backward "norm"(%x, %v) : (!t, !t) -> (!t grad "w")
  %s = bagua.all_reduce sum %g over [tp] : !t
  %n = bagua.sgd (%w) grad %s lr 0.1 : !t
  bagua.yield %n, %v : !t, !t
}

// What an update makes of a mean is promised, too, for the case that the runtime runs it: with momentum, a rate that is
// an input, a gradient that is widened first. Not of a gradient that compute has changed, nor by a rate that it makes, nor
// where something else becomes the state.
// CHECK-LABEL: bagua.step @updates
// CHECK-SAME: #bagua.update<["w1", "m1"] by sgd [0.9] lr "lr" grad mean "w1.grad" over [node]>,
// CHECK-SAME: #bagua.update<["w2", "m2", "v2"] by adam [0.9, 0.999, 1.0e-08, 0.0] step_size lr 1.000000e-01 : f32 grad mean "w2.grad" over [node]>]
bagua.step @updates on @pod data [node] (batch %x "x" : !t, input %lr "lr" : tensor<f32>, param %w1 "w1" : !t, param %w2 "w2" : !t, param %w3 "w3" : !t, param %w4 "w4" : !t,
    param %w5 "w5" : !t, optimizer %m1 "m1" : !t, optimizer %m2 "m2" : !t, optimizer %v2 "v2" : !t) {
  %g1, %g2, %g3, %g4, %g5 = bagua.compute backward "l"(%x) : (!t) -> (!t grad "w1", tensor<8xbf16> grad "w2", !t grad "w3", !t grad "w4", !t grad "w5")
  %h2 = bagua.cast %g2 : tensor<8xbf16> -> !t
  %c3, %s = bagua.compute update "clip"(%g3, %lr) : (!t, tensor<f32>) -> (!t, tensor<f32>)
  %n1, %o1 = bagua.sgd (%w1, %m1) momentum 0.9 grad %g1 lr %lr : !t, tensor<f32>
  %n2, %o2, %u2 = bagua.adam (%w2, %m2, %v2) bias_correction step_size grad %h2 lr 0.1 : !t
  %n3 = bagua.sgd (%w3) grad %c3 lr 0.1 : !t
  %n4 = bagua.sgd (%w4) grad %g4 lr %s : !t, tensor<f32>
  %n5 = bagua.sgd (%w5) grad %g5 lr 0.1 : !t
  %d5 = bagua.linear [0.9] (%n5) : !t
  bagua.yield %n1, %n2, %n3, %n4, %d5, %o1, %o2, %u2 : !t, !t, !t, !t, !t, !t, !t, !t
}

// What the step computes on before it reduces it is not the mean of what the program gave. So the program computes that, and
// the mean of what it makes is promised.
// CHECK-LABEL: bagua.step @scaled_before
// CHECK-SAME: bagua.contract = [#bagua.relation<"linear.0" = mean "linear.0" over [node]>]
// CHECK: %[[G:.*]] = bagua.compute backward "l"
// CHECK-NEXT: %[[L:.*]] = bagua.compute backward "linear"(%[[G]], %w)
// CHECK-NEXT: bagua.all_reduce mean %[[L]]
bagua.step @scaled_before on @pod data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // REMARK: remark: 'bagua.linear' op is left to the program: it stands between a gradient and its reduction
  %l = bagua.linear [0.8, 0.01] (%g, %w) : !t
  %r = bagua.all_reduce mean %l over [node] : !t
  %n = bagua.linear [1.0, -0.1] (%w, %r) : !t
  bagua.yield %n : !t
}

// A gradient that each rank clips before the step reduces it.
// CHECK-LABEL: bagua.step @clipped_before
// CHECK-SAME: bagua.contract = [#bagua.relation<"clip.0" = mean "clip.0" over [node]>
// CHECK-COUNT-1: bagua.all_reduce
// CHECK-NOT: bagua.all_reduce
bagua.step @clipped_before on @pod data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %c = bagua.compute backward "clip"(%g) : (!t) -> (!t)
  %r = bagua.all_reduce mean %c over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}

// Of a gradient that the step reduces into parts the program gets nothing back; what the update makes of the parts is
// promised: of states that exist in parts, of the rank's part of a whole one, and by a reduction axis after axis.
// CHECK-LABEL: bagua.step @in_parts
// CHECK-SAME: bagua.contract = [#bagua.update<["w1"] by sgd [] lr 1.000000e-01 : f32 grad mean "w1.grad" over [node, tp]>,
// CHECK-SAME: #bagua.update<["w2", "m2"] by sgd [0.9] lr 1.000000e-01 : f32 grad mean "w2.grad" over [node, tp]>]
// CHECK-NOT: as "
// CHECK: bagua.yield
#part = #bagua.layout<shard [tp], shard [node]>
!p = tensor<8xf32, #part>
bagua.step @in_parts on @pod data [node, tp] (batch %x "x" : !t, param %w1 "w1" : !p, param %w2 "w2" : !t, optimizer %m2 "m2" : !p) {
  %g1, %g2 = bagua.compute backward "l"(%x, %w2) : (!t, !t) -> (!t grad "w1", !t grad "w2")
  %s1 = bagua.reduce_scatter mean %g1 over [tp] : !t -> tensor<8xf32, #bagua.layout<shard [tp]>>
  %r1 = bagua.reduce_scatter mean %s1 over [node] : tensor<8xf32, #bagua.layout<shard [tp]>> -> !p
  %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : !p
  %s2 = bagua.reduce_scatter mean %g2 over [tp] : !t -> tensor<8xf32, #bagua.layout<shard [tp]>>
  %r2 = bagua.reduce_scatter mean %s2 over [node] : tensor<8xf32, #bagua.layout<shard [tp]>> -> !p
  %c = bagua.slice %w2 : !t -> tensor<8xf32, #bagua.layout<shard [tp]>>
  %p2 = bagua.slice %c : tensor<8xf32, #bagua.layout<shard [tp]>> -> !p
  %q2, %o2 = bagua.sgd (%p2, %m2) momentum 0.9 grad %r2 lr 0.1 : !p
  %a2 = bagua.all_gather %q2 over [node] : !p -> tensor<8xf32, #bagua.layout<shard [tp]>>
  %n2 = bagua.all_gather %a2 over [tp] : tensor<8xf32, #bagua.layout<shard [tp]>> -> !t
  bagua.yield %n1, %n2, %o2 : !p, !t, !p
}

// Reduced in parts and made whole again, it is the program's gradient.
// CHECK-LABEL: bagua.step @halves
// CHECK-SAME: bagua.contract = [#bagua.relation<"w.grad" = mean "w.grad" over [node, tp]>]
bagua.step @halves on @pod data [node, tp] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %s = bagua.reduce_scatter mean %g over [node, tp] : !t -> tensor<8xf32, #bagua.layout<shard [node, tp]>>
  %r = bagua.all_gather %s over [node, tp] : tensor<8xf32, #bagua.layout<shard [node, tp]>> -> !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}

// What the step reduces for later alone is reduced where the program gave it, as a gradient is: it may share a bucket. What
// backward waits for keeps a name of its own.
// CHECK-LABEL: bagua.step @statistics
// CHECK-SAME: bagua.contract = [#bagua.relation<"norm.1" = mean "norm.1" over [node]>, #bagua.relation<"all_reduce" = sum "norm.2" over [node]>, #bagua.relation<"w.grad"
// CHECK: %[[R:.*]] = bagua.all_reduce mean %{{.*}} over [node] : tensor<8xf32>{{$}}
// CHECK-NEXT: bagua.linear {{.*}}(%{{.*}}, %[[R]])
bagua.step @statistics on @pod data [node] (batch %x "x" : !t, param %w "w" : !t, buffer %e "mean" : !t) {
  %a, %s, %l = bagua.compute forward "norm"(%x, %w) : (!t, !t) -> (!t, !t, !t)
  %r = bagua.all_reduce mean %s over [node] : !t
  %f = bagua.linear [0.9, 0.1] (%e, %r) : !t
  %q = bagua.all_reduce sum %l over [node] : !t
  %g = bagua.compute backward "l"(%a, %q) : (!t, !t) -> (!t grad "w")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  bagua.yield %n, %f : !t, !t
}

// Where there is no backward, forward waits for all that is reduced.
// CHECK-LABEL: bagua.step @infer
// CHECK-SAME: bagua.contract = [#bagua.relation<"all_reduce" = sum "l.0" over [tp]>]
bagua.step @infer on @pod data [node] (batch %x "x" : !t, param %w "w" varies [tp] : !t) {
  %a = bagua.compute forward "l"(%x, %w) : (!t, !t) -> (!t)
  %r = bagua.all_reduce sum %a over [tp] : !t
  %y = bagua.compute forward "m"(%r) : (!t) -> (!t as "y")
  bagua.yield %w : !t
}

// A reduction in phases makes what one all_reduce would make. Of a chain the program gets the last result: that of the
// gather, or nothing in a place of its own if the gradient itself becomes its mean.
// CHECK-LABEL: bagua.step @phases
// CHECK-SAME: bagua.contract = [#bagua.relation<"all_gather" = sum "norm.0" over [node, tp]>, #bagua.relation<"w.grad" = mean "w.grad" over [node, tp]>]
// CHECK: bagua.all_gather {{.*}} -> tensor<8xf32> as "all_gather"
// CHECK: bagua.all_reduce mean %{{.*}} over [node] : tensor<8xf32, #bagua.layout<shard [tp]>>{{$}}
// CHECK-NEXT: bagua.all_gather {{.*}} -> tensor<8xf32>{{$}}
!part = tensor<8xf32, #bagua.layout<shard [tp]>>
bagua.step @phases on @pod data [node, tp] (batch %x "x" : !t, param %w "w" : !t) {
  %s = bagua.compute forward "norm"(%x, %w) : (!t, !t) -> (!t)
  %sp = bagua.reduce_scatter sum %s over [tp] : !t -> !part
  %sn = bagua.all_reduce sum %sp over [node] : !part
  %sm = bagua.all_gather %sn over [tp] : !part -> !t
  %g = bagua.compute backward "l"(%sm, %w) : (!t, !t) -> (!t grad "w")
  %p = bagua.reduce_scatter mean %g over [tp] : !t -> !part
  %q = bagua.all_reduce mean %p over [node] : !part
  %r = bagua.all_gather %q over [tp] : !part -> !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}
