// 8 nodes of 4 NVIDIA RTX 2080 Ti on PCIe 3.0, 100 Gbit/s InfiniBand (Shi et al., arXiv 2005.13247), as many dedicated
// servers as nodes. Device: data sheet (13.4 Tflop/s in float32, 616 GB/s). Between nodes: 16.7 Gbit/s for 16 KB, 83.2 for
// 1 MB (measured there), which is 6.4 us and 89 Gbit/s. Inside a node the four share one bus: their own figure for 4 GPUs,
// ResNet-50 925.02 of 4 x 253.1 samples/s without overlap, is 24 ms for 102 MB, or 6.4 GB/s for each at the bus's 25.6.
// NCCL, which sends nothing directly.
bagua.cluster @rtx2080ti_ib100
    axes [#bagua.axis<"node", size = 8, latency_ns = 6400, bytes_per_s = 11100000000, sharers = 4>,
          #bagua.axis<"gpu", size = 4, latency_ns = 10000, bytes_per_s = 25600000000, sharers = 4>]
    device #bagua.device<flop_per_s = 13400000000000, bytes_per_s = 616000000000, launch_ns = 5000>
    servers 8 rings_and_trees
