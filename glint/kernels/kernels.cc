#include "glint/kernels/kernels.h"

namespace glint {
namespace {

using Fill = void (*)(Kernels&);

}  // namespace

#define GLINT_DECLARE_LEVEL(level) \
  namespace isa_##level {          \
    void fill_gemm(Kernels&);      \
    void fill_glu(Kernels&);       \
    void fill_rows(Kernels&);      \
    void fill_update(Kernels&);    \
    void fill_text(Kernels&);      \
    void fill_stored(Kernels&);    \
    void fill_doubles(Kernels&);   \
  }
GLINT_DECLARE_LEVEL(baseline)
#if defined(GLINT_X86_LEVELS)
GLINT_DECLARE_LEVEL(v3)
GLINT_DECLARE_LEVEL(v4)
#endif

namespace {

Kernels make(Isa isa, std::initializer_list<Fill> fills) {
  Kernels table{};
  table.isa = isa;
  for (const Fill fill : fills) fill(table);
  return table;
}

#define GLINT_MAKE_LEVEL(level)                                                                                      \
  make(Isa::level, {isa_##level::fill_gemm, isa_##level::fill_glu, isa_##level::fill_rows, isa_##level::fill_update, \
                    isa_##level::fill_text, isa_##level::fill_stored, isa_##level::fill_doubles})

}  // namespace

// A level's fill functions are its own code: they run only when that level is asked for.
const Kernels& kernels(Isa isa) {
#if defined(GLINT_X86_LEVELS)
  if (isa == Isa::v4) {
    static const Kernels v4 = GLINT_MAKE_LEVEL(v4);
    return v4;
  }
  if (isa == Isa::v3) {
    static const Kernels v3 = GLINT_MAKE_LEVEL(v3);
    return v3;
  }
#endif
  static_cast<void>(isa);
  static const Kernels baseline = GLINT_MAKE_LEVEL(baseline);
  return baseline;
}

}  // namespace glint
