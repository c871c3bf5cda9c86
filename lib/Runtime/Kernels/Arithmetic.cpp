//===- Arithmetic.cpp - The kernel of an instruction ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function and a row for each opcode.
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

template <UpdateRule rule> BoundKernel bindUpdate(const Binding &b) {
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
    {fb::Opcode::Sgd, row<bindUpdate<UpdateRule::Sgd>>},
    {fb::Opcode::Adam, row<bindUpdate<UpdateRule::Adam>>},
    {fb::Opcode::AdamApply, row<bindUpdate<UpdateRule::AdamApply>>},
    {fb::Opcode::Cast, row<bindCast>},
    {fb::Opcode::Encode, row<bindEncode>},
    {fb::Opcode::Decode, row<bindDecode>},
};

} // namespace

absl::Span<const HostKernelRow> hostKernels() { return kRows; }

} // namespace bagua::runtime
