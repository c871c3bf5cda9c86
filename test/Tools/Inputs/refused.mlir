// The narrow copy of %w lies in memory that the program binds as 32 bytes of float32.
!t = tensor<8xf32>
!h = tensor<8xbf16>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @train on @pod data [node] streams [comm] (param %w "w" at "w" : !t, replica %m "m" at "m" : !t) attributes {bagua.contract = []} {
  %n = bagua.cast %w on comm at ["m"] : !t -> !h
  %a = bagua.cast %n on comm at [scratch:0] : !h -> !t
  %b = bagua.concat %a on comm at ["m"] : !t -> !t
  bagua.yield %w, %b : !t, !t
}
