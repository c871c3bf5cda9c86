// 8 workers of one GPU each on 10 Gbit/s Ethernet, TCP. Device: data sheet of the NVIDIA V100 SXM2 (15.7 Tflop/s in
// float32, 900 GB/s). Link: a 16 KB message reaches 1.2 Gbit/s and one of 1 MB 8.2 Gbit/s (Shi et al., arXiv 2005.13247,
// point to point over TCP on 10GbE), which is 95 us and 9.0 Gbit/s. 5 us a launch is what CUDA programs commonly see.
bagua.cluster @tcp_10g
    axes [#bagua.axis<"node", size = 8, latency_ns = 95000, bytes_per_s = 1129000000>]
    device #bagua.device<flop_per_s = 15700000000000, bytes_per_s = 900000000000, launch_ns = 5000>
