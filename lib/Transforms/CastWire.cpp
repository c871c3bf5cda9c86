//===- CastWire.cpp - bagua-cast-wire -------------------------------------===//
//
// A cast before each all_reduce of a gradient or bucket, and one back.
//
//===----------------------------------------------------------------------===//
#include "bagua/Dialect/Bagua/Provenance.h"
#include "bagua/Transforms/Passes.h"
#include "bagua/Transforms/Utils/Forms.h"
#include "bagua/Transforms/Utils/GradientReduces.h"
#include "bagua/Transforms/Utils/Report.h"

#include "llvm/ADT/StringSwitch.h"

namespace bagua {
#define GEN_PASS_DEF_CASTWIREPASS
#include "bagua/Transforms/Passes.h.inc"
} // namespace bagua

using namespace mlir;
using namespace bagua;

static void castAround(AllReduceOp reduce, Type wire) {
  OpBuilder builder(reduce);
  Location location = reduce.getLoc();
  auto type = cast<RankedTensorType>(reduce.getInput().getType());
  auto narrow = RankedTensorType::get(type.getShape(), wire);
  auto sent = builder.create<CastOp>(location, narrow, reduce.getInput(),
                                     StringAttr(), ArrayAttr());
  auto reduced = builder.create<AllReduceOp>(
      location, narrow, reduce.getKindAttr(), sent, CodecAttrInterface(),
      UnitAttr(), reduce.getOverAttr(), ArrayAttr(), StringAttr(), ArrayAttr());
  if (Attribute form = reduce->getAttr(kFormAttr))
    reduced->setAttr(kFormAttr, form);
  auto back = builder.create<CastOp>(location, type, reduced.getOutput(),
                                     StringAttr(), ArrayAttr());
  reduce.getOutput().replaceAllUsesWith(back.getOutput());
  reduce.erase();
}

namespace {
struct CastWirePass : public bagua::impl::CastWirePassBase<CastWirePass> {
  using CastWirePassBase::CastWirePassBase;

  void runOnOperation() override {
    StepOp step = getOperation();
    Type wire = llvm::StringSwitch<Type>(type.getValue())
                    .Case("f16", Float16Type::get(&getContext()))
                    .Case("bf16", BFloat16Type::get(&getContext()))
                    .Default(nullptr);
    if (!wire && type != "none") {
      step.emitError() << "expected type none, f16 or bf16, found '" << type
                       << "'";
      return signalPassFailure();
    }
    int64_t casts = 0;
    auto reduces = step.getBody().front().getOps<AllReduceOp>();
    for (AllReduceOp reduce : llvm::make_early_inc_range(reduces)) {
      auto tensor = dyn_cast<RankedTensorType>(reduce.getInput().getType());
      if (!wire || !tensor || !tensor.getElementType().isF32() ||
          reduce.getCodecAttr() || reduce.getNamesAttr() ||
          !isOfGradients(reduce.getInput()))
        continue;
      castAround(reduce, wire);
      ++casts;
    }
    // What the step computes has changed on purpose.
    if (casts > 0 && step->hasAttr(kMeaningAttr) && failed(recordMeaning(step)))
      return signalPassFailure();
    if (Report *report = getReport(&getContext()))
      report->add(step, getArgument(),
                  llvm::json::Object{{"type", type.getValue()},
                                     {"all_reduces", casts}});
  }
};
} // namespace
