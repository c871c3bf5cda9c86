// RUN: bagua-opt %s --bagua-verify-graph --split-input-file --verify-diagnostics

// Pieces, what is sent on, and what varies by itself. A piece is its rank's own, of
// pieces put together all have the same.
!t = tensor<8xf32>
!p = tensor<4xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @zero on @grid data [node] (batch %x "x" : !t, param %w "w" varies [node] : !p) {
  %a = bagua.all_gather %w over [node] concat 0 : !p -> !t
  %g = bagua.compute backward "l"(%x, %a) : (!t, !t) -> (!t)
  %s = bagua.reduce_scatter sum %g over [node] split 0 : !t -> !p
  %n = bagua.sgd (%w) grad %s lr 0.1 : !p
  bagua.yield %n : !p
}

// -----

// So a piece is no next value of what all have,
!t = tensor<8xf32>
!p = tensor<4xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>]
// expected-note @+1 {{argument 'x' is varying over axis 'node'}}
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !p) {
  %s = bagua.reduce_scatter sum %x over [node] split 0 : !t -> !p
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found varying}}
  bagua.yield %s : !p
}

// -----

// ... and pieces put together are.
!t = tensor<8xf32>
!p = tensor<4xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (batch %x "x" : !p, param %w "w" : !t) {
  %s = bagua.all_gather %x over [node] concat 0 : !p -> !t
  bagua.yield %s : !t
}

// -----

// Contributions to a mean are not put together,
!t = tensor<8xf32>
!p = tensor<4xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (batch %x "x" : !p, param %w "w" : !p, buffer %b "b" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!p, !p) -> (!p grad "w")
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is pending over it}}
  %s = bagua.all_gather %g over [node] concat 0 : !p -> !t
  bagua.yield %w, %s : !p, !t
}

// -----

// ... nor sent on.
!p = tensor<4xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (batch %x "x" : !p, param %w "w" : !p, buffer %b "b" : !p) {
  %g = bagua.compute backward "l"(%x, %w) : (!p, !p) -> (!p grad "w")
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is pending over it}}
  %s = bagua.permute %g over [node] pairs [0 -> 1] : !p
  bagua.yield %w, %s : !p, !p
}

// -----

// A piece is of a mean where a mean is owed.
!t = tensor<8xf32>
!p = tensor<4xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, buffer %b "b" varies [node] : !p) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found sum}}
  %s = bagua.reduce_scatter sum %g over [node] split 0 : !t -> !p
  bagua.yield %w, %s : !t, !p
}

// -----

// Who gets nothing has zeros: what all had the same of they no longer have.
!p = tensor<4xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (param %w "w" : !p) {
  // expected-note @+1 {{this value is varying over axis 'tp'}}
  %s = bagua.permute %w over [tp] pairs [0 -> 1] : !p
  // expected-error @+1 {{expected state 'w' replicated over axis 'tp', found varying}}
  bagua.yield %s : !p
}

// -----

// What depends on the rank's own place varies along its axes.
!p = tensor<4xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (param %w "w" varies [tp] : !p, param %v "v" : !p) {
  %i = bagua.compute forward "index"(%w) varies [tp] : (!p) -> (!p)
  // expected-note @+1 {{this value is varying over axis 'tp'}}
  %j = bagua.compute update "index"(%v) varies [tp] : (!p) -> (!p)
  // expected-error @+1 {{expected state 'v' replicated over axis 'tp', found varying}}
  bagua.yield %i, %j : !p, !p
}

// -----

// expected-note @+1 {{the cluster is here}}
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (param %w "w" : tensor<4xf32>) {
  // expected-error @+1 {{axis 'tp'}}
  %i = bagua.compute forward "index"() varies [tp] : () -> (tensor<4xf32>)
  bagua.yield %w : tensor<4xf32>
}
