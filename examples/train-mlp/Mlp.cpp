//===- Mlp.cpp - A small classifier ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain Eigen, one expression a formula.
//
//===----------------------------------------------------------------------===//
#include "Mlp.h"

#include <cmath>
#include <random>

Mlp::Mlp() {
  // He initialisation from a fixed seed: every rank starts from the same
  // weights.
  std::mt19937 random(1);
  auto zeros = [this](int rows, int columns) {
    storage.emplace_back(static_cast<size_t>(rows) * columns);
    return storage.back().data();
  };
  for (int i = 0; i < kLayers; ++i) {
    int rows = kWidths[i], columns = kWidths[i + 1];
    auto makeView = [&] {
      return LayerView{{zeros(rows, columns), rows, columns},
                       {zeros(1, columns), columns}};
    };
    layers.push_back({makeView(), makeView()});
    float scale = std::sqrt(6.0f / static_cast<float>(rows));
    for (float &weight : layers[i].parameters.weight.reshaped())
      weight = scale *
               (static_cast<float>(random() >> 8) * (2.0f / (1 << 24)) - 1.0f);
  }
}

float Mlp::forward(const Samples &samples,
                   const std::function<void(int)> &before) {
  activations[0] = samples.points;
  for (int i = 0; i < kLayers; ++i) {
    before(i);
    const LayerView &layer = layers[i].parameters;
    activations[i + 1].noalias() = activations[i] * layer.weight;
    activations[i + 1].rowwise() += layer.bias;
    if (i + 1 < kLayers)
      activations[i + 1] = activations[i + 1].cwiseMax(0.0f);
  }
  Matrix &output = activations[kLayers];
  output.colwise() -= output.rowwise().maxCoeff();
  output = output.array().exp();
  output.array().colwise() /= output.rowwise().sum().array();
  float loss = 0;
  for (int row = 0; row < output.rows(); ++row)
    loss -= std::log(std::max(output(row, samples.labels(row)), 1e-12f));
  return loss / static_cast<float>(output.rows());
}

void Mlp::backward(const Samples &samples,
                   const std::function<LayerView(int)> &gradients,
                   const std::function<void(int)> &ready) {
  Matrix delta = activations[kLayers];
  for (int row = 0; row < delta.rows(); ++row)
    delta(row, samples.labels(row)) -= 1.0f;
  delta /= static_cast<float>(delta.rows());
  for (int i = kLayers - 1; i >= 0; --i) {
    LayerView into = gradients(i);
    into.weight.noalias() = activations[i].transpose() * delta;
    into.bias = delta.colwise().sum();
    ready(i);
    if (i == 0)
      return;
    Matrix previous = delta * layers[i].parameters.weight.transpose();
    delta = (activations[i].array() > 0.0f).select(previous, 0.0f);
  }
}

void Mlp::update(int index, const LayerView &gradients) {
  auto &[parameters, momenta] = layers[index];
  momenta.weight = 0.9f * momenta.weight + gradients.weight;
  parameters.weight -= 0.05f * momenta.weight;
  momenta.bias = 0.9f * momenta.bias + gradients.bias;
  parameters.bias -= 0.05f * momenta.bias;
}

float Mlp::accuracy(const Samples &samples) {
  forward(samples);
  int correct = 0;
  for (int row = 0; row < samples.labels.size(); ++row) {
    int likeliest = 0;
    activations[kLayers].row(row).maxCoeff(&likeliest);
    correct += likeliest == samples.labels(row);
  }
  return static_cast<float>(correct) /
         static_cast<float>(samples.labels.size());
}

bool Mlp::isIdenticalTo(const Mlp &other) const {
  for (int i = 0; i < kLayers; ++i)
    if (layers[i].parameters.weight != other.layers[i].parameters.weight ||
        layers[i].parameters.bias != other.layers[i].parameters.bias)
      return false;
  return true;
}
