//===- Arithmetic.cpp - The kernel of an instruction ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function and a row for each opcode.
//
//===----------------------------------------------------------------------===//
#include "Kernels/Arithmetic.h"

#include "Kernels/ElementKernels.h"
#include "Kernels/Encodings/EncodingKernels.h"
#include "Kernels/NormKernel.h"
#include "Kernels/Updates/UpdateKernel.h"

#include <cstring>

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

/// An update's tensors and numbers, to be read anew in each step.
class BoundUpdate {
public:
  BoundUpdate(const Binding &b, size_t tensors) {
    for (size_t i = 0; i < tensors; ++i)
      inputs.push_back(b.inputs[i].place);
    for (const LocalValue &output : b.outputs)
      outputs.push_back(output.place);
    if (b.op.constants())
      constants.assign(b.op.constants()->begin(), b.op.constants()->end());
    from.resize(inputs.size());
    to.resize(outputs.size());
    arguments.type = b.outputs[0].type;
    arguments.count = b.outputs[0].count;
    arguments.correction = static_cast<BiasCorrection>(b.op.bias_correction());
  }

  UpdateArguments &read(int64_t step) {
    for (size_t i = 0; i < inputs.size(); ++i)
      from[i] = inputs[i].address();
    for (size_t i = 0; i < outputs.size(); ++i)
      to[i] = outputs[i].address();
    arguments.inputs = from;
    arguments.outputs = to;
    arguments.constants = constants;
    arguments.update = step + 1;
    return arguments;
  }

private:
  std::vector<Place> inputs, outputs;
  std::vector<float> constants;
  std::vector<const std::byte *> from;
  std::vector<std::byte *> to;
  UpdateArguments arguments;
};

BoundKernel bindUpdate(const Binding &b) {
  const UpdateRow &row =
      *findUpdate(static_cast<uint8_t>(b.op.opcode()), b.op.rule());
  size_t tensors = b.outputs.size() + row.inputs;
  Place param, direction;
  if (row.needsNorms()) {
    param = b.inputs[tensors].place;
    direction = b.inputs[tensors + 1].place;
  }
  return [bound = BoundUpdate(b, tensors), param, direction,
          update = updateKernelOf(row.rule).update,
          rate = b.learningRate()](int64_t step) mutable {
    UpdateArguments &a = bound.read(step);
    a.learningRate = rate();
    if (param) {
      a.squaredParam = readScalar(DataType::Float32, param.address());
      a.squaredDirection = readScalar(DataType::Float32, direction.address());
    }
    update(a);
  };
}

BoundKernel bindDirection(const Binding &b) {
  return [bound = BoundUpdate(b, b.inputs.size()),
          direct = updateKernelOf(static_cast<UpdateRule>(b.op.rule())).direct](
             int64_t step) mutable { direct(bound.read(step)); };
}

BoundKernel bindNorm(const Binding &b) {
  return [from = b.inputs[0], to = b.outputs[0].place](int64_t) {
    auto sum = static_cast<float>(
        squaredNorm(from.type, from.place.address(), from.count));
    std::memcpy(to.address(), &sum, sizeof sum);
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

constexpr CpuKernelRow kRows[] = {
    {fb::Opcode::Linear, row<bindLinear>},
    {fb::Opcode::Sgd, row<bindUpdate>},
    {fb::Opcode::Adam, row<bindUpdate>},
    {fb::Opcode::AdamApply, row<bindUpdate>},
    {fb::Opcode::Update, row<bindUpdate>},
    {fb::Opcode::Direction, row<bindDirection>},
    {fb::Opcode::SquaredNorm, row<bindNorm>},
    {fb::Opcode::Cast, row<bindCast>},
    {fb::Opcode::Encode, row<bindEncode>},
    {fb::Opcode::Decode, row<bindDecode>},
};

} // namespace

absl::Span<const CpuKernelRow> cpuKernels() { return kRows; }

} // namespace bagua::runtime
