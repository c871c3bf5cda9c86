// RUN: bagua-opt %s --bagua-verify-graph --split-input-file --verify-diagnostics

// What `yield add` may add to states that have moved on meanwhile.

// What is added brings ranks together: where they agree, it is 0,
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid (param %w "w" varies [node] : !t) {
  %m = bagua.all_reduce mean %w over [node] : !t
  %d = bagua.linear [1.0, -1.0] (%m, %w) : !t
  bagua.yield add %d : !t
}

// -----

// ... by thirds, or by a sum and its division.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid (param %w "w" varies [node] : !t) {
  %l, %r = bagua.exchange ring %w over [node] : !t -> !t, !t
  %k = bagua.all_reduce sum %w over [node] : !t
  %d = bagua.linear [-1.6666667, 0.33333333, 0.33333333, 0.5] (%w, %l, %r, %k) : !t
  bagua.yield add %d : !t
}

// -----

// The param itself would be doubled.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid (param %w "w" varies [node] : !t) {
  %m = bagua.all_reduce mean %w over [node] : !t
  // expected-error @+1 {{expected a difference that is 0 where all ranks agree, to be added to state "w", found 1.000000e+00 times a state}}
  bagua.yield add %m : !t
}

// -----

// So would an updated one.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  // expected-error @+1 {{expected a difference that is 0 where all ranks agree, to be added to state "w", found a value that is not linear in the states}}
  bagua.yield add %n : !t
}

// -----

// The difference is of the state itself.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid (param %w "w" varies [node] : !t, param %u "u" varies [node] : !t) {
  %m = bagua.all_reduce mean %u over [node] : !t
  %d = bagua.linear [1.0, -1.0] (%m, %w) : !t
  %k = bagua.linear [1.0, -1.0] (%m, %u) : !t
  // expected-error @+1 {{expected the increment of state 'w' to use no other state, and this state only in place, found 'u'}}
  bagua.yield add %d, %k : !t, !t
}

// -----

// A residual is not added to: it is what is left over.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid (param %w "w" varies [node] : !t, residual %e "e" : !t) {
  %m = bagua.all_reduce mean %w over [node] : !t
  %d = bagua.linear [1.0, -1.0] (%m, %w) : !t
  %q, %f = bagua.encode %d feedback %e : (!t, !t) -> (!q, !t)
  %k = bagua.decode %q : !q -> !t
  // expected-error @+1 {{expected no residual in a step that adds, found "e"}}
  bagua.yield add %k, %f : !t, !t
}
