// As tcp-10g on 1 Gbit/s Ethernet. Nothing here is measured: the latency is that of 10GbE and the rate its 90 % of the
// line.
bagua.cluster @tcp_1g
    axes [#bagua.axis<"node", size = 8, latency_ns = 95000, bytes_per_s = 112500000>]
    device #bagua.device<flop_per_s = 15700000000000, bytes_per_s = 900000000000, launch_ns = 5000>
