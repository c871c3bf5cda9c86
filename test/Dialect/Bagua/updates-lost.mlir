// RUN: bagua-opt %s --bagua-verify-graph --split-input-file --verify-diagnostics

// What updates make of states is what those states are next.

// The moment that an update makes is used, but not kept.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  // expected-note @+1 {{the update is here}}
  %n, %a = bagua.sgd (%w, %m) momentum 0.9 grad %r lr 0.1 : !t
  %d = bagua.linear [2.0] (%a) : !t
  // expected-error @+1 {{expected the next value of state 'm' to be the result of its update, found another value}}
  bagua.yield %n, %m : !t, !t
}

// -----

// It is kept in another state.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" : !t, buffer %k "k" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  // expected-note @+1 {{the update is here}}
  %n, %a = bagua.sgd (%w, %m) momentum 0.9 grad %r lr 0.1 : !t
  // expected-error @+1 {{expected the next value of state 'm' to be the result of its update, found another value}}
  bagua.yield %n, %m, %a : !t, !t, !t
}

// -----

// What the program makes of it is its own.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %n, %a = bagua.sgd (%w, %m) momentum 0.9 grad %r lr 0.1 : !t
  %b = bagua.compute update "clip"(%a) : (!t) -> (!t)
  bagua.yield %n, %b : !t, !t
}

// -----

// A state that an update reads in a mixture with others is not the one that it replaces: Lookahead's slow weights.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, optimizer %k "slow" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %y = bagua.linear [0.5, 0.5] (%w, %k) : !t
  %n = bagua.sgd (%y) grad %r lr 0.1 : !t
  bagua.yield %n, %k : !t, !t
}

// -----

// Compute that updates a param of which it never saw the value.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, param %u "u" : !t) {
  %g, %h = bagua.compute backward "l"(%x, %w, %u) : (!t, !t, !t) -> (!t grad "w", !t grad "u")
  %r = bagua.all_reduce mean %g over [node] : !t
  %q = bagua.all_reduce mean %h over [node] : !t
  %n = bagua.compute update "opt"(%w, %r, %q) : (!t, !t, !t) -> (!t)
  %o = bagua.compute update "opt"(%w, %r, %q) : (!t, !t, !t) -> (!t)
  // expected-error @+1 {{expected the next value of state 'u' to come from its value, found a value without it}}
  bagua.yield %n, %o : !t, !t
}

// -----

// The program that keeps the exact param with the optimizer need not read its copy,
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %n, %a = bagua.compute update "opt"(%m, %r) : (!t, !t) -> (!t, !t)
  bagua.yield %n, %a : !t, !t
}

// -----

// ... and what has no gradient may be a copy of anything: a target network.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, param %u "target" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  %c = bagua.compute update "copy"(%n) : (!t) -> (!t)
  bagua.yield %n, %c : !t, !t
}

// -----

// What the step spells out is its own definition: a gradient counted twice is a learning rate twice as high.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %y = bagua.linear [1.0, 1.0] (%r, %r) : !t
  %n = bagua.sgd (%w) grad %y lr 0.1 : !t
  bagua.yield %n : !t
}

// -----

// So is what the program communicates that is made of no gradient and of no state.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, input %k "k" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %c = bagua.compute update "own"(%k) communicates : (!t) -> (!t)
  %n = bagua.compute update "u"(%w, %r, %c) : (!t, !t, !t) -> (!t)
  bagua.yield %n : !t
}

// -----

// What is multiplied by 0 is not there.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-note @+1 {{the gradient is made here}}
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %y = bagua.linear [0.0, 1.0] (%r, %w) : !t
  %n = bagua.sgd (%w) grad %y lr 0.1 : !t
  // expected-error @+1 {{expected the gradient of 'w' in its next value, found none}}
  bagua.yield %n : !t
}
