// The step of a small classifier, 2 -> 256 -> 256 -> 3, on four ranks with 64 samples each. Written by hand: one
// compute op where the program has one function. SGD with momentum; who runs it, the program
// or the plan's instructions, is the strategy's to say.
!x = tensor<64x2xf32>
!y = tensor<64xi32>
!h = tensor<64x256xf32>
!o = tensor<64x3xf32>
!w1 = tensor<2x256xf32>
!w2 = tensor<256x256xf32>
!w3 = tensor<256x3xf32>
!b = tensor<256xf32>
!b3 = tensor<3xf32>
bagua.cluster @threads axes [#bagua.axis<"rank", size = 4, latency_ns = 5000, bytes_per_s = 10000000000>]
bagua.step @train on @threads data [rank] (
    batch %x "x" : !x, batch %y "y" : !y,
    param %w1 "layer1.weight" : !w1, param %b1 "layer1.bias" : !b,
    param %w2 "layer2.weight" : !w2, param %b2 "layer2.bias" : !b,
    param %w3 "layer3.weight" : !w3, param %b3 "layer3.bias" : !b3,
    optimizer %mw1 "layer1.weight.momentum" : !w1, optimizer %mb1 "layer1.bias.momentum" : !b,
    optimizer %mw2 "layer2.weight.momentum" : !w2, optimizer %mb2 "layer2.bias.momentum" : !b,
    optimizer %mw3 "layer3.weight.momentum" : !w3, optimizer %mb3 "layer3.bias.momentum" : !b3) {
  %h1 = bagua.compute forward "layer1"(%x, %w1, %b1) : (!x, !w1, !b) -> (!h)
  %h2 = bagua.compute forward "layer2"(%h1, %w2, %b2) : (!h, !w2, !b) -> (!h)
  %d3 = bagua.compute forward "layer3"(%h2, %w3, %b3, %y) : (!h, !w3, !b3, !y) -> (!o)
  %gw3, %gb3 = bagua.compute backward "layer3"(%d3, %h2) : (!o, !h) -> (!w3 grad "layer3.weight", !b3 grad "layer3.bias")
  %d2 = bagua.compute backward "layer2.input"(%d3, %w3, %h2) : (!o, !w3, !h) -> (!h)
  %gw2, %gb2 = bagua.compute backward "layer2"(%d2, %h1) : (!h, !h) -> (!w2 grad "layer2.weight", !b grad "layer2.bias")
  %d1 = bagua.compute backward "layer1.input"(%d2, %w2, %h1) : (!h, !w2, !h) -> (!h)
  %gw1, %gb1 = bagua.compute backward "layer1"(%d1, %x) : (!h, !x) -> (!w1 grad "layer1.weight", !b grad "layer1.bias")
  %w1n, %mw1n = bagua.sgd (%w1, %mw1) momentum 0.9 grad %gw1 lr 0.05 : !w1
  %b1n, %mb1n = bagua.sgd (%b1, %mb1) momentum 0.9 grad %gb1 lr 0.05 : !b
  %w2n, %mw2n = bagua.sgd (%w2, %mw2) momentum 0.9 grad %gw2 lr 0.05 : !w2
  %b2n, %mb2n = bagua.sgd (%b2, %mb2) momentum 0.9 grad %gb2 lr 0.05 : !b
  %w3n, %mw3n = bagua.sgd (%w3, %mw3) momentum 0.9 grad %gw3 lr 0.05 : !w3
  %b3n, %mb3n = bagua.sgd (%b3, %mb3) momentum 0.9 grad %gb3 lr 0.05 : !b3
  bagua.yield %w1n, %b1n, %w2n, %b2n, %w3n, %b3n, %mw1n, %mb1n, %mw2n, %mb2n, %mw3n, %mb3n
      : !w1, !b, !w2, !b, !w3, !b3, !w1, !b, !w2, !b, !w3, !b3
}
