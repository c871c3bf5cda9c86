// RUN: bagua-opt %s --bagua-verify-graph --split-input-file --verify-diagnostics

// Arithmetic on values of which ranks store different parts, or a root all.

// Each rank computes with its own part of the mean: results of the whole size are each rank's own.
!t = tensor<8xf32>
!z = tensor<8xf32, #bagua.layout<shard [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.reduce_scatter mean %g over [node] : !t -> !z
  // expected-note @+1 {{this value is partial over axis 'node'}}
  %n = bagua.compute update "u"(%w, %r) : (!t, !z) -> (!t)
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found partial}}
  bagua.yield %n : !t
}

// -----

// One rank's is made of one part of the mean, so it is not taken for all,
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
!z = tensor<8xf32, #bagua.layout<shard [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.reduce_scatter mean %g over [node] : !t -> !z
  %u = bagua.compute update "u"(%w, %r) : (!t, !z) -> (!t)
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is partial over it}}
  %1 = bagua.slice %u : !t -> !r
  %n = bagua.broadcast %1 over [node] : !r -> !t
  bagua.yield %n : !t
}

// -----

// ... but reduced, as the program likes: a norm is the sum of what ranks have of it.
!t = tensor<8xf32>
!z = tensor<8xf32, #bagua.layout<shard [node]>>
!s = tensor<f32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.reduce_scatter mean %g over [node] : !t -> !z
  %q = bagua.compute update "squares"(%r) : (!z) -> (!s)
  %k = bagua.all_reduce sum %q over [node] : !s
  %p = bagua.slice %w : !t -> !z
  %u = bagua.compute update "clip"(%p, %r, %k) : (!z, !z, !s) -> (!z)
  %n = bagua.all_gather %u over [node] : !z -> !t
  bagua.yield %n : !t
}

// -----

// Only the root has the rate to learn with.
!t = tensor<8xf32>
!s = tensor<f32>
!l = tensor<f32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, input %lr "lr" : !s) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %l = bagua.slice %lr : !s -> !l
  // expected-note @+1 {{this value is varying over axis 'node'}}
  %n = bagua.sgd (%w) grad %r lr %l : !t, !l
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found varying}}
  bagua.yield %n : !t
}

// -----

// What is stored like its operands is the part of one whole,
!t = tensor<8xf32>
!z = tensor<8xf32, #bagua.layout<shard [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.reduce_scatter mean %g over [node] : !t -> !z
  %p = bagua.slice %w : !t -> !z
  %u = bagua.compute update "u"(%p, %r) : (!z, !z) -> (!z)
  %n = bagua.all_gather %u over [node] : !z -> !t
  bagua.yield %n : !t
}

// -----

// ... or the root's, for all.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.reduce mean %g over [node] : !t -> !r
  %p = bagua.slice %w : !t -> !r
  %u = bagua.compute update "u"(%p, %r) : (!r, !r) -> (!r)
  %n = bagua.broadcast %u over [node] : !r -> !t
  bagua.yield %n : !t
}

// -----

// So an update may run at the root alone, which sends its params to all.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.reduce mean %g over [node] : !t -> !r
  %p = bagua.slice %w : !t -> !r
  %u = bagua.sgd (%p) grad %r lr 0.1 : !r
  %n = bagua.broadcast %u over [node] : !r -> !t
  bagua.yield %n : !t
}
