//===- BaguaCodecs.cpp - Codec attributes ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes, properties and invariants of the codecs; what they compute is the
// runtime's.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Support/CodecSizes.h"

using namespace mlir;
using namespace bagua;

#include "bagua/Dialect/Bagua/BaguaCodecInterfaces.cpp.inc"

/// qsgd packs two signed levels into a byte up to this many.
static constexpr int64_t kMaxNibbleLevels = 7;
static constexpr int64_t kMaxByteLevels = 127;

static LogicalResult
expectPositive(function_ref<InFlightDiagnostic()> emitError, StringRef what,
               int64_t found) {
  if (found > 0)
    return success();
  return emitError() << "expected " << what << " of at least 1, found "
                     << found;
}

int64_t MinmaxUint8Attr::getEncodedBytes(int64_t count) const {
  return byteCodecBytes(count);
}

int64_t Fp8E4M3Attr::getEncodedBytes(int64_t count) const {
  return blockByteCodecBytes(count, getBlock());
}
LogicalResult Fp8E4M3Attr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t block) {
  return expectPositive(emitError, "block", block);
}

int64_t QsgdAttr::getEncodedBytes(int64_t count) const {
  return getLevels() <= kMaxNibbleLevels
             ? blockNibbleCodecBytes(count, getBlock())
             : blockByteCodecBytes(count, getBlock());
}
bool QsgdAttr::isDeterministic() const { return false; }
LogicalResult QsgdAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t levels, int64_t block) {
  if (levels < 1 || levels > kMaxByteLevels)
    return emitError() << "expected levels from 1 to " << kMaxByteLevels
                       << ", found " << levels;
  return expectPositive(emitError, "block", block);
}

int64_t OnebitAttr::getEncodedBytes(int64_t count) const {
  return bitCodecBytes(count);
}
int64_t SignsgdAttr::getEncodedBytes(int64_t count) const {
  return bitCodecBytes(count);
}
int64_t EfsignsgdAttr::getEncodedBytes(int64_t count) const {
  return bitCodecBytes(count);
}

int64_t TopkAttr::getEncodedBytes(int64_t count) const {
  return sparseCodecBytes(count, getCount());
}
LogicalResult TopkAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t count) {
  return expectPositive(emitError, "count", count);
}

int64_t GtopkAttr::getEncodedBytes(int64_t count) const {
  return sparseCodecBytes(count, getCount());
}
bool GtopkAttr::isMergeable() const { return true; }
LogicalResult GtopkAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t count) {
  return expectPositive(emitError, "count", count);
}

int64_t DgcAttr::getEncodedBytes(int64_t count) const {
  return sparseCodecBytes(count, getCount());
}
LogicalResult DgcAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                              int64_t count) {
  return expectPositive(emitError, "count", count);
}

int64_t RandomkAttr::getEncodedBytes(int64_t count) const {
  return sampledCodecBytes(count, getCount());
}
bool RandomkAttr::isLinear() const { return true; }
bool RandomkAttr::isDeterministic() const { return false; }
LogicalResult RandomkAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t count) {
  return expectPositive(emitError, "count", count);
}

bool OnebitAttr::needsFeedback() const { return true; }
bool EfsignsgdAttr::needsFeedback() const { return true; }
bool TopkAttr::needsFeedback() const { return true; }
bool GtopkAttr::needsFeedback() const { return true; }
bool DgcAttr::needsFeedback() const { return true; }
