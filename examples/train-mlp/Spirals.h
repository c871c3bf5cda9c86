//===- Spirals.h - Data to classify ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three interleaved spirals in the plane with a little noise: a classic of
// networks that must bend their decision boundary. Made here, so nothing has to
// be shipped or fetched; the same on every machine.
//
//===----------------------------------------------------------------------===//
#ifndef TRAIN_MLP_SPIRALS_H
#define TRAIN_MLP_SPIRALS_H

#include <Eigen/Dense>

/// Row-major, a sample a row, as the runtime sees tensors.
using Matrix =
    Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Labels = Eigen::VectorXi;

struct Samples {
  Matrix points;
  Labels labels;
};

/// `count` samples, shuffled.
Samples makeSpirals(int count, unsigned seed);

/// Rows [begin, begin + count).
Samples sliceOf(const Samples &samples, int begin, int count);

#endif // TRAIN_MLP_SPIRALS_H
