// RUN: bagua-opt %s --bagua-verify-graph --split-input-file --verify-diagnostics

// Error feedback: what a codec leaves out is owed to the next step, once.

// What the codec has left over is dropped; the old residual is sent again and again.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected one use of residual "e", found 2}}
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %q, %d = bagua.encode %g feedback %e : (!t, !t) -> (!q, !t)
  %t = bagua.all_gather %q over [node] : !q -> !qt
  %m = bagua.decode mean %t : !qt -> !t
  %n = bagua.sgd (%w) grad %m lr 0.1 : !t
  bagua.yield %n, %e : !t, !t
}

// -----

// Nobody adds it.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected one use of residual "e", found 0}}
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %q = bagua.encode %g unchecked : (!t) -> (!q)
  %t = bagua.all_gather %q over [node] : !q -> !qt
  %m = bagua.decode mean %t : !qt -> !t
  %n = bagua.sgd (%w) grad %m lr 0.1 : !t
  bagua.yield %n, %x : !t, !t
}

// -----

// It is sent twice.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-error @+1 {{expected one use of residual "e", found 2}}
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %l = bagua.linear [1.0, 1.0] (%g, %e) : !t
  %q, %d = bagua.encode %l feedback %e : (!t, !t) -> (!q, !t)
  %t = bagua.all_gather %q over [node] : !q -> !qt
  %m = bagua.decode mean %t : !qt -> !t
  %n = bagua.sgd (%w) grad %m lr 0.1 : !t
  bagua.yield %n, %d : !t, !t
}

// -----

// What is left over of one tensor goes to the other.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t, param %u "u" : !t, residual %f "f" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %h = bagua.compute backward "k"(%x, %u) : (!t, !t) -> (!t grad "u")
  // expected-note @+1 {{the residual is added here}}
  %q, %d = bagua.encode %g feedback %e : (!t, !t) -> (!q, !t)
  %t = bagua.all_gather %q over [node] : !q -> !qt
  %m = bagua.decode mean %t : !qt -> !t
  %n = bagua.sgd (%w) grad %m lr 0.1 : !t
  %q1, %d1 = bagua.encode %h feedback %f : (!t, !t) -> (!q, !t)
  %t1 = bagua.all_gather %q1 over [node] : !q -> !qt
  %m1 = bagua.decode mean %t1 : !qt -> !t
  %n1 = bagua.sgd (%u) grad %m1 lr 0.1 : !t
  // expected-error @+1 {{expected the next value of residual "e" to be the error that its encode returns, with no other use of that error}}
  bagua.yield %n, %d1, %n1, %d : !t, !t, !t, !t
}

// -----

// What is left over is used once more.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-note @+1 {{the residual is added here}}
  %q, %d = bagua.encode %g feedback %e : (!t, !t) -> (!q, !t)
  %q1 = bagua.encode %d unchecked : (!t) -> (!q)
  %t = bagua.all_gather %q over [node] : !q -> !qt
  %m = bagua.decode mean %t : !qt -> !t
  %n = bagua.sgd (%w) grad %m lr 0.1 : !t
  // expected-error @+1 {{expected the next value of residual "e" to be the error that its encode returns, with no other use of that error}}
  bagua.yield %n, %d : !t, !t
}

// -----

// It is fed back by nothing that is known to.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected residual "e" to be added by an encode or a linear}}
  %b, %c = bagua.compute backward "own"(%g, %e) : (!t, !t) -> (!t, !t)
  bagua.yield %w, %c : !t, !t
}

// -----

// PowerSGD adds it to a gradient; what is left over is a difference from that sum.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-note @+1 {{the residual is added here}}
  %l = bagua.linear [1.0, 1.0] (%g, %e) : !t
  %m = bagua.all_reduce mean %l over [node] : !t
  %n = bagua.sgd (%w) grad %m lr 0.1 : !t
  %d = bagua.linear [1.0, -1.0] (%g, %w) : !t
  // expected-error @+1 {{expected the next value of residual "e" to be the sum that it was added to minus the part of that sum which was sent, found another value}}
  bagua.yield %n, %d : !t, !t
}

// -----

// A residual survives the step, so it is an argument.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %l = bagua.linear [0.5] (%e) : !t
  // expected-error @+1 {{expected a residual that is an argument of the step, found a value that it computes}}
  %q, %d = bagua.encode %g feedback %l : (!t, !t) -> (!q, !t)
  %t = bagua.all_gather %q over [node] : !q -> !qt
  %m = bagua.decode mean %t : !qt -> !t
  %n = bagua.sgd (%w) grad %m lr 0.1 : !t
  bagua.yield %n, %d : !t, !t
}

// -----

// What it is added to is sent: here the gradient goes without it.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected the encoded sum with residual "e" to be used by the next value of a param or of an optimizer's state, found no such use}}
  %q, %d = bagua.encode %g feedback %e : (!t, !t) -> (!q, !t)
  %r = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n, %d : !t, !t
}

// -----

// What else is encoded with it, and used by nobody, is not sent either.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected the encoded sum with residual "e" to be used by the next value of a param or of an optimizer's state, found no such use}}
  %q, %d = bagua.encode %x feedback %e : (!t, !t) -> (!q, !t)
  %t = bagua.all_gather %q over [node] : !q -> !qt
  %k = bagua.decode mean %t : !qt -> !t
  %r = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n, %d : !t, !t
}

// -----

// What is sent 0 times is not sent.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected the encoded sum with residual "e" to be used by the next value of a param or of an optimizer's state, found no such use}}
  %q, %d = bagua.encode %g feedback %e : (!t, !t) -> (!q, !t)
  %t = bagua.all_gather %q over [node] : !q -> !qt
  %k = bagua.decode mean %t : !qt -> !t
  %r = bagua.all_reduce mean %g over [node] : !t
  %z = bagua.linear [0.0, 1.0] (%k, %r) : !t
  %n = bagua.sgd (%w) grad %z lr 0.1 : !t
  bagua.yield %n, %d : !t, !t
}

// -----

// A sum that is kept and never sent only grows.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-note @+1 {{the residual is added here}}
  %y = bagua.linear [1.0, 1.0] (%g, %e) : !t
  %r = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  // expected-error @+1 {{expected the next value of residual "e" to be the sum that it was added to minus the part of that sum which was sent, found another value}}
  bagua.yield %n, %y : !t, !t
}

// -----

// A sum that is sent and kept is sent twice.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-note @+1 {{the residual is added here}}
  %y = bagua.linear [1.0, 1.0] (%g, %e) : !t
  %r = bagua.all_reduce mean %y over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  // expected-error @+1 {{expected the next value of residual "e" to be the sum that it was added to minus the part of that sum which was sent, found another value}}
  bagua.yield %n, %y : !t, !t
}

// -----

// What was not sent is not forgotten.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-note @+1 {{the residual is added here}}
  %y = bagua.linear [1.0, 1.0] (%g, %e) : !t
  %r = bagua.all_reduce mean %y over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  %d = bagua.linear [0.0, 0.0] (%y, %r) : !t
  // expected-error @+1 {{expected the next value of residual "e" to be the sum that it was added to minus the part of that sum which was sent, found another value}}
  bagua.yield %n, %d : !t, !t
}

// -----

// What is taken off the sum has been sent.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-note @+1 {{the residual is added here}}
  %y = bagua.linear [1.0, 1.0] (%g, %e) : !t
  %r = bagua.all_reduce mean %g over [node] : !t
  %k = bagua.cast %y : !t -> tensor<8xbf16>
  %c = bagua.cast %k : tensor<8xbf16> -> !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  %d = bagua.linear [1.0, -1.0] (%y, %c) : !t
  // expected-error @+1 {{expected the next value of residual "e" to be the sum that it was added to minus the part of that sum which was sent, found another value}}
  bagua.yield %n, %d : !t, !t
}

// -----

// A residual is added as it is, not multiplied by 0.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{expected coefficient 1 for residual "e", found 0.000000e+00}}
  %y = bagua.linear [1.0, 0.0] (%g, %e) : !t
  %r = bagua.all_reduce mean %y over [node] : !t
  %d = bagua.linear [1.0, -1.0] (%y, %r) : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n, %d : !t, !t
}

// -----

// What is rounded to the wire's type may be fed back by a linear.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %y = bagua.linear [1.0, 1.0] (%g, %e) : !t
  %k = bagua.cast %y : !t -> tensor<8xbf16>
  %c = bagua.cast %k : tensor<8xbf16> -> !t
  %r = bagua.all_reduce mean %c over [node] : !t
  %d = bagua.linear [1.0, -1.0] (%y, %c) : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n, %d : !t, !t
}

// -----

// Rows of a training share a residual by its name, and its gradient with it.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %q, %d = bagua.encode %g feedback %e : (!t, !t) -> (!q, !t)
  %t = bagua.all_gather %q over [node] : !q -> !qt
  %r = bagua.decode mean %t : !qt -> !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n, %d : !t, !t
}
bagua.step @b on @grid data [node] (batch %x "x" : !t, param %w "u" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "u")
  %q, %d = bagua.encode %g feedback %e : (!t, !t) -> (!q, !t)
  %t = bagua.all_gather %q over [node] : !q -> !qt
  %r = bagua.decode mean %t : !qt -> !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n, %d : !t, !t
}
bagua.training @job {
  // expected-note @+1 {{the other row}}
  bagua.phase @a every 2 offset 0
  // expected-error @+1 {{expected state 'e' to be computed from the same gradients in each row, found other gradients in step 'b'}}
  bagua.phase @b
}

// -----

// The same of the parts of a bucket.
!t = tensor<8xf32>
!b = tensor<16xf32>
!q = !bagua.encoded<!b, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!b, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, param %u "u" : !t, residual %e "e" : !b) {
  %g, %h = bagua.compute backward "l"(%x, %w, %u) : (!t, !t, !t) -> (!t grad "w", !t grad "u")
  %c = bagua.concat %g, %h : !t, !t -> !b
  %q, %d = bagua.encode %c feedback %e : (!b, !b) -> (!q, !b)
  %t = bagua.all_gather %q over [node] : !q -> !qt
  %r = bagua.decode mean %t : !qt -> !b
  %k, %l = bagua.split %r : !b -> !t, !t
  %n = bagua.sgd (%w) grad %k lr 0.1 : !t
  %o = bagua.sgd (%u) grad %l lr 0.1 : !t
  bagua.yield %n, %o, %d : !t, !t, !b
}
bagua.step @b on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, param %u "u" : !t, residual %e "e" : !b) {
  %g, %h = bagua.compute backward "l"(%x, %w, %u) : (!t, !t, !t) -> (!t grad "w", !t grad "u")
  %c = bagua.concat %h, %g : !t, !t -> !b
  %q, %d = bagua.encode %c feedback %e : (!b, !b) -> (!q, !b)
  %t = bagua.all_gather %q over [node] : !q -> !qt
  %r = bagua.decode mean %t : !qt -> !b
  %l, %k = bagua.split %r : !b -> !t, !t
  %n = bagua.sgd (%w) grad %k lr 0.1 : !t
  %o = bagua.sgd (%u) grad %l lr 0.1 : !t
  bagua.yield %n, %o, %d : !t, !t, !b
}
bagua.training @job {
  // expected-note @+1 {{the other row}}
  bagua.phase @a until 100
  // expected-error @+1 {{expected state 'e' to be computed from the same gradients in each row, found other gradients in step 'b'}}
  bagua.phase @b
}

// -----

// How each row adds it is its own affair.
!t = tensor<8xf32>
!q = !bagua.encoded<!t, #bagua.topk<count = 2>>
!qt = !bagua.encoded<!t, #bagua.topk<count = 2>, terms [node]>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %q, %d = bagua.encode %g feedback %e : (!t, !t) -> (!q, !t)
  %t = bagua.all_gather %q over [node] : !q -> !qt
  %r = bagua.decode mean %t : !qt -> !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n, %d : !t, !t
}
bagua.step @b on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, residual %e "e" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %h = bagua.linear [0.5] (%g) : !t
  %q, %d = bagua.encode %h feedback %e : (!t, !t) -> (!q, !t)
  %t = bagua.all_gather %q over [node] : !q -> !qt
  %r = bagua.decode mean %t : !qt -> !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n, %d : !t, !t
}
bagua.training @job {
  bagua.phase @a until 100
  bagua.phase @b
}
