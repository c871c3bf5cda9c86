// 16-bit gradients that the program widens for its own update.
!t = tensor<1024xf32>
!h = tensor<1024xbf16>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>] servers_on [node]
bagua.step @s on @pod data [node] (batch %x "x" : !t, param %w "w" : !h, param %v "v" : !h) {
  %a = bagua.compute forward "f"(%x, %w, %v) cost_ns 100000 measured : (!t, !h, !h) -> (!t)
  %g = bagua.compute backward "l"(%a, %w) cost_ns 100000 measured : (!t, !h) -> (!h grad "w")
  %h = bagua.compute backward "k"(%a, %v) cost_ns 100000 measured : (!t, !h) -> (!h grad "v")
  %gc = bagua.cast %g : !h -> !t
  %hc = bagua.cast %h : !h -> !t
  %n = bagua.compute update "opt.w"(%w, %gc) : (!h, !t) -> (!h)
  %m = bagua.compute update "opt.v"(%v, %hc) : (!h, !t) -> (!h)
  bagua.yield %n, %m : !h, !h
}
