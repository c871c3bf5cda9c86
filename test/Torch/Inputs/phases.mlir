// 8 bits on the wire until iteration 3, then float32; and a step that has no gradient of the head.
!w = tensor<100xf32>
!h = tensor<10xf32>
bagua.cluster @pod axes [#bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 200000000000>]
bagua.step @coarse on @pod data [gpu] (batch %x "x" : !w, param %w "w" : !w, param %h "h" : !h) {
  %gw, %gh = bagua.compute backward "b"(%x, %w, %h) cost_ns 1000 measured : (!w, !w, !h) -> (!w grad "w", !h grad "h")
  %w1 = bagua.sgd (%w) grad %gw lr 0.1 : !w
  %h1 = bagua.sgd (%h) grad %gh lr 0.1 : !h
  bagua.yield %w1, %h1 : !w, !h
}
bagua.step @fine on @pod data [gpu] (batch %x "x" : !w, param %w "w" : !w, param %h "h" : !h) {
  %gw, %gh = bagua.compute backward "b"(%x, %w, %h) cost_ns 1000 measured : (!w, !w, !h) -> (!w grad "w", !h grad "h")
  %w1 = bagua.sgd (%w) grad %gw lr 0.1 : !w
  %h1 = bagua.sgd (%h) grad %gh lr 0.1 : !h
  bagua.yield %w1, %h1 : !w, !h
}
bagua.step @body on @pod data [gpu] (batch %x "x" : !w, param %w "w" : !w) {
  %gw = bagua.compute backward "b"(%x, %w) cost_ns 1000 measured : (!w, !w) -> (!w grad "w")
  %w1 = bagua.sgd (%w) grad %gw lr 0.1 : !w
  bagua.yield %w1 : !w
}
bagua.training @job {
  bagua.phase @coarse until 3
  bagua.phase @fine until 6
  bagua.phase @body
}
