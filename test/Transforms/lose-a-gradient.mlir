// RUN: bagua-opt --split-input-file --bagua-verify-graph --verify-diagnostics %s

// What a pass gives bagua-verify-graph, with one gradient's reduction dropped by hand:
// each is refused, and the note names the gradient. One case for each pass's output.

// After bagua-coarsen, and after bagua-annotate-costs: no reduction is there yet.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t) {
  %d, %g2 = bagua.compute backward "l2"(%x) flops 100 cost_ns 6 roofline : (!t) -> (!t, !t grad "w2")
  // expected-note @+1 {{'w1.grad' is pending over axis 'node'}}
  %g1 = bagua.compute backward "l1"(%d) flops 100 cost_ns 6 roofline : (!t) -> (!t grad "w1")
  %n1 = bagua.sgd (%w1) grad %g1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %g2 lr 0.1 : !t
  // expected-error @+1 {{expected state 'w1' replicated over axis 'node', found pending}}
  bagua.yield %n1, %n2 : !t, !t
}

// -----

// After bagua-relax: the mean of w2's gradient is lost.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t) {
  // expected-note @+1 {{'w2.grad' is pending over axis 'node'}}
  %d, %g2 = bagua.compute backward "l2"(%x) : (!t) -> (!t, !t grad "w2")
  %g1 = bagua.compute backward "l1"(%d) : (!t) -> (!t grad "w1")
  %r1 = bagua.all_reduce mean %g1 over [node] : !t
  %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %g2 lr 0.1 : !t
  // expected-error @+1 {{expected state 'w2' replicated over axis 'node', found pending}}
  bagua.yield %n1, %n2 : !t, !t
}

// -----

// After bagua-bucketize: the whole bucket's reduction is lost.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t) {
  // expected-note @+1 {{'w2.grad' is pending over axis 'node'}}
  %d, %g2 = bagua.compute backward "l2"(%x) : (!t) -> (!t, !t grad "w2")
  %g1 = bagua.compute backward "l1"(%d) : (!t) -> (!t grad "w1")
  %b = bagua.concat %g2, %g1 : !t, !t -> tensor<16xf32>
  %r2, %r1 = bagua.split %b : tensor<16xf32> -> !t, !t
  %n1 = bagua.sgd (%w1) grad %r1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : !t
  // expected-error @+1 {{expected state 'w1' replicated over axis 'node', found pending}}
  bagua.yield %n1, %n2 : !t, !t
}

// -----

// After bagua-bucketize: one gradient is left out of the bucket.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t, param %w3 "w3" : !t) {
  %g3, %g2 = bagua.compute backward "l2"(%x) : (!t) -> (!t grad "w3", !t grad "w2")
  // expected-note @+1 {{'w1.grad' is pending over axis 'node'}}
  %g1 = bagua.compute backward "l1"(%x) : (!t) -> (!t grad "w1")
  %b = bagua.concat %g3, %g2 : !t, !t -> tensor<16xf32>
  %c = bagua.all_reduce mean %b over [node] : tensor<16xf32>
  %r3, %r2 = bagua.split %c : tensor<16xf32> -> !t, !t
  %n1 = bagua.sgd (%w1) grad %g1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %r2 lr 0.1 : !t
  %n3 = bagua.sgd (%w3) grad %r3 lr 0.1 : !t
  // expected-error @+1 {{expected state 'w1' replicated over axis 'node', found pending}}
  bagua.yield %n1, %n2, %n3 : !t, !t, !t
}

// -----

// After bagua-schedule: the runtime runs nothing for w1, whose update is the program's
// compute by now. What compute makes of a gradient that is pending varies.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [compute, comm] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t) {
  %d, %g2 = bagua.compute backward "l2"(%x) on compute : (!t) -> (!t, !t grad "w2")
  %r2 = bagua.all_reduce mean %g2 over [node] on comm : !t
  // expected-note @+1 {{'w1.grad' is pending over axis 'node'}}
  %g1 = bagua.compute backward "l1"(%d) on compute : (!t) -> (!t grad "w1")
  %n2 = bagua.compute update "sgd w2"(%w2, %r2) on compute : (!t, !t) -> (!t)
  %n1 = bagua.compute update "sgd w1"(%w1, %g1) on compute : (!t, !t) -> (!t)
  // expected-error @+1 {{expected state 'w1' replicated over axis 'node', found mixed}}
  bagua.yield %n1, %n2 : !t, !t
}

// -----

// After bagua-place: the same, with places. bsp's `after` is no reduction.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [compute, comm] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t) {
  // expected-note @+1 {{'w2.grad' is pending over axis 'node'}}
  %d, %g2 = bagua.compute backward "l2"(%x) on compute at [program, "w2.grad"] : (!t) -> (!t, !t grad "w2")
  %g1 = bagua.compute backward "l1"(%d) on compute at ["w1.grad"] : (!t) -> (!t grad "w1")
  %f = bagua.after %g2 [%g1] on comm at ["w2.grad"] : !t [!t]
  %r1 = bagua.all_reduce mean %g1 over [node] on comm at ["w1.grad"] : !t
  %n2 = bagua.compute update "sgd w2"(%w2, %f) on compute at [program] : (!t, !t) -> (!t)
  %n1 = bagua.compute update "sgd w1"(%w1, %r1) on compute at [program] : (!t, !t) -> (!t)
  // expected-error @+1 {{expected state 'w2' replicated over axis 'node', found mixed}}
  bagua.yield %n1, %n2 : !t, !t
}
