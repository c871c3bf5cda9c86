// Two models that train by turns, as in a GAN: of every three iterations the third one is the second model's. Each step has params and
// gradients of its own. Before iteration 4 all ranks take the first one's momenta.
!x = tensor<8xf32>
!w = tensor<1001xf32>
!b = tensor<65xf32>
!v = tensor<2049xf32>
bagua.cluster @pod axes [#bagua.axis<"gpu", size = 2, latency_ns = 25000, bytes_per_s = 12500000000>]
bagua.step @judge on @pod data [gpu] (batch %x "x" : !x, param %w "w" : !w, optimizer %wm "w.m" : !w, optimizer %wv "w.v" : !w,
    param %b "b" : !b, optimizer %bm "b.m" : !b, optimizer %bv "b.v" : !b) {
  %y = bagua.compute forward "f"(%x, %w, %b) cost_ns 1000 measured : (!x, !w, !b) -> (!x)
  %gw, %gb = bagua.compute backward "b"(%y, %w) cost_ns 1000 measured : (!x, !w) -> (!w grad "w", !b grad "b")
  %w1, %wm1, %wv1 = bagua.adam (%w, %wm, %wv) betas [0.9, 0.98] eps 1.0e-06 bias_correction moments grad %gw lr 0.01 : !w
  %b1, %bm1, %bv1 = bagua.adam (%b, %bm, %bv) betas [0.9, 0.98] eps 1.0e-06 bias_correction moments grad %gb lr 0.01 : !b
  bagua.yield %w1, %wm1, %wv1, %b1, %bm1, %bv1 : !w, !w, !w, !b, !b, !b
}
bagua.step @paint on @pod data [gpu] (batch %x "x" : !x, param %v "v" : !v, optimizer %vm "v.m" : !v, optimizer %vv "v.v" : !v,
    param %c "c" : !b, optimizer %cm "c.m" : !b, optimizer %cv "c.v" : !b) {
  %y = bagua.compute forward "f"(%x, %v, %c) cost_ns 1000 measured : (!x, !v, !b) -> (!x)
  %gv, %gc = bagua.compute backward "b"(%y, %v) cost_ns 1000 measured : (!x, !v) -> (!v grad "v", !b grad "c")
  %v1, %vm1, %vv1 = bagua.adam (%v, %vm, %vv) betas [0.9, 0.98] eps 1.0e-06 bias_correction moments grad %gv lr 0.01 : !v
  %c1, %cm1, %cv1 = bagua.adam (%c, %cm, %cv) betas [0.9, 0.98] eps 1.0e-06 bias_correction moments grad %gc lr 0.01 : !b
  bagua.yield %v1, %vm1, %vv1, %c1, %cm1, %cv1 : !v, !v, !v, !b, !b, !b
}
bagua.step @share on @pod (optimizer %wm "w.m" : !w, optimizer %vm "v.m" : !v) {
  %rw = bagua.slice %wm : !w -> tensor<1001xf32, #bagua.layout<root [gpu]>>
  %w1 = bagua.broadcast %rw over [gpu] : tensor<1001xf32, #bagua.layout<root [gpu]>> -> !w
  %rv = bagua.slice %vm : !v -> tensor<2049xf32, #bagua.layout<root [gpu]>>
  %v1 = bagua.broadcast %rv over [gpu] : tensor<2049xf32, #bagua.layout<root [gpu]>> -> !v
  bagua.yield %w1, %v1 : !w, !v
}
bagua.training @gan {
  bagua.phase @share at 4
  bagua.phase @paint every 3 offset 2
  bagua.phase @judge
}
