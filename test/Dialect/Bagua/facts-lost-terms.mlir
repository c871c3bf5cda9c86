// RUN: bagua-opt %s --bagua-verify-graph --split-input-file --verify-diagnostics

// What would lose or mix contributions to a mean that is still owed. Each of these
// steps has the right types, and ends with a gradient that looks reduced.

// One rank's copy is not the mean: the others' contributions are lost.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is pending over it}}
  %1 = bagua.slice %g : !t -> !r
  %2 = bagua.broadcast %1 over [node] : !r -> !t
  %n = bagua.sgd (%w) grad %2 lr 0.1 : !t
  bagua.yield %n : !t
}

// -----

// Nor are pieces, each of another rank's: a mean of what is gathered is a mean of equals.
!t = tensor<8xf32>
!z = tensor<8xf32, #bagua.layout<shard [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is pending over it}}
  %1 = bagua.slice %g : !t -> !z
  %2 = bagua.all_gather %1 over [node] : !z -> !t
  %3 = bagua.all_reduce mean %2 over [node] : !t
  %n = bagua.sgd (%w) grad %3 lr 0.1 : !t
  bagua.yield %n : !t
}

// -----

// A server keeps one worker's.
!t = tensor<8xf32>
!v = tensor<8xf32, #bagua.layout<server>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is pending over it}}
  %1 = bagua.slice %g : !t -> !v
  %2 = bagua.pull %1 over [node] : !v -> !t
  %n = bagua.sgd (%w) grad %2 lr 0.1 : !t
  bagua.yield %n : !t
}

// -----

// Shards that a gradient is made in are pieces as well,
!t = tensor<8xf32>
!z = tensor<8xf32, #bagua.layout<shard [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !z) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !z) -> (!z grad "w")
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is pending over it}}
  %1 = bagua.all_gather %g over [node] : !z -> !t
  bagua.yield %w : !z
}

// -----

// ... encoded or not,
!t = tensor<8xf32>
!z = tensor<8xf32, #bagua.layout<shard [node]>>
!q = !bagua.encoded<!z, #bagua.signsgd>
!p = !bagua.encoded<!t, #bagua.signsgd, parts [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !z) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !z) -> (!z grad "w")
  %q = bagua.encode %g : (!z) -> (!q)
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is pending over it}}
  %1 = bagua.all_gather %q over [node] : !q -> !p
  bagua.yield %w : !z
}

// -----

// ... and what a gradient makes at the root is the root's alone.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !r) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !r) -> (!r grad "w")
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is pending over it}}
  %1 = bagua.broadcast %g over [node] : !r -> !t
  bagua.yield %w : !r
}

// -----

// Elements that change places between ranks belong to no tensor of which a mean is owed,
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is pending over it}}
  %1 = bagua.all_to_all %g over [node] split 0 concat 0 : !t -> !t
  %2 = bagua.all_reduce mean %1 over [node] : !t
  %n = bagua.sgd (%w) grad %2 lr 0.1 : !t
  bagua.yield %n : !t
}

// -----

// ... nor does what a neighbour has.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is pending over it}}
  %l, %r = bagua.exchange ring %g over [node] : !t -> !t, !t
  %2 = bagua.all_reduce mean %l over [node] : !t
  %n = bagua.sgd (%w) grad %2 lr 0.1 : !t
  bagua.yield %n : !t
}

// -----

// The mean of rounded numbers is not the rounded mean.
!t = tensor<8xf32>
!i = tensor<8xi32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is pending over it}}
  %1 = bagua.cast %g : !t -> !i
  %2 = bagua.cast %1 : !i -> !t
  %3 = bagua.all_reduce mean %2 over [node] : !t
  %n = bagua.sgd (%w) grad %3 lr 0.1 : !t
  bagua.yield %n : !t
}
