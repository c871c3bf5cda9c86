// A 16-bit param that is cast from its 32-bit master, beside one without.
!t = tensor<1000xf32>
!h = tensor<1000xbf16>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 10000000000>] servers_on [node]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !h, param %v "v" : !t, optimizer %mw "mw" : !t, optimizer %m "m" : !t, optimizer %q "q" : !t) {
  %a = bagua.compute forward "f"(%x, %w, %v) cost_ns 100000 measured : (!t, !h, !t) -> (!t)
  %g, %h = bagua.compute backward "l"(%a, %w) cost_ns 100000 measured : (!t, !h) -> (!h grad "w", !t grad "v")
  %gc = bagua.cast %g : !h -> !t
  %mn, %m1, %q1 = bagua.adam (%mw, %m, %q) grad %gc lr 0.1 : !t
  %n = bagua.cast %mn : !t -> !h
  %vn = bagua.sgd (%v) grad %h lr 0.1 : !t
  bagua.yield %n, %vn, %mn, %m1, %q1 : !h, !t, !t, !t, !t
}
