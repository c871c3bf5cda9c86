//===- Survey.h - Predictions of a published table ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shi et al. (arXiv 2005.13247) measured seven methods on three models, two
// networks and 4 to 32 GPUs. Here the same runs are predicted: the exported
// steps, computing as long as one GPU did, on a cluster of a few constants.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_VALIDATION_SURVEY_H
#define BAGUA_UNITTESTS_VALIDATION_SURVEY_H

#include "bagua/Scheduling/Search/CommunicationPlan.h"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace bagua::test {

/// What predictions rest on besides the models' steps. A message's overhead is
/// a system's own; its share is the part of the network's rate that it reaches.
enum Constant : int {
  TcpLatencyNs,
  TcpBytesPerS,
  InfiniBandLatencyNs,
  InfiniBandBytesPerS,
  BusLatencyNs,
  BusBytesPerS,
  OverlappedRate,
  HorovodNs,
  HorovodShare,
  BytePSNs,
  BytePSShare,
  ByteSchedulerNs,
  ByteSchedulerShare,
  kConstants
};
using Constants = std::array<double, kConstants>;

/// One model on one network and number of GPUs, by all methods.
struct SurveyCell {
  std::string model, network;
  int gpus;
  /// Samples a second, by method.
  std::map<std::string, double> measured;

  /// The half that constants may be fitted to: one node and four.
  bool isCalibrated() const { return gpus == 4 || gpus == 16; }
};

class Survey {
public:
  /// Reads the table and imports the models; failures are the test's.
  Survey();

  const std::vector<SurveyCell> &cells() const { return table; }
  /// Samples a second, by method.
  std::map<std::string, double> predict(const SurveyCell &cell,
                                        const Constants &constants) const;

private:
  std::vector<SurveyCell> table;
  /// Of each model and number of GPUs.
  std::map<std::pair<std::string, int>, CommunicationProblem> problems;
};

} // namespace bagua::test

#endif // BAGUA_UNITTESTS_VALIDATION_SURVEY_H
