// A device on which small tensors take as long as communication between two ranks.
bagua.cluster @slow axes [#bagua.axis<"data", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>]
    device #bagua.device<flop_per_s = 100000000, bytes_per_s = 100000000, launch_ns = 100>
