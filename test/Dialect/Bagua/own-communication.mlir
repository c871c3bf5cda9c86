// RUN: bagua-opt %s --bagua-verify-graph --split-input-file --verify-diagnostics

// Compute that communicates by itself.

// On the way to a gradient it is part of the model.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %a = bagua.compute forward "scan"(%x, %w) communicates : (!t, !t) -> (!t)
  %g = bagua.compute backward "l"(%a, %w) : (!t, !t) -> (!t grad "w")
  %m = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %m lr 0.1 : !t
  bagua.yield %n : !t
}

// -----

// Between a gradient and its param, only the runtime communicates: this may be a reduction, or a second one.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" varies [node] : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected no communication of the program's own between a gradient or a state and the next states, found that of "psum" on the way from "w.grad"}}
  %r = bagua.compute update "psum"(%g) communicates : (!t) -> (!t)
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}

// -----

// Nor does anything else between a state and its next value: here each step multiplies the param by the number of ranks.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{found that of "psum" on the way from "w"}}
  %r = bagua.compute update "psum"(%w) communicates : (!t) -> (!t)
  %m = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%r) grad %m lr 0.1 : !t
  bagua.yield %n : !t
}

// -----

// What only leads to buffers is the model's: batch statistics of all ranks.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, buffer %b "b" varies [node] : !t) {
  %a = bagua.compute forward "norm"(%x, %w, %b) communicates : (!t, !t, !t) -> (!t)
  %g = bagua.compute backward "l"(%a, %w) : (!t, !t) -> (!t grad "w")
  %m = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %m lr 0.1 : !t
  bagua.yield %n, %a : !t, !t
}
