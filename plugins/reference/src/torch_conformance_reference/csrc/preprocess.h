#pragma once

#include <torch/csrc/jit/backends/backend_preprocess.h>

namespace reference {

// The backend's half of to_backend that runs on the host: turns every method that the spec names
// into a program (see program.h). Runs whether or not the backend is available. Throws for what the
// backend does not take (see refusals.h).
c10::IValue preprocess(
    const torch::jit::Module& module,
    const c10::Dict<c10::IValue, c10::IValue>& method_compile_spec,
    const torch::jit::BackendDebugHandleGenerator& generate_debug_handles);

// How many times preprocess has run in this process.
int64_t preprocess_count();

} // namespace reference
