//===- Mlp.h - A small classifier -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three dense layers with ReLU between them and softmax cross entropy at the
// end. Forward asks for each layer just before it uses it, and backward hands
// out each layer's gradients as soon as it has them, which is what lets
// communication overlap the rest.
//
//===----------------------------------------------------------------------===//
#ifndef TRAIN_MLP_MLP_H
#define TRAIN_MLP_MLP_H

#include "Spirals.h"

#include <array>
#include <functional>
#include <vector>

constexpr int kLayers = 3;

/// Memory of one layer's weight and bias, or of what belongs to them.
struct LayerView {
  Eigen::Map<Matrix> weight;
  Eigen::Map<Eigen::RowVectorXf> bias;
};

class Mlp {
public:
  Mlp();
  Mlp(const Mlp &) = delete;
  Mlp &operator=(const Mlp &) = delete;

  static constexpr std::array<int, kLayers + 1> kWidths = {2, 256, 256, 3};

  /// Where they are. A view may be set to other memory, which then holds them.
  LayerView &parameters(int layer) { return layers[layer].parameters; }

  /// Mean loss of the samples; keeps what backward needs. Calls `before(layer)`
  /// before a layer's parameters are read.
  float forward(
      const Samples &samples,
      const std::function<void(int)> &before = [](int) {});

  /// Writes each layer's gradients into `gradients(layer)`, from the last layer
  /// to the first, and calls `ready(layer)` after each.
  void backward(const Samples &samples,
                const std::function<LayerView(int)> &gradients,
                const std::function<void(int)> &ready);

  /// m = 0.9 m + g; w = w - 0.05 m.
  void update(int layer, const LayerView &gradients);

  /// Share of samples whose likeliest class is their label.
  float accuracy(const Samples &samples);

  /// Whether all weights are the same bits.
  bool isIdenticalTo(const Mlp &other) const;

private:
  struct Layer {
    LayerView parameters, momenta;
  };

  /// Memory that the views begin with.
  std::vector<std::vector<float>> storage;
  std::vector<Layer> layers;
  /// Inputs of each layer; then the class probabilities.
  std::array<Matrix, kLayers + 1> activations;
};

#endif // TRAIN_MLP_MLP_H
