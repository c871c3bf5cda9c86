//===- Message.h - What an all_reduce is made of --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The encoding on the wire, the hierarchy of collectives, and the one list
// of steps that both come to. Prices, simulated plans, sizes of arenas and the
// passes that write ops all read that list.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_SCHEDULING_MESSAGE_H
#define BAGUA_SCHEDULING_MESSAGE_H

#include "bagua/Scheduling/CollectiveCost.h"
#include "bagua/Support/Encodings.h"
#include "bagua/Support/Words.h"

namespace bagua {

//===----------------------------------------------------------------------===//
// Forms
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

template <>
inline constexpr std::array<std::string_view, kFormKindCount>
    kWordsOf<FormKind> = {"flat",   "leader",  "rail",        "multilevel",
                          "halves", "servers", "rail-servers"};

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

/// What is left of a form where servers, or halves, are a stage of their own.
FormKind hierarchyOf(FormKind form);

/// What a user may ask for: a form under its own number, or the cheapest of the
/// hierarchies.
enum class FormChoice { Cheapest = kFormKindCount };

template <>
inline constexpr std::array<std::string_view, kFormKindCount + 1>
    kWordsOf<FormChoice> = [] {
      std::array<std::string_view, kFormKindCount + 1> words{};
      for (int form = 0; form < kFormKindCount; ++form)
        words[form] = kWordsOf<FormKind>[form];
      words.back() = "cheapest";
      return words;
    }();

constexpr FormSet formsOf(FormChoice choice) {
  return choice == FormChoice::Cheapest
             ? kHierarchyForms
             : formBit(static_cast<FormKind>(choice));
}

/// How reduce_scatter and all_gather may go, where an all_reduce is made of
/// these two: over all axes at once, axis by axis, or as is cheaper.
enum class HalvesChoice { Flat, Multilevel, Cheapest };

template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<HalvesChoice> = {
    "flat", "multilevel", "cheapest"};

struct AllReduceForm {
  FormKind kind = FormKind::Flat;
  /// For leader and rails: the inner axes.
  AxisSet inner = 0;
};

/// Whether servers can sum what is reduced over the axes: there are some, and
/// all ranks push. A server that had to keep ranks along another axis apart
/// (tensor parallelism, experts) would need a slot for each of them.
bool canServe(const ClusterModel &cluster, AxisSet over);

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Elements that every rank of a group has and that are to be reduced there.
struct Message {
  AxisSet over = 0;
  int64_t count = 0;
  int64_t elementBytes = 1;
  /// None but for float32.
  Encoding wire = {};

  int64_t bytes() const { return count * elementBytes; }
  int64_t bytesOnWire() const {
    return encodedBytes(wire, count, elementBytes);
  }
};

struct MessageStep {
  enum class Kind {
    /// To the encoding on the wire.
    Encode,
    Collective,
    /// Back to the elements' own type.
    Decode,
  };
  Kind kind;
  /// Of Collective.
  CollectiveCall call = {};
  /// Of Encode and Decode. Of an encoding whose values can't be reduced, in as
  /// many parts as ranks on `parts`, or of a term for each rank on `terms`.
  Encoding wire = {};
  AxisSet parts = 0;
  AxisSet terms = 0;
  /// Of Encode and Decode: what a rank reads and writes.
  int64_t movedBytes = 0;
  /// Memory of the runtime's that the result takes on the rank or server that
  /// stores most: parts and encoded copies lie nowhere else.
  int64_t keptBytes = 0;
};

/// The steps of a message, in order. Parts are of whole elements.
///
/// With a wire whose values collectives can't reduce, each all_reduce of the
/// form is scatter-gather (docs/Semantics.md, "Encodings"): encode in parts,
/// all_to_all, decode and reduce the terms, encode, all_gather, decode. What is
/// around it sends elements as they are. There, all axes at once is flat, axis
/// by axis keeps the outermost axis for the all_reduce, and what servers would
/// sum the ranks do.
std::vector<MessageStep> expandMessage(const ClusterModel &cluster,
                                       const Message &message,
                                       const AllReduceForm &form);

struct PricedForm {
  AllReduceForm form;
  /// One collective after the other, each with its launch, nothing else being
  /// on the links.
  double ns = 0;
};

/// The form among those allowed that takes least time for `bytes`; ties go to
/// the simpler one. What no form applies to (a single axis, no servers) is
/// flat. Every pass that prices a bucket prices this, so all of them mean the
/// same future. `allowed` must not be empty.
PricedForm cheapestForm(const ClusterModel &cluster, int64_t bytes,
                        AxisSet over, FormSet allowed);

/// The same of a message, in its encoding.
PricedForm cheapestForm(const ClusterModel &cluster, const Message &message,
                        FormSet allowed);

/// The same of one kind, by which its inner axes are chosen.
AllReduceForm formOfKind(const ClusterModel &cluster, int64_t bytes,
                         AxisSet over, FormKind kind);
AllReduceForm formOfKind(const ClusterModel &cluster, const Message &message,
                         FormKind kind);

/// What a message of `bytes` costs whoever merges and cuts, launches included,
/// encoding left out: it runs beside other messages. Encoded gradients are
/// float32.
double messageNs(const ClusterModel &cluster, int64_t bytes, AxisSet over,
                 Encoding wire, FormSet allowed);

} // namespace bagua

#endif // BAGUA_SCHEDULING_MESSAGE_H
