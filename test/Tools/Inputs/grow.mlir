// The second step has the bucket of the first one with a further tensor, behind a bucket of its own.
!x = tensor<8xf32>
!w = tensor<1000xf32>
bagua.cluster @pod axes [#bagua.axis<"gpu", size = 2, latency_ns = 25000, bytes_per_s = 12500000000>]
bagua.step @d on @pod data [gpu] (batch %x "x" : !x, param %a "a" : !w, param %c "c" : !w) {
  %y = bagua.compute forward "f"(%x, %a, %c) cost_ns 1000 measured : (!x, !w, !w) -> (!x)
  %ga = bagua.compute backward "ba"(%y, %a) cost_ns 1000 measured : (!x, !w) -> (!w grad "a")
  %gc = bagua.compute backward "bc"(%y, %c) cost_ns 1000 measured : (!x, !w) -> (!w grad "c")
  %na = bagua.sgd (%a) grad %ga lr 0.1 : !w
  %nc = bagua.sgd (%c) grad %gc lr 0.1 : !w
  bagua.yield %na, %nc : !w, !w
}
bagua.step @g on @pod data [gpu] (batch %x "x" : !x, param %b "b" : !w, param %e "e" : !w, param %a "a" : !w, param %c "c" : !w, param %f "f" : !w) {
  %y = bagua.compute forward "f"(%x, %b, %e, %a, %c, %f) cost_ns 1000 measured : (!x, !w, !w, !w, !w, !w) -> (!x)
  %gb = bagua.compute backward "bb"(%y, %b) cost_ns 1000 measured : (!x, !w) -> (!w grad "b")
  %ge = bagua.compute backward "be"(%y, %e) cost_ns 1000 measured : (!x, !w) -> (!w grad "e")
  %ga = bagua.compute backward "ba"(%y, %a) cost_ns 1000 measured : (!x, !w) -> (!w grad "a")
  %gc = bagua.compute backward "bc"(%y, %c) cost_ns 1000 measured : (!x, !w) -> (!w grad "c")
  %gf = bagua.compute backward "bf"(%y, %f) cost_ns 1000 measured : (!x, !w) -> (!w grad "f")
  %nb = bagua.sgd (%b) grad %gb lr 0.1 : !w
  %ne = bagua.sgd (%e) grad %ge lr 0.1 : !w
  %na = bagua.sgd (%a) grad %ga lr 0.1 : !w
  %nc = bagua.sgd (%c) grad %gc lr 0.1 : !w
  %nf = bagua.sgd (%f) grad %gf lr 0.1 : !w
  bagua.yield %nb, %ne, %na, %nc, %nf : !w, !w, !w, !w, !w
}
bagua.training @job {
  bagua.phase @g every 3 offset 2
  bagua.phase @d
}
