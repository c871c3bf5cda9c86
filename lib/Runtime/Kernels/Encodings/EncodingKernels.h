//===- EncodingKernels.h - Encoding and decoding values -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of kernels, and what encode and decode do with the parts and terms
// of a value.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_KERNELS_ENCODINGS_ENCODINGKERNELS_H
#define BAGUA_LIB_RUNTIME_KERNELS_ENCODINGS_ENCODINGKERNELS_H

#include "Kernels/Encodings/EncodingKernel.h"
#include "bagua/Runtime/LocalValue.h"

#include "bagua/Support/ReduceKind.h"

namespace bagua::runtime {

/// Null for an encoding that the runtime doesn't offer.
const EncodingKernel *findEncodingKernel(EncodingId id);

/// Writes all parts of `to`, each at its slot; bytes of slots that no part
/// needs become zero. The values have elements, and `to` one term.
void encodeValue(const LocalValue &from, const LocalValue &to);

/// Each element is what its terms come to, one added to the other in the order
/// in which they lie: their sum, or for Mean that divided by their number. A
/// term that is finite stays finite in elements of `to`.
void decodeValue(const LocalValue &from, const LocalValue &to, ReduceKind kind);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_KERNELS_ENCODINGS_ENCODINGKERNELS_H
