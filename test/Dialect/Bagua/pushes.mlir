// RUN: bagua-opt %s --bagua-verify-graph --split-input-file --verify-diagnostics

// What workers push, and what servers do with it.

// A server has room for one value of each part: of several groups that push, one is kept.
!t = tensor<8xf32>
!v = tensor<8xf32, #bagua.layout<server>>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected an operand that has been reduced over axis 'gpu', found one that is pending over it}}
  %p = bagua.push mean %g over [node] : !t -> !v
  %q = bagua.pull %p over [node] : !v -> !t
  %r = bagua.all_reduce mean %q over [gpu] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}

// -----

// Groups that push other parts each have a place of their own.
!t = tensor<8xf32>
!z = tensor<8xf32, #bagua.layout<shard [gpu]>>
!zv = tensor<8xf32, #bagua.layout<shard [gpu], server>>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %s = bagua.reduce_scatter mean %g over [gpu] : !t -> !z
  %p = bagua.push mean %s over [node] : !z -> !zv
  %q = bagua.pull %p over [node] : !zv -> !z
  %r = bagua.all_gather %q over [gpu] : !z -> !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}

// -----

// Under asp a server applies each push when it comes, so nothing waits for two.
!t = tensor<8xf32>
!v = tensor<8xf32, #bagua.layout<server>>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] consistency asp (batch %x "x" : !t, param %v "w" : !v) {
  %w = bagua.pull %v over [node, gpu] : !v -> !t
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-note @+1 {{one push is here}}
  %p = bagua.push sum %g over [node, gpu] : !t -> !v
  // expected-note @+1 {{the other is here}}
  %q = bagua.push sum %g over [node, gpu] : !t -> !v
  %u = bagua.sgd (%v) grad %p lr 0.1 : !v
  // expected-error @+1 {{expected a value that depends on one push, found a value that depends on two, which are applied one by one under consistency asp}}
  %n = bagua.linear [1.0, -0.1] (%u, %q) : !v
  bagua.yield %n : !v
}

// -----

// Under bsp it does.
!t = tensor<8xf32>
!v = tensor<8xf32, #bagua.layout<server>>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t) {
  %p = bagua.push mean %x over [node, gpu] : !t -> !v
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %q = bagua.push mean %g over [node, gpu] : !t -> !v
  %s = bagua.linear [1.0, 0.1] (%q, %p) : !v
  %r = bagua.pull %s over [node, gpu] : !v -> !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}
