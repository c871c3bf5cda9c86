// RUN: bagua-opt %s --bagua-verify-graph --split-input-file --verify-diagnostics

// What is pending in part, and what varies in part, is neither: the contributions in it
// are still owed, and the rest differs. So no op makes of the one the other.

// A bucket of a gradient and of what varies holds both: its sum lacks the division,
!t = tensor<8xf32>
!b = tensor<16xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, buffer %b "b" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %s = bagua.compute forward "stat"(%x) : (!t) -> (!t)
  %c = bagua.concat %g, %s : !t, !t -> !b
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found sum}}
  %d = bagua.all_reduce sum %c over [node] : !b
  %r, %a = bagua.split %d : !b -> !t, !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n, %a : !t, !t
}

// -----

// ... its maximum is one rank's,
!t = tensor<8xf32>
!b = tensor<16xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, buffer %b "b" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %s = bagua.compute forward "stat"(%x) : (!t) -> (!t)
  %c = bagua.concat %g, %s : !t, !t -> !b
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found max}}
  %d = bagua.all_reduce max %c over [node] : !b
  %r, %a = bagua.split %d : !b -> !t, !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n, %a : !t, !t
}

// -----

// ... and a mean of what was rounded is not the rounded mean.
!t = tensor<8xf32>
!b = tensor<16xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %c = bagua.concat %g, %x : !t, !t -> !b
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is mixed over it}}
  %i = bagua.cast %c : !b -> tensor<16xi32>
  %f = bagua.cast %i : tensor<16xi32> -> !b
  %d = bagua.all_reduce mean %f over [node] : !b
  %r, %a = bagua.split %d : !b -> !t, !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}

// -----

// The mean of the whole bucket is right for the gradient, and what the program asked for the rest.
!t = tensor<8xf32>
!b = tensor<16xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, buffer %b "b" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %c = bagua.concat %g, %x : !t, !t -> !b
  %d = bagua.all_reduce mean %c over [node] : !b
  %r, %a = bagua.split %d : !b -> !t, !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n, %a : !t, !t
}

// -----

// The same of a sum: a gradient with a residual
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %y = bagua.linear [1.0, 1.0] (%g, %e) : !t
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found sum}}
  %r = bagua.all_reduce sum %y over [node] : !t
  %d = bagua.linear [1.0, -1.0] (%y, %r) : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n, %d : !t, !t
}

// -----

// ... is not sent by one rank for all,
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %y = bagua.linear [1.0, 1.0] (%g, %e) : !t
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is mixed over it}}
  %1 = bagua.slice %y : !t -> !r
  %r = bagua.broadcast %1 over [node] : !r -> !t
  %d = bagua.linear [1.0, -1.0] (%y, %r) : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n, %d : !t, !t
}

// -----

// ... nor is one with anything else that varies.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %y = bagua.linear [1.0, 0.001] (%g, %x) : !t
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is mixed over it}}
  %1 = bagua.slice %y : !t -> !r
  %r = bagua.broadcast %1 over [node] : !r -> !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}

// -----

// What an update makes of one rank's gradient is that rank's contribution, linear or not:
// of a learning rate that varies
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
!s = tensor<f32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, input %lr "lr" varies [node] : !s) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %u = bagua.sgd (%w) grad %g lr %lr : !t, !s
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is mixed over it}}
  %1 = bagua.slice %u : !t -> !r
  %n = bagua.broadcast %1 over [node] : !r -> !t
  bagua.yield %n : !t
}

// -----

// ... or Adam's, of which one rank's result is taken for all,
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" : !t, optimizer %v "v" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %u, %a, %b = bagua.adam (%w, %m, %v) grad %g lr 0.1 : !t
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is mixed over it}}
  %1 = bagua.slice %u : !t -> !r
  %n = bagua.broadcast %1 over [node] : !r -> !t
  bagua.yield %n, %a, %b : !t, !t, !t
}

// -----

// ... or their sum.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" : !t, optimizer %v "v" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %u, %a, %b = bagua.adam (%w, %m, %v) grad %g lr 0.1 : !t
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found sum}}
  %n = bagua.all_reduce sum %u over [node] : !t
  bagua.yield %n, %a, %b : !t, !t, !t
}

// -----

// Their mean is an algorithm of its own.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" : !t, optimizer %v "v" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %u, %a, %b = bagua.adam (%w, %m, %v) grad %g lr 0.1 : !t
  %n = bagua.all_reduce mean %u over [node] : !t
  %c = bagua.all_reduce mean %a over [node] : !t
  %d = bagua.all_reduce mean %b over [node] : !t
  bagua.yield %n, %c, %d : !t, !t, !t
}

// -----

// Compute hands contributions on,
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %u = bagua.compute update "scale"(%g) : (!t) -> (!t)
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is mixed over it}}
  %l, %k = bagua.exchange ring %u over [node] : !t -> !t, !t
  %r = bagua.all_reduce mean %l over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}

// -----

// ... whatever its phase is called,
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %u = bagua.compute backward "u"(%w, %g) : (!t, !t) -> (!t)
  // expected-error @+1 {{expected an operand that has been reduced over axis 'node', found one that is mixed over it}}
  %1 = bagua.slice %u : !t -> !r
  %n = bagua.broadcast %1 over [node] : !r -> !t
  bagua.yield %n : !t
}

// -----

// ... but on the way to other gradients alone, or to a buffer, a gradient is one more value of the model: its
// own communication may be as it likes.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, param %u "u" : !t, buffer %b "b" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %d = bagua.compute backward "k"(%g) : (!t) -> (!t)
  %e = bagua.all_to_all %d over [node] split 0 concat 0 : !t -> !t
  %h = bagua.compute backward "j"(%e) : (!t) -> (!t grad "u")
  %r = bagua.all_reduce mean %g over [node] : !t
  %q = bagua.all_reduce mean %h over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  %o = bagua.sgd (%u) grad %q lr 0.1 : !t
  %f = bagua.compute update "norm"(%g) : (!t) -> (!t)
  %c = bagua.all_reduce sum %f over [node] : !t
  bagua.yield %n, %o, %c : !t, !t, !t
}

// -----

// A state of the rank's own hands contributions on to the next step, where they are owed still:
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" varies [node] : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %l = bagua.linear [0.9, 0.1] (%m, %g) : !t
  %r = bagua.all_reduce mean %g over [node] : !t
  // expected-error @+1 {{expected kind mean for a gradient that is pending over axis 'node', found sum}}
  %s = bagua.all_reduce sum %m over [node] : !t
  %y = bagua.linear [1.0, 1.0] (%r, %s) : !t
  %n = bagua.sgd (%w) grad %y lr 0.1 : !t
  bagua.yield %n, %l : !t, !t
}

// -----

// ... local momentum is averaged.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" varies [node] : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %l = bagua.linear [0.9, 0.1] (%m, %g) : !t
  %r = bagua.all_reduce mean %l over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n, %l : !t, !t
}
