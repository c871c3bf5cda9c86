// Means are rounded to bfloat16 and back before the program uses them; the means themselves stay in the gradients' memory.
!t = tensor<1000xf32>
!h = tensor<1000xbf16>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>] servers_on [node]
bagua.step @train on @pod data [node] (batch %x "x" : !t, param %v "v" : !t, param %w "w" : !t) {
  %a = bagua.compute forward "l"(%x, %v, %w) cost_ns 10000 measured : (!t, !t, !t) -> (!t)
  %gv, %gw = bagua.compute backward "l"(%a, %x) cost_ns 10000 measured : (!t, !t) -> (!t grad "v", !t grad "w")
  %hv = bagua.cast %gv : !t -> !h
  %hw = bagua.cast %gw : !t -> !h
  %rv = bagua.cast %hv : !h -> !t
  %rw = bagua.cast %hw : !h -> !t
  %nv = bagua.compute update "own"(%v, %rv) cost_ns 1000 measured : (!t, !t) -> (!t)
  %nw = bagua.sgd (%w) grad %rw lr 0.1 : !t
  bagua.yield %nv, %nw : !t, !t
}
