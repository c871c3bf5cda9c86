// 8 nodes of 4 NVIDIA RTX 2080 Ti on PCIe 3.0, 100 Gbit/s InfiniBand (Shi et al., arXiv 2005.13247), as their measured
// throughputs are met best (docs/Validation.md): links, the part of a node's bus that compute leaves, and what Horovod takes
// for a message, who also gets 0.90 of the card's 6.04 GB/s. Device: data sheet (13.4 Tflop/s in float32, 616 GB/s). NCCL,
// which sends nothing directly.
bagua.cluster @rtx2080ti_ib100
    axes [#bagua.axis<"node", size = 8, latency_ns = 1000, bytes_per_s = 5436000000, sharers = 4>,
          #bagua.axis<"gpu", size = 4, latency_ns = 1000, bytes_per_s = 21000000000, sharers = 4, overlapped_rate = 0.33>]
    device #bagua.device<flop_per_s = 13400000000000, bytes_per_s = 616000000000, launch_ns = 5000>
    message_ns 126000 rings_and_trees
