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
  // expected-error @+1 {{expected the next value of residual "e" to be what its encode has left over, used here alone}}
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
  // expected-error @+1 {{expected the next value of residual "e" to be what its encode has left over, used here alone}}
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
  %l = bagua.linear [1.0, 1.0] (%g, %e) : !t
  %m = bagua.all_reduce mean %l over [node] : !t
  %n = bagua.sgd (%w) grad %m lr 0.1 : !t
  %d = bagua.linear [1.0, -1.0] (%g, %w) : !t
  // expected-error @+1 {{expected the next value of residual "e" to come from the sum that it was added to, found another}}
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
