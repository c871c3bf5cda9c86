//===- PlanLayout.h - What each rank stores of a value in a plan ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks, servers and layouts as a plan has them, and the sizes that follow from
// a rank's coordinates. Support/Parts.h defines how elements are cut.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_RUNTIME_PLANLAYOUT_H
#define BAGUA_RUNTIME_PLANLAYOUT_H

#include "bagua/Support/Encodings.h"
#include "bagua/Support/Parts.h"
#include "bagua/Support/Topology.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace flatbuffers {
template <typename T> struct Offset;
template <typename T> class Vector;
} // namespace flatbuffers

namespace bagua::runtime {

namespace fb {
struct LayoutEntry;
struct Tensor;
struct Value;
} // namespace fb

/// The topology, and the ranks of its servers. Dedicated servers are numbered
/// first, then co-located ones in the order of their ranks.
class PlanCluster {
public:
  /// If `hasColocated`, there is one more server for each coordinate on
  /// `serverAxes`, at coordinate 0 of all other axes.
  PlanCluster(Topology topology, bool hasColocated,
              std::vector<int64_t> serverAxes);

  const Topology &topology() const { return shape; }
  int64_t serverCount() const { return shape.servers() + colocated; }
  int64_t serverRank(int64_t server) const;
  /// The number of the server that `rank` is; -1 if it is none.
  int64_t serverOfRank(int64_t rank) const;
  bool isWorker(int64_t rank) const { return rank < shape.workers(); }

private:
  Topology shape;
  int64_t colocated;
  std::vector<int64_t> serverAxes;
};

/// One entry of a layout.
struct LayoutPart {
  enum class Kind : uint8_t { Shard, Root, Server };
  Kind kind = Kind::Shard;
  /// For Shard and Root: the cluster's axes, ascending.
  std::vector<int64_t> axes;
  /// For Server: the server's number, or -1 if all servers share the value.
  int64_t server = -1;

  friend bool operator==(const LayoutPart &a, const LayoutPart &b) {
    return a.kind == b.kind && a.axes == b.axes && a.server == b.server;
  }
  friend bool operator!=(const LayoutPart &a, const LayoutPart &b) {
    return !(a == b);
  }
};

/// Outermost entry first. A Server entry comes last.
using Layout = std::vector<LayoutPart>;

/// A null vector is the empty layout.
Layout readLayout(
    const flatbuffers::Vector<flatbuffers::Offset<fb::LayoutEntry>> *entries);

bool isOnServers(const Layout &layout);

/// The number of ranks or servers among which an entry cuts a value.
int64_t cutsOf(const LayoutPart &entry, const PlanCluster &cluster);
/// The product over all entries.
int64_t partCount(const Layout &layout, const PlanCluster &cluster);
/// Elements of the largest part of `count` elements.
int64_t maxPartCount(int64_t count, const Layout &layout,
                     const PlanCluster &cluster);

/// The range of a tensor of `count` elements that a worker stores. For layouts
/// without servers.
ElementRange workerRange(int64_t count, const Layout &layout,
                         const PlanCluster &cluster, int64_t rank);

/// The number of elements that `rank` stores.
///
/// If the layout ends in a server entry, a server keeps one slot for each
/// coordinate of the shards before that entry, in lexicographic order. A slot
/// has the size of the largest part; a single slot has the size of the server's
/// own part.
int64_t localCount(int64_t count, const Layout &layout,
                   const PlanCluster &cluster, int64_t rank);
/// The largest localCount of any rank.
int64_t maxLocalCount(int64_t count, const Layout &layout,
                      const PlanCluster &cluster);
/// The number of slots of a server, and the distance between the beginnings of
/// two slots in elements.
int64_t serverSlots(const Layout &layout, const PlanCluster &cluster);
int64_t serverSlotCount(int64_t count, const Layout &layout,
                        const PlanCluster &cluster);

/// How a value is encoded: in as many parts as ranks on some axes, and one term
/// for each rank on others. With None there is one part and one term.
struct EncodedForm {
  Encoding encoding;
  /// The cluster's axes, ascending.
  std::vector<int64_t> parts;
  std::vector<int64_t> terms;

  friend bool operator==(const EncodedForm &a, const EncodedForm &b) {
    return a.encoding == b.encoding && a.parts == b.parts && a.terms == b.terms;
  }
  friend bool operator!=(const EncodedForm &a, const EncodedForm &b) {
    return !(a == b);
  }
};

/// The form of a value that the loader has verified.
EncodedForm readEncoding(const fb::Value &value);

/// Bytes from one part of a value to the next: those of the largest part of any
/// rank, so that members of a group exchange blocks of one size.
int64_t slotBytes(const fb::Value &value, const PlanCluster &cluster);

/// Bytes that the rank which stores most has of a value, whether encoded or
/// not.
int64_t maxLocalBytes(const fb::Value &value, const PlanCluster &cluster);

/// The number of elements in a tensor's shape.
int64_t elementsOf(const fb::Tensor &tensor);

/// Whether dedicated servers store the tensor whole, as workers do: an `Input`
/// that the program binds and that has no layout. Updates on servers read such
/// a tensor, for example a learning rate. Of every other tensor a rank stores
/// what the layout says.
bool isOnEveryRank(const fb::Tensor &tensor);

/// Whether the program of this rank has the tensor, so that it binds it, gives
/// it and waits for it. Workers have all tensors, dedicated servers those that
/// they store.
bool hasTensor(const fb::Tensor &tensor, const PlanCluster &cluster,
               int64_t rank);

/// The number of elements that `rank` stores of `count` elements of the tensor.
int64_t localCount(const fb::Tensor &tensor, int64_t count,
                   const PlanCluster &cluster, int64_t rank);
/// The same for all elements of the tensor.
int64_t localCount(const fb::Tensor &tensor, const PlanCluster &cluster,
                   int64_t rank);

/// For example "[shard [0, 1], server 2]"; the empty string for the empty
/// layout.
std::string layoutToString(const Layout &layout);

} // namespace bagua::runtime

#endif // BAGUA_RUNTIME_PLANLAYOUT_H
