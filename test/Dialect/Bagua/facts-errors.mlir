// RUN: bagua-opt %s --bagua-verify-graph --split-input-file --verify-diagnostics

// What bagua-verify-graph refuses: for every rule of docs/Rationale.md, "What the
// verifier proves", a step that breaks it. facts.mlir has the steps that keep it.
// The data axis is node; over tp ranks differ only where something says so.

// A batch varies over the data axes,
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (
    // expected-note @+1 {{argument 'x' is varying over axis 'node'}}
    batch %x "x" : !t, buffer %b "b" : !t) {
  // expected-error @+1 {{expected state 'b' replicated over axis 'node', found varying}}
  bagua.yield %x : !t
}

// -----

// ... and over no other axis.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-error @+1 {{reduces over axis 'tp', where its operand is already the same on all ranks}}
  %s = bagua.all_reduce mean %x over [tp] : !t
  bagua.yield %w : !t
}

// -----

// An input is the same on all ranks, so it is not reduced.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (input %i "i" : !t) {
  // expected-error @+1 {{reduces over axis 'node', where its operand is already the same on all ranks}}
  %s = bagua.all_reduce mean %i over [node] : !t
  bagua.yield 
}

// -----

// A param is the same on all ranks, so it is not reduced.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (param %w "w" : !t) {
  // expected-error @+1 {{reduces over axis 'node', where its operand is already the same on all ranks}}
  %s = bagua.all_reduce mean %w over [node] : !t
  bagua.yield %w : !t
}

// -----

// An optimizer is the same on all ranks, so it is not reduced.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (optimizer %o "o" : !t) {
  // expected-error @+1 {{reduces over axis 'node', where its operand is already the same on all ranks}}
  %s = bagua.all_reduce mean %o over [node] : !t
  bagua.yield %o : !t
}

// -----

// A buffer is the same on all ranks, so it is not reduced.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (buffer %b "b" : !t) {
  // expected-error @+1 {{reduces over axis 'node', where its operand is already the same on all ranks}}
  %s = bagua.all_reduce mean %b over [node] : !t
  bagua.yield %b : !t
}

// -----

// What varies over one axis doesn't over the others.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (param %w "w" varies [tp] : !t) {
  // expected-error @+1 {{reduces over axis 'node', where its operand is already the same on all ranks}}
  %s = bagua.all_reduce mean %w over [node, tp] : !t
  bagua.yield %w : !t
}

// -----

// A residual is no agreed state.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (
    // expected-note @+1 {{argument 'e' is varying over axis 'node'}}
    residual %e "e" : !t, param %w "w" : !t) {
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found varying}}
  bagua.yield %e, %e : !t, !t
}

// -----

// Nor is a replica.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (
    // expected-note @+1 {{argument 'r' is varying over axis 'node'}}
    replica %r "r" : !t, param %w "w" : !t) {
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found varying}}
  bagua.yield %r, %r : !t, !t
}

// -----

// A gradient that nobody reduces fails at the yield, and the note names it,
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-note @+1 {{'w.grad' is pending over axis 'node'}}
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found pending}}
  bagua.yield %n : !t
}

// -----

// ... also from far away.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, input %h "h" : !t, param %w "w" : !t) {
  // expected-note @+1 {{'w.grad' is pending over axis 'node'}}
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %b = bagua.concat %h, %g : !t, !t -> tensor<16xf32>
  %c, %d = bagua.split %b : tensor<16xf32> -> !t, !t
  %n = bagua.sgd (%w) grad %d lr 0.1 : !t
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found pending}}
  bagua.yield %n : !t
}

// -----

// One reduced over the wrong axes fails there.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{reduces over axis 'tp', where its operand is already the same on all ranks}}
  %r = bagua.all_reduce mean %g over [tp] : !t
  bagua.yield %w : !t
}

// -----

// What the program's compute reads over another axis than data isn't made the same by `grad`.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (
    // expected-note @+1 {{argument 'e' is varying over axis 'tp'}}
    replica %e "e" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%e) : (!t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  // expected-error @+1 {{expected state 'w' replicated over axis 'tp', found varying}}
  bagua.yield %e, %n : !t, !t
}

// -----

// ... and varies where one is not, even one that is only pending: nobody knows what compute does.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-note @+1 {{'w.grad' is pending over axis 'node'}}
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %n = bagua.compute update "l"(%w, %g) : (!t, !t) -> (!t)
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found mixed}}
  bagua.yield %n : !t
}

// -----

// all_reduce of what is the same already is done twice, or over the wrong axis.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-error @+1 {{reduces over axis 'node', where its operand is already the same on all ranks}}
  %s = bagua.all_reduce mean %w over [node] : !t
  bagua.yield %w : !t
}

// -----

// all_reduce of a gradient by sum: a forgotten division, say.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found sum}}
  %s = bagua.all_reduce sum %g over [node] : !t
  bagua.yield %w : !t
}

// -----

// all_reduce of a gradient by min.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found min}}
  %s = bagua.all_reduce min %g over [node] : !t
  bagua.yield %w : !t
}

// -----

// all_reduce of a gradient by max.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found max}}
  %s = bagua.all_reduce max %g over [node] : !t
  bagua.yield %w : !t
}

// -----

// reduce_scatter of what is the same already is done twice, or over the wrong axis.
!t = tensor<8xf32>
!z = tensor<8xf32, #bagua.layout<shard [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-error @+1 {{reduces over axis 'node', where its operand is already the same on all ranks}}
  %s = bagua.reduce_scatter mean %w over [node] : !t -> !z
  bagua.yield %w : !t
}

// -----

// reduce_scatter of a gradient by sum: a forgotten division, say.
!t = tensor<8xf32>
!z = tensor<8xf32, #bagua.layout<shard [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found sum}}
  %s = bagua.reduce_scatter sum %g over [node] : !t -> !z
  bagua.yield %w : !t
}

// -----

// reduce_scatter of a gradient by min.
!t = tensor<8xf32>
!z = tensor<8xf32, #bagua.layout<shard [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found min}}
  %s = bagua.reduce_scatter min %g over [node] : !t -> !z
  bagua.yield %w : !t
}

// -----

// reduce_scatter of a gradient by max.
!t = tensor<8xf32>
!z = tensor<8xf32, #bagua.layout<shard [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found max}}
  %s = bagua.reduce_scatter max %g over [node] : !t -> !z
  bagua.yield %w : !t
}

// -----

// reduce of what is the same already is done twice, or over the wrong axis.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-error @+1 {{reduces over axis 'node', where its operand is already the same on all ranks}}
  %s = bagua.reduce mean %w over [node] : !t -> !r
  bagua.yield %w : !t
}

// -----

// reduce of a gradient by sum: a forgotten division, say.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found sum}}
  %s = bagua.reduce sum %g over [node] : !t -> !r
  bagua.yield %w : !t
}

// -----

// reduce of a gradient by min.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found min}}
  %s = bagua.reduce min %g over [node] : !t -> !r
  bagua.yield %w : !t
}

// -----

// reduce of a gradient by max.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found max}}
  %s = bagua.reduce max %g over [node] : !t -> !r
  bagua.yield %w : !t
}

// -----

// push of what is the same already is done twice, or over the wrong axis.
!t = tensor<8xf32>
!v = tensor<8xf32, #bagua.layout<server>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-error @+1 {{reduces over axis 'node', where its operand is already the same on all ranks}}
  %s = bagua.push mean %w over [node] : !t -> !v
  bagua.yield %w : !t
}

// -----

// push of a gradient by sum: a forgotten division, say.
!t = tensor<8xf32>
!v = tensor<8xf32, #bagua.layout<server>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found sum}}
  %s = bagua.push sum %g over [node] : !t -> !v
  bagua.yield %w : !t
}

// -----

// push of a gradient by min.
!t = tensor<8xf32>
!v = tensor<8xf32, #bagua.layout<server>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found min}}
  %s = bagua.push min %g over [node] : !t -> !v
  bagua.yield %w : !t
}

// -----

// push of a gradient by max.
!t = tensor<8xf32>
!v = tensor<8xf32, #bagua.layout<server>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found max}}
  %s = bagua.push max %g over [node] : !t -> !v
  bagua.yield %w : !t
}

// -----

// A gradient is reduced once, whatever lies between.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %b = bagua.concat %g, %g : !t, !t -> tensor<16xf32>
  %r = bagua.all_reduce mean %b over [node] : tensor<16xf32>
  %c, %d = bagua.split %r : tensor<16xf32> -> !t, !t
  // expected-error @+1 {{reduces over axis 'node', where its operand is already the same on all ranks}}
  %s = bagua.all_reduce mean %c over [node] : !t
  bagua.yield %w : !t
}

// -----

// ... with the same two errors: of what is the same already,
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.signsgd>
!qt = !bagua.encoded<!t, #bagua.signsgd, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %q = bagua.encode %w : (!t) -> (!q)
  %t = bagua.all_gather %q over [node] : !q -> !qt
  // expected-error @+1 {{reduces over axis 'node', where its operand is already the same on all ranks}}
  %n = bagua.decode mean %t : !qt -> !t
  bagua.yield %w : !t
}

// -----

// ... and by another kind than mean.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.signsgd>
!qt = !bagua.encoded<!t, #bagua.signsgd, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %q = bagua.encode %g : (!t) -> (!q)
  %t = bagua.all_gather %q over [node] : !q -> !qt
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found sum}}
  %n = bagua.decode sum %t : !qt -> !t
  bagua.yield %w : !t
}

// -----

// ... so without it they are not reduced.
!t = tensor<8xf32>
!qp = !bagua.encoded<!t, #bagua.signsgd, parts [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-note @+1 {{'w.grad' is pending over axis 'node'}}
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %q = bagua.encode %g : (!t) -> (!qp)
  %d = bagua.decode %q : !qp -> !t
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found pending}}
  bagua.yield %d : !t
}

// -----

// ... but not a state that claims to be the same.
!t = tensor<8xf32>
!v = tensor<8xf32, #bagua.layout<server>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] consistency asp (param %v "v" : !v, param %w "w" : !t) {
  // expected-note @+1 {{this value is varying over axis 'node'}}
  %p = bagua.pull %v over [node] : !v -> !t
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found varying}}
  bagua.yield %v, %p : !v, !t
}

// -----

// A push under bsp doesn't reduce what servers have reduced.
!t = tensor<8xf32>
!v = tensor<8xf32, #bagua.layout<server>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %s = bagua.push mean %g over [node] : !t -> !v
  %p = bagua.pull %s over [node] : !v -> !t
  // expected-error @+1 {{reduces over axis 'node', where its operand is already the same on all ranks}}
  %t = bagua.push mean %p over [node] : !t -> !v
  bagua.yield %w : !t
}

// -----

// slice and all_gather over another axis reduces nothing.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-note @+1 {{'w.grad' is pending over axis 'node'}}
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %z = bagua.slice %g : !t -> tensor<8xf32, #bagua.layout<shard [tp]>>
  %k = bagua.all_gather %z over [tp] : tensor<8xf32, #bagua.layout<shard [tp]>> -> !t
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found pending}}
  bagua.yield %k : !t
}

// -----

// split reduces nothing.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-note @+1 {{'w.grad' is pending over axis 'node'}}
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %h, %j = bagua.split %g : !t -> tensor<4xf32>, tensor<4xf32>
  %k = bagua.concat %h, %j : tensor<4xf32>, tensor<4xf32> -> !t
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found pending}}
  bagua.yield %k : !t
}

// -----

// cast reduces nothing.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-note @+1 {{'w.grad' is pending over axis 'node'}}
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %h = bagua.cast %g : !t -> tensor<8xbf16>
  %k = bagua.cast %h : tensor<8xbf16> -> !t
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found pending}}
  bagua.yield %k : !t
}

// -----

// after reduces nothing.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-note @+1 {{'w.grad' is pending over axis 'node'}}
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %k = bagua.after %g [%x] : !t [!t]
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found pending}}
  bagua.yield %k : !t
}

// -----

// encode and decode reduces nothing.
!t = tensor<8xf32>
!qp = !bagua.encoded<!t, #bagua.signsgd, parts [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-note @+1 {{'w.grad' is pending over axis 'node'}}
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %q = bagua.encode %g : (!t) -> (!qp)
  %k = bagua.decode %q : !qp -> !t
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found pending}}
  bagua.yield %k : !t
}

// -----

// broadcast over another axis reduces nothing.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-note @+1 {{'w.grad' is pending over axis 'node'}}
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %l = bagua.slice %g : !t -> tensor<8xf32, #bagua.layout<root [tp]>>
  %k = bagua.broadcast %l over [tp] : tensor<8xf32, #bagua.layout<root [tp]>> -> !t
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found pending}}
  bagua.yield %k : !t
}

// -----

// ... so it isn't reduced any more.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %r = bagua.slice %x : !t -> !r
  %n = bagua.broadcast %r over [node] : !r -> !t
  // expected-error @+1 {{reduces over axis 'node', where its operand is already the same on all ranks}}
  %s = bagua.all_reduce mean %n over [node] : !t
  bagua.yield %w : !t
}

// -----

// Were they to vary, as a tensor's pieces do, reducing an encoded value twice would pass.
!t = tensor<8xf32>
!z = tensor<8xf32, #bagua.layout<shard [node]>>
!qp = !bagua.encoded<!t, #bagua.signsgd, parts [node]>
!qs = !bagua.encoded<!z, #bagua.signsgd, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %q = bagua.encode %w : (!t) -> (!qp)
  %t = bagua.all_to_all %q over [node] : !qp -> !qs
  // expected-error @+1 {{reduces over axis 'node', where its operand is already the same on all ranks}}
  %m = bagua.decode mean %t : !qs -> !z
  bagua.yield %w : !t
}

// -----

// The next residual is the rank's own, even of a value that is the same.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.signsgd>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (param %w "w" : !t,
    // expected-note @+1 {{argument 'e' is varying over axis 'node'}}
    residual %e "e" : !t) {
  %q, %n = bagua.encode %w feedback %e : (!t, !t) -> (!q, !t)
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found varying}}
  bagua.yield %n, %e : !t, !t
}

// -----

// ... and no better than its worst operand.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-note @+1 {{'w.grad' is pending over axis 'node'}}
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %l = bagua.linear [0.9, 0.1] (%w, %g) : !t
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found pending}}
  bagua.yield %l : !t
}

// -----

// A bucket is as good as its worst member: one that varies,
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (
    // expected-note @+1 {{argument 'x' is varying over axis 'node'}}
    batch %x "x" : !t, param %w "w" : !t) {
  %b = bagua.concat %x, %w : !t, !t -> tensor<16xf32>
  %c, %d = bagua.split %b : tensor<16xf32> -> !t, !t
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found varying}}
  bagua.yield %d : !t
}

// -----

// ... or one that is the same already would be averaged for nothing; but a mixture is averaged as a whole, and a sum of it is an error.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %b = bagua.concat %g, %w : !t, !t -> tensor<16xf32>
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found sum}}
  %r = bagua.all_reduce sum %b over [node] : tensor<16xf32>
  bagua.yield %w : !t
}

// -----

// ... but not if the learning rate is pending as well: a product of means is no mean.
!t = tensor<8xf32>
!m = tensor<8x8xf32>
!l = tensor<f32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, param %s "s" : !l) {
  // expected-note @+1 {{'w.grad' is pending over axis 'node'}}
  %g = bagua.compute backward "l"(%x) : (!t) -> (!t grad "w")
  %h = bagua.compute backward "s"(%x) : (!t) -> (!l grad "s")
  %u = bagua.sgd (%w) grad %g lr %h : !t, !l
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found mixed}}
  bagua.yield %u, %s : !t, !l
}

// -----

// A product of two gradients is not.
!t = tensor<8xf32>
!m = tensor<8x8xf32>
!l = tensor<f32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %a "a" : !m, param %b "b" : !m) {
  // expected-note @+1 {{'a.grad' is pending over axis 'node'}}
  %g = bagua.compute backward "a"(%x) : (!t) -> (!m grad "a")
  %h = bagua.compute backward "b"(%x) : (!t) -> (!m grad "b")
  %p = bagua.matmul %g, %h : !m, !m -> !m
  // expected-error @+1 {{expected state 'a' replicated over axis 'node', found mixed}}
  bagua.yield %p, %b : !m, !m
}

// -----

// A product with what varies varies.
!t = tensor<8xf32>
!m = tensor<8x8xf32>
!l = tensor<f32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (
    // expected-note @+1 {{argument 'e' is varying over axis 'node'}}
    replica %e "e" : !m, param %b "b" : !m) {
  %p = bagua.matmul %e, %b : !m, !m -> !m
  // expected-error @+1 {{expected state 'b' replicated over axis 'node', found varying}}
  bagua.yield %e, %p : !m, !m
}

// -----

// adam is not linear: before the mean its result is mixed.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" : !t, optimizer %v "v" : !t) {
  // expected-note @+1 {{'w.grad' is pending over axis 'node'}}
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %n, %a, %b = bagua.adam (%w, %m, %v) grad %g lr 0.1 : !t
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found mixed}}
  bagua.yield %n, %a, %b : !t, !t, !t
}

// -----

// adam_apply isn't linear either.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, input %lr "lr" : tensor<f32>, param %w "w" : !t, optimizer %m "m" : !t, optimizer %v "v" : !t) {
  // expected-note @+1 {{'w.grad' is pending over axis 'node'}}
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %l = bagua.linear [0.9, 0.1] (%m, %g) : !t
  %n = bagua.adam_apply %w, %l, %v lr %lr : !t, tensor<f32>
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found mixed}}
  bagua.yield %n, %m, %v : !t, !t, !t
}

// -----

// orthonormalize is not linear.
!t = tensor<8xf32>
!m = tensor<8x8xf32>
!l = tensor<f32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %a "a" : !m, param %b "b" : !m) {
  // expected-note @+1 {{'a.grad' is pending over axis 'node'}}
  %g = bagua.compute backward "a"(%x) : (!t) -> (!m grad "a")
  %n = bagua.orthonormalize %g : !m
  // expected-error @+1 {{expected state 'a' replicated over axis 'node', found mixed}}
  bagua.yield %n, %b : !m, !m
}

// -----

// ... even if all had the same: the analysis doesn't know.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-note @+1 {{this value is varying over axis 'node'}}
  %p = bagua.exchange shift_one %w over [node] : !t -> !t
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found varying}}
  bagua.yield %p : !t
}

// -----

// ... so what was the same is so no longer.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-note @+1 {{this value is varying over axis 'tp'}}
  %a = bagua.all_to_all %w over [tp] split 0 concat 0 : !t -> !t
  // expected-error @+1 {{expected state 'w' replicated over axis 'tp', found varying}}
  bagua.yield %a : !t
}

// -----

// ... and pending over other axes stays pending there.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-note @+1 {{'w.grad' is pending over axis 'node'}}
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %a = bagua.all_to_all %g over [tp] split 0 concat 0 : !t -> !t
  %b = bagua.all_reduce sum %a over [tp] : !t
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found pending}}
  bagua.yield %b : !t
}

// -----

// ... never with less, on any axis.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (param %w "w" varies [node] : !t,
    // expected-note @+1 {{argument 'v' is varying over axis 'tp'}}
    param %v "v" varies [tp] : !t) {
  %n = bagua.linear [1.0, -1.0] (%w, %v) : !t
  // expected-error @+1 {{expected state 'w' replicated over axis 'tp', found varying}}
  bagua.yield %n, %v : !t, !t
}
