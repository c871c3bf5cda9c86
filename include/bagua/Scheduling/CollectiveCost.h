//===- CollectiveCost.h - What a collective costs -------------------------===//
//
// Published algorithms' closed forms on a cluster's links, the choice among
// them, and the forms that an all_reduce over several axes may take. This is
// the only place that prices communication; passes and the simulator ask it.
//
// S bytes, n ranks, a ns a message, B bytes/s a link. On one axis:
//
//   ring             all_reduce 2(n-1) a + 2(n-1)/n S/B (Patarasuk and Yuan,
//                    JPDC 2009); reduce_scatter, all_gather half of it
//   tree             all_reduce 2 ceil(log2 n) a + 2 S/B (two binary trees,
//                    pipelined: Sanders et al., 2009); reduce, broadcast half
//   halving_doubling all_reduce 2 log2 n a + 2(n-1)/n S/B for n a power of two
//                    (Thakur et al., 2005); reduce_scatter, all_gather half
//   direct           every rank sends each peer its part: 2 a + 2(n-1)/n S/B;
//                    reduce_scatter, all_gather, all_to_all half
//
// Over several axes, rings and trees cross from one coordinate to the next once
// and use all links there alike; of direct messages, all that go elsewhere
// cross.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_COLLECTIVECOST_H
#define BAGUA_SCHEDULING_COLLECTIVECOST_H

#include "bagua/Scheduling/ClusterModel.h"
#include "bagua/Scheduling/TaskGraph.h"
#include "bagua/Support/Collective.h"

#include <string_view>

namespace bagua {

enum class Algorithm { Ring, Tree, HalvingDoubling, Direct, Measured };

std::string_view algorithmName(Algorithm algorithm);

struct CollectiveCost {
  Algorithm algorithm = Algorithm::Direct;
  double latencyNs = 0;
  std::vector<LinkUse> uses;
  /// What one worker sends.
  double bytesSent = 0;

  /// Nothing else being on the links.
  double ns() const;
};

/// What is communicated: `bytes` is what a rank stores of the tensor where it
/// is whole over `over`: the operand of all_reduce, reduce_scatter, all_to_all,
/// exchange and push, the result of all_gather, broadcast and pull.
struct CollectiveCall {
  Collective collective;
  AxisSet over;
  int64_t bytes;
  /// Along these only coordinate 0 takes part.
  AxisSet roots = 0;
  /// Of push and pull: the server that has everything; -1 where it is spread
  /// over all.
  int64_t server = -1;
};

/// The cost by one algorithm; nothing where there is none such: a power of two
/// is needed, or a table, or servers.
std::optional<CollectiveCost> costBy(const ClusterModel &cluster,
                                     const CollectiveCall &call,
                                     Algorithm algorithm);

/// A measured time if there is a table, else the cheapest algorithm. A group of
/// one rank costs nothing.
CollectiveCost cheapestCost(const ClusterModel &cluster,
                            const CollectiveCall &call);

//===----------------------------------------------------------------------===//
// Forms of an all_reduce
//===----------------------------------------------------------------------===//

/// How an all_reduce is made of collectives (docs/Semantics.md, "Hierarchical
/// forms").
enum class FormKind {
  /// One collective over all axes.
  Flat,
  /// reduce over the inner axes, all_reduce of the roots over the outer ones,
  /// broadcast (BAGUA).
  Leader,
  /// reduce_scatter over the inner axes, all_reduce of the parts over the outer
  /// ones, all_gather (Horovod's hierarchical all_reduce).
  Rail,
  /// reduce_scatter axis by axis from the innermost, all_gather back
  /// (BlueConnect, Cho et al., MLSys 2019).
  Multilevel,
  /// reduce_scatter and all_gather over all axes (DeAR, Zhang et al., ICDCS
  /// 2023).
  Halves,
  /// push to all servers and pull (Li et al., Parameter Server, OSDI 2014).
  Servers,
  /// reduce_scatter over the inner axes, push and pull of the parts, all_gather
  /// (BytePS, Jiang et al., OSDI 2020).
  RailServers,
};

inline constexpr int kFormKindCount = 7;

std::string_view formName(FormKind form);
std::optional<FormKind> parseForm(std::string_view name);

/// A set of forms, bit by bit.
using FormSet = uint32_t;
constexpr FormSet formBit(FormKind form) {
  return FormSet(1) << static_cast<int>(form);
}
/// One collective or a hierarchy of them, among the ranks.
inline constexpr FormSet kHierarchyForms =
    formBit(FormKind::Flat) | formBit(FormKind::Leader) |
    formBit(FormKind::Rail) | formBit(FormKind::Multilevel);
inline constexpr FormSet kServerForms =
    formBit(FormKind::Servers) | formBit(FormKind::RailServers);

/// `cheapest` is the hierarchies; else one by its name. Nothing for other
/// words.
std::optional<FormSet> parseForms(std::string_view word);
/// `flat, leader, ... or cheapest`: for messages.
std::string_view formNames();

struct AllReduceForm {
  FormKind kind = FormKind::Flat;
  /// For leader and rails: the inner axes.
  AxisSet inner = 0;
};

/// The collectives that a form is made of, in order. Parts are of whole
/// elements.
std::vector<CollectiveCall> expandForm(const ClusterModel &cluster,
                                       const AllReduceForm &form, AxisSet over,
                                       int64_t bytes, int64_t elementBytes = 1);

struct PricedForm {
  AllReduceForm form;
  /// One phase after the other, nothing else being on the links.
  double ns = 0;
};

/// The form among those allowed that takes least time for `bytes`; ties go to
/// the simpler one. What no form applies to (a single axis, no servers) is
/// flat. Every pass that prices a bucket prices this, so all of them mean the
/// same future. `allowed` must not be empty.
PricedForm cheapestForm(const ClusterModel &cluster, int64_t bytes,
                        AxisSet over, FormSet allowed);

} // namespace bagua

#endif // BAGUA_SCHEDULING_COLLECTIVECOST_H
