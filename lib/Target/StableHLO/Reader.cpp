//===- Reader.cpp - StableHLO text with a stock MLIR ----------------------===//
//
// The stub dialects, and the parse.
//
//===----------------------------------------------------------------------===//
#include "Reader.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace bagua::importer;

namespace {
/// A dialect of which every op and attribute is unknown. Without it an op with
/// one region might be a symbol table for all that MLIR knows, and a call
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
  /// What stands after the dialect's name.
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

OwningOpRef<ModuleOp> bagua::importer::readModule(llvm::SourceMgr &sources,
                                                  MLIRContext *context) {
  context->loadDialect<StableHLOStub, ShardyStub, ChloStub, MhloStub,
                       func::FuncDialect>();
  // An op of a dialect that nobody knows is kept as opaque compute, so it must
  // parse.
  bool allowed = context->allowsUnregisteredDialects();
  context->allowUnregisteredDialects(true);
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(sources, ParserConfig(context));
  context->allowUnregisteredDialects(allowed);
  return module;
}
