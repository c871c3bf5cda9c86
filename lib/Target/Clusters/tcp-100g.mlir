// As tcp-10g on 100 Gbit/s Ethernet. A 16 KB message reaches 4.6 Gbit/s and one of 1 MB 16.5 Gbit/s (Shi et al., arXiv
// 2005.13247), which is 21 us and 17 Gbit/s of one TCP connection; eight connections beside each other are taken to fill
// the line as far as one does 10GbE.
bagua.cluster @tcp_100g
    axes [#bagua.axis<"node", size = 8, latency_ns = 21000, bytes_per_s = 11250000000>]
    device #bagua.device<flop_per_s = 15700000000000, bytes_per_s = 900000000000, launch_ns = 5000>
