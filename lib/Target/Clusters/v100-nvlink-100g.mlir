// 16 nodes of 8 NVIDIA V100 SXM2 with NVLink, one 100 Gbit/s Ethernet card a node, TCP (the cluster of BAGUA, Gan et al.,
// VLDB 2021), a server on each node. Device and NVLink: data sheet (15.7 Tflop/s in float32, 900 GB/s, six links of 25 GB/s
// each way). Network: the line at 90 %, and the latency of tcp-100g.
// NCCL, which sends nothing directly.
bagua.cluster @v100_nvlink_100g
    axes [#bagua.axis<"node", size = 16, latency_ns = 21000, bytes_per_s = 11250000000, sharers = 8>,
          #bagua.axis<"gpu", size = 8, latency_ns = 5000, bytes_per_s = 150000000000>]
    device #bagua.device<flop_per_s = 15700000000000, bytes_per_s = 900000000000, launch_ns = 5000>
    servers_on [node] rings_and_trees
