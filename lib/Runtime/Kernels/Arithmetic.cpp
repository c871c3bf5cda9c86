//===- Arithmetic.cpp - The kernel of an instruction ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function and a row for each opcode.
//
//===----------------------------------------------------------------------===//
#include "Kernels/Arithmetic.h"

#include "Kernels/Encodings/EncodingKernels.h"
#include "Kernels/UpdateKernels.h"

namespace bagua::runtime {
namespace {

/// An instruction and where its values are on this rank.
struct Binding {
  const fb::Instruction &op;
  const std::vector<LocalValue> &inputs;
  const std::vector<LocalValue> &outputs;

  float constant(int index) const { return op.constants()->Get(index); }
  /// Reads the learning rate of a step.
  std::function<double()> learningRate() const;
};

std::function<double()> Binding::learningRate() const {
  if (op.has_learning_rate())
    return [value = op.learning_rate()] { return double(value); };
  return [type = inputs.back().type, place = inputs.back().place] {
    return readScalar(type, place.address());
  };
}

BoundKernel bindLinear(const Binding &b) {
  std::vector<float> coefficients(b.op.constants()->begin(),
                                  b.op.constants()->end());
  std::vector<Place> places;
  for (const LocalValue &input : b.inputs)
    places.push_back(input.place);
  return [coefficients, places,
          terms = std::vector<const std::byte *>(places.size()),
          to = b.outputs[0]](int64_t) mutable {
    for (size_t i = 0; i < places.size(); ++i)
      terms[i] = places[i].address();
    linearKernel(to.type, coefficients, terms, to.place.address(), to.count);
  };
}

BoundKernel bindSgd(const Binding &b) {
  bool hasMomentum = b.outputs.size() == 2;
  Place moment, newMoment;
  if (hasMomentum) {
    moment = b.inputs[1].place;
    newMoment = b.outputs[1].place;
  }
  return
      [weight = b.inputs[0].place, moment,
       gradient = b.inputs[hasMomentum ? 2 : 1].place,
       newWeight = b.outputs[0].place, newMoment,
       momentum = hasMomentum ? b.constant(0) : 0.0f, rate = b.learningRate(),
       type = b.outputs[0].type, count = b.outputs[0].count](int64_t) {
        SgdArguments a = {};
        a.weight = weight.address();
        a.moment = moment.address();
        a.gradient = gradient.address();
        a.newWeight = newWeight.address();
        a.newMoment = newMoment.address();
        a.momentum = momentum;
        a.learningRate = rate();
        sgdKernel(type, a, count);
      };
}

/// With the numbers in `a`. adam has a gradient and new moments, too.
BoundKernel bindAdam(const Binding &b, AdamArguments a) {
  a.correction = static_cast<AdamCorrection>(b.op.bias_correction());
  Place gradient, newMoment, newVariance;
  if (b.outputs.size() == 3) {
    gradient = b.inputs[3].place;
    newMoment = b.outputs[1].place;
    newVariance = b.outputs[2].place;
  }
  return [a, weight = b.inputs[0].place, moment = b.inputs[1].place,
          variance = b.inputs[2].place, gradient,
          newWeight = b.outputs[0].place, newMoment, newVariance,
          rate = b.learningRate(), type = b.outputs[0].type,
          count = b.outputs[0].count](int64_t step) mutable {
    a.weight = weight.address();
    a.moment = moment.address();
    a.variance = variance.address();
    a.gradient = gradient.address();
    a.newWeight = newWeight.address();
    a.newMoment = newMoment.address();
    a.newVariance = newVariance.address();
    a.learningRate = rate();
    a.update = step + 1;
    adamKernel(type, a, count);
  };
}

BoundKernel bindAdam(const Binding &b) {
  AdamArguments a = {};
  a.beta1 = b.constant(0);
  a.beta2 = b.constant(1);
  a.eps = b.constant(2);
  a.decay = b.constant(3);
  return bindAdam(b, a);
}

BoundKernel bindAdamApply(const Binding &b) {
  AdamArguments a = {};
  a.eps = b.constant(0);
  if (b.op.bias_correction() != fb::BiasCorrection::None) {
    a.beta1 = b.constant(1);
    a.beta2 = b.constant(2);
  }
  return bindAdam(b, a);
}

BoundKernel bindCast(const Binding &b) {
  return [from = b.inputs[0], to = b.outputs[0]](int64_t) {
    castKernel(from.type, from.place.address(), to.type, to.place.address(),
               to.count);
  };
}

BoundKernel bindEncode(const Binding &b) {
  return [from = b.inputs[0], to = b.outputs[0]](int64_t) {
    encodeValue(from, to);
  };
}

BoundKernel bindDecode(const Binding &b) {
  return [from = b.inputs[0], to = b.outputs[0],
          kind = static_cast<ReduceKind>(b.op.kind())](int64_t) {
    decodeValue(from, to, kind);
  };
}

/// A row's function, which binds by `bind`.
template <BoundKernel (*bind)(const Binding &)>
BoundKernel row(const fb::Instruction &instruction,
                const std::vector<LocalValue> &inputs,
                const std::vector<LocalValue> &outputs) {
  return bind({instruction, inputs, outputs});
}

constexpr HostKernelRow kRows[] = {
    {fb::Opcode::Linear, row<bindLinear>},
    {fb::Opcode::Sgd, row<bindSgd>},
    {fb::Opcode::Adam, row<bindAdam>},
    {fb::Opcode::AdamApply, row<bindAdamApply>},
    {fb::Opcode::Cast, row<bindCast>},
    {fb::Opcode::Encode, row<bindEncode>},
    {fb::Opcode::Decode, row<bindDecode>},
};

} // namespace

absl::Span<const HostKernelRow> hostKernels() { return kRows; }

} // namespace bagua::runtime
