//===- Arithmetic.cpp - The kernel of an instruction ----------------------===//
//
// A case for each opcode.
//
//===----------------------------------------------------------------------===//
#include "Kernels/Arithmetic.h"

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
  return [type = inputs.back().type, data = inputs.back().data] {
    return readScalar(type, data);
  };
}

BoundKernel bindLinear(const Binding &b) {
  std::vector<float> coefficients(b.op.constants()->begin(),
                                  b.op.constants()->end());
  std::vector<const std::byte *> terms;
  terms.reserve(b.inputs.size());
  for (const LocalValue &input : b.inputs)
    terms.push_back(input.data);
  return [coefficients, terms, to = b.outputs[0]](int64_t) {
    linearKernel(to.type, coefficients, terms, to.data, to.count);
  };
}

BoundKernel bindSgd(const Binding &b) {
  bool hasMomentum = b.outputs.size() == 2;
  SgdArguments a = {};
  a.weight = b.inputs[0].data;
  a.moment = hasMomentum ? b.inputs[1].data : nullptr;
  a.gradient = b.inputs[hasMomentum ? 2 : 1].data;
  a.newWeight = b.outputs[0].data;
  a.newMoment = hasMomentum ? b.outputs[1].data : nullptr;
  a.momentum = hasMomentum ? b.constant(0) : 0.0f;
  return [a, rate = b.learningRate(), type = b.outputs[0].type,
          count = b.outputs[0].count](int64_t) mutable {
    a.learningRate = rate();
    sgdKernel(type, a, count);
  };
}

/// Of weight, moment and variance; what else differs is the caller's.
BoundKernel bindAdam(const Binding &b, AdamArguments a) {
  a.weight = b.inputs[0].data;
  a.moment = b.inputs[1].data;
  a.variance = b.inputs[2].data;
  a.newWeight = b.outputs[0].data;
  a.correction = static_cast<AdamCorrection>(b.op.bias_correction());
  return [a, rate = b.learningRate(), type = b.outputs[0].type,
          count = b.outputs[0].count](int64_t step) mutable {
    a.learningRate = rate();
    a.update = step + 1;
    adamKernel(type, a, count);
  };
}

BoundKernel bindAdam(const Binding &b) {
  AdamArguments a = {};
  a.gradient = b.inputs[3].data;
  a.newMoment = b.outputs[1].data;
  a.newVariance = b.outputs[2].data;
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

} // namespace

BoundKernel bindArithmetic(const fb::Instruction &instruction,
                           const std::vector<LocalValue> &inputs,
                           const std::vector<LocalValue> &outputs) {
  Binding binding{instruction, inputs, outputs};
  switch (instruction.opcode()) {
  case fb::Opcode::Linear:
    return bindLinear(binding);
  case fb::Opcode::Sgd:
    return bindSgd(binding);
  case fb::Opcode::Adam:
    return bindAdam(binding);
  case fb::Opcode::AdamApply:
    return bindAdamApply(binding);
  case fb::Opcode::AllReduce:
  case fb::Opcode::ReduceScatter:
  case fb::Opcode::AllGather:
  case fb::Opcode::Reduce:
  case fb::Opcode::Broadcast:
  case fb::Opcode::AllToAll:
  case fb::Opcode::Exchange:
  case fb::Opcode::Push:
  case fb::Opcode::Pull:
  case fb::Opcode::Concat:
  case fb::Opcode::Split:
  case fb::Opcode::Slice:
  case fb::Opcode::Cast:
  case fb::Opcode::After:
  case fb::Opcode::Permute:
    return nullptr; // no arithmetic
  }
  return nullptr;
}

} // namespace bagua::runtime
