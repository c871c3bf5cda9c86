// Two models with common params, each with one of its own behind these in the same bucket.
!x = tensor<8xf32>
!w = tensor<1000xf32>
bagua.cluster @pod axes [#bagua.axis<"gpu", size = 2, latency_ns = 25000, bytes_per_s = 12500000000>]
bagua.step @d on @pod data [gpu] (batch %x "x" : !x, param %a "a" : !w, param %c "c" : !w, param %h "h" : !w) {
  %y = bagua.compute forward "f"(%x, %a, %c, %h) cost_ns 1000 measured : (!x, !w, !w, !w) -> (!x)
  %ga = bagua.compute backward "ba"(%y, %a) cost_ns 1000 measured : (!x, !w) -> (!w grad "a")
  %gc = bagua.compute backward "bc"(%y, %c) cost_ns 1000 measured : (!x, !w) -> (!w grad "c")
  %gh = bagua.compute backward "bh"(%y, %h) cost_ns 1000 measured : (!x, !w) -> (!w grad "h")
  %na = bagua.sgd (%a) grad %ga lr 0.1 : !w
  %nc = bagua.sgd (%c) grad %gc lr 0.1 : !w
  %nh = bagua.sgd (%h) grad %gh lr 0.1 : !w
  bagua.yield %na, %nc, %nh : !w, !w, !w
}
bagua.step @g on @pod data [gpu] (batch %x "x" : !x, param %a "a" : !w, param %c "c" : !w, param %k "k" : !w) {
  %y = bagua.compute forward "f"(%x, %a, %c, %k) cost_ns 1000 measured : (!x, !w, !w, !w) -> (!x)
  %ga = bagua.compute backward "ba"(%y, %a) cost_ns 1000 measured : (!x, !w) -> (!w grad "a")
  %gc = bagua.compute backward "bc"(%y, %c) cost_ns 1000 measured : (!x, !w) -> (!w grad "c")
  %gk = bagua.compute backward "bk"(%y, %k) cost_ns 1000 measured : (!x, !w) -> (!w grad "k")
  %na = bagua.sgd (%a) grad %ga lr 0.1 : !w
  %nc = bagua.sgd (%c) grad %gc lr 0.1 : !w
  %nk = bagua.sgd (%k) grad %gk lr 0.1 : !w
  bagua.yield %na, %nc, %nk : !w, !w, !w
}
bagua.training @job {
  bagua.phase @g every 3 offset 2
  bagua.phase @d
}
