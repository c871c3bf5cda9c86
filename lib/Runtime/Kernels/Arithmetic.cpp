//===- Arithmetic.cpp - The kernel of an instruction ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A case for each opcode.
//
//===----------------------------------------------------------------------===//
#include "Kernels/Arithmetic.h"

#include "Kernels/ElementKernels.h"
#include "Kernels/Encodings/EncodingKernels.h"
#include "Kernels/Updates/UpdateKernel.h"

namespace bagua::runtime {
namespace {

/// An instruction and where its values are on this rank.
struct Binding {
  const fb::Instruction &op;
  const std::vector<LocalValue> &inputs;
  const std::vector<LocalValue> &outputs;

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

BoundKernel bindUpdate(const Binding &b, UpdateRule rule) {
  std::vector<Place> inputs, outputs;
  for (size_t i = 0; i < b.outputs.size() + rowOf(rule).inputs; ++i)
    inputs.push_back(b.inputs[i].place);
  for (const LocalValue &output : b.outputs)
    outputs.push_back(output.place);
  std::vector<float> constants;
  if (b.op.constants())
    constants.assign(b.op.constants()->begin(), b.op.constants()->end());
  UpdateArguments arguments;
  arguments.type = b.outputs[0].type;
  arguments.count = b.outputs[0].count;
  arguments.correction = static_cast<BiasCorrection>(b.op.bias_correction());
  return [a = arguments, kernel = updateKernelOf(rule), rate = b.learningRate(),
          constants, from = std::vector<const std::byte *>(inputs.size()),
          inputs, to = std::vector<std::byte *>(outputs.size()),
          outputs](int64_t step) mutable {
    for (size_t i = 0; i < inputs.size(); ++i)
      from[i] = inputs[i].address();
    for (size_t i = 0; i < outputs.size(); ++i)
      to[i] = outputs[i].address();
    a.inputs = from;
    a.outputs = to;
    a.constants = constants;
    a.learningRate = rate();
    a.update = step + 1;
    kernel.update(a);
  };
}

BoundKernel bindCast(const Binding &b) {
  return [from = b.inputs[0], to = b.outputs[0]](int64_t) {
    castKernel(from.type, from.place.address(), to.type, to.place.address(),
               to.count);
  };
}

} // namespace

BoundKernel bindKernel(const fb::Instruction &instruction,
                       const std::vector<LocalValue> &inputs,
                       const std::vector<LocalValue> &outputs) {
  Binding binding{instruction, inputs, outputs};
  switch (instruction.opcode()) {
  case fb::Opcode::Linear:
    return bindLinear(binding);
  case fb::Opcode::Sgd:
    return bindUpdate(binding, UpdateRule::Sgd);
  case fb::Opcode::Adam:
    return bindUpdate(binding, UpdateRule::Adam);
  case fb::Opcode::AdamApply:
    return bindUpdate(binding, UpdateRule::AdamApply);
  case fb::Opcode::Cast:
    return bindCast(binding);
  case fb::Opcode::Encode:
    return
        [from = inputs[0], to = outputs[0]](int64_t) { encodeValue(from, to); };
  case fb::Opcode::Decode:
    return [from = inputs[0], to = outputs[0],
            kind = static_cast<ReduceKind>(instruction.kind())](int64_t) {
      decodeValue(from, to, kind);
    };
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
  case fb::Opcode::After:
  case fb::Opcode::Permute:
    return nullptr; // no arithmetic
  }
  return nullptr;
}

} // namespace bagua::runtime
