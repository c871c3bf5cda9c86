//===- Mlp.h - A small classifier -----------------------------------------===//
//
// Three dense layers with ReLU between them and softmax cross entropy at the
// end. Backward hands out each layer's gradients as soon as it has them, which
// is what lets communication overlap the rest.
//
//===----------------------------------------------------------------------===//
#ifndef TRAIN_MLP_MLP_H
#define TRAIN_MLP_MLP_H

#include "Spirals.h"

#include <array>
#include <functional>

constexpr int kLayers = 3;

/// Memory of one layer's weight and bias, or of their gradients.
struct LayerView {
  Eigen::Map<Matrix> weight;
  Eigen::Map<Eigen::RowVectorXf> bias;
};

class Mlp {
public:
  Mlp();

  static constexpr std::array<int, kLayers + 1> kWidths = {2, 256, 256, 3};

  /// Mean loss of the samples; keeps what backward needs.
  float forward(const Samples &samples);

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
    Matrix weight, weightMomentum;
    Eigen::RowVectorXf bias, biasMomentum;
  };

  std::array<Layer, kLayers> layers;
  /// Inputs of each layer; then the class probabilities.
  std::array<Matrix, kLayers + 1> activations;
};

#endif // TRAIN_MLP_MLP_H
