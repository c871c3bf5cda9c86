//===- Reader.cpp - StableHLO text with a stock MLIR ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stub dialects, and the parse.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Reading/Reader.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace mlir;
using namespace bagua::importer;

namespace {
/// A dialect whose ops and attributes are all unknown. Without it, MLIR would
/// have to assume that an op with one region may be a symbol table, and a call
/// inside it would not verify.
class StubDialect : public Dialect {
protected:
  StubDialect(StringRef name, MLIRContext *context, TypeID id)
      : Dialect(name, context, id) {
    allowUnknownOperations();
  }

  Attribute parseAttribute(DialectAsmParser &parser, Type type) const override {
    return OpaqueAttr::get(StringAttr::get(getContext(), getNamespace()),
                           textOf(parser),
                           type ? type : NoneType::get(getContext()));
  }

  Type parseType(DialectAsmParser &parser) const override {
    return OpaqueType::get(StringAttr::get(getContext(), getNamespace()),
                           textOf(parser));
  }

private:
  /// The text after the dialect's name.
  static StringRef textOf(DialectAsmParser &parser) {
    return parser.getFullSymbolSpec();
  }
};

// NOLINTBEGIN(bugprone-macro-parentheses): a class's name takes none.
#define BAGUA_STUB_DIALECT(CLASS, NAME)                                        \
  class CLASS : public StubDialect {                                           \
  public:                                                                      \
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CLASS)                        \
    explicit CLASS(MLIRContext *context)                                       \
        : StubDialect(NAME, context, TypeID::get<CLASS>()) {}                  \
    static StringRef getDialectNamespace() { return NAME; }                    \
  };

// NOLINTEND(bugprone-macro-parentheses)
BAGUA_STUB_DIALECT(StableHLOStub, "stablehlo")
BAGUA_STUB_DIALECT(ShardyStub, "sdy")
BAGUA_STUB_DIALECT(ChloStub, "chlo")
BAGUA_STUB_DIALECT(MhloStub, "mhlo")
#undef BAGUA_STUB_DIALECT
} // namespace

/// The length of ` to 8:46` or ` to :46` at the start of the text; 0 for other
/// texts.
static size_t lengthOfRangeEnd(StringRef text) {
  StringRef rest = text;
  if (!rest.consume_front(" to "))
    return 0;
  rest = rest.drop_while(llvm::isDigit);
  if (!rest.consume_front(":") || rest.empty() || !llvm::isDigit(rest[0]))
    return 0;
  return text.size() - rest.drop_while(llvm::isDigit).size();
}

/// The text with blanks in the place of the ends of locations that are ranges,
/// `"f.py":8:4 to :46`. Newer exporters write these, and MLIR 19 does not read
/// them.
static std::string withoutRangeEnds(StringRef text) {
  std::string plain = text.str();
  bool isString = false;
  for (size_t i = 0; i < plain.size(); ++i) {
    if (isString && plain[i] == '\\')
      ++i;
    else if (plain[i] == '"')
      isString = !isString;
    else if (!isString && plain[i] == ' ' && i > 0 &&
             llvm::isDigit(plain[i - 1]))
      std::fill_n(plain.begin() + i, lengthOfRangeEnd(text.drop_front(i)), ' ');
  }
  return plain;
}

/// Whether each value is defined before it is used, also in the regions of stub
/// ops, where MLIR takes any order.
static LogicalResult checkOrder(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      Operation *def = operand.getDefiningOp();
      Operation *user =
          def ? def->getBlock()->findAncestorOpInBlock(*op) : nullptr;
      if (def && (!user || user == def || !def->isBeforeInBlock(user))) {
        emitError(op->getLoc())
            << "expected operand " << index << " of '" << op->getName()
            << "' to be made before it, found one that is made later";
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

OwningOpRef<ModuleOp> bagua::importer::readModule(llvm::SourceMgr &sources,
                                                  MLIRContext *context) {
  context->loadDialect<StableHLOStub, ShardyStub, ChloStub, MhloStub,
                       func::FuncDialect>();
  const llvm::MemoryBuffer *file =
      sources.getMemoryBuffer(sources.getMainFileID());
  if (file->getBuffer().contains(" = stablehlo.")) {
    emitError(FileLineColLoc::get(context, file->getBufferIdentifier(), 0, 0))
        << "expected MLIR's generic form, found StableHLO's own; JAX writes it "
           "by lowered.compiler_ir(\"stablehlo\").operation.get_asm("
           "enable_debug_info=True, print_generic_op_form=True)";
    return nullptr;
  }
  // The copy has the same name and lines, so that messages give the right
  // place.
  std::string text = withoutRangeEnds(file->getBuffer());
  llvm::SourceMgr plain;
  plain.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(text, file->getBufferIdentifier()),
      llvm::SMLoc());
  // An op of an unknown dialect is kept as opaque compute, so it must parse.
  bool allowed = context->allowsUnregisteredDialects();
  context->allowUnregisteredDialects(true);
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(plain, ParserConfig(context));
  context->allowUnregisteredDialects(allowed);
  if (module && failed(checkOrder(*module)))
    return nullptr;
  return module;
}

void bagua::importer::dumpModule(llvm::raw_ostream &output, ModuleOp module) {
  module->print(output, OpPrintingFlags().printGenericOpForm());
}
