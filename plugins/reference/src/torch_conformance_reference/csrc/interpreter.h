#pragma once

#include "compile.h"

namespace reference {

// Runs one call of a method. Throws BackendRuntimeException with the debug handle of the
// instruction that failed.
c10::impl::GenericList interpret(
    const CompiledMethod& compiled,
    const c10::impl::GenericList& inputs);

} // namespace reference
