#pragma once

namespace reference {

// The name under which to_backend knows this backend.
inline constexpr const char* kBackendName = "reference";

// Both read the environment at every question: a capability can come and go in a running process.
//
// REFERENCE_BACKEND_EXECUTE=0 takes the executor away. REFERENCE_BACKEND_COMPILE=0 takes the
// compiler away, and that alone costs nothing: programs are complete after preprocess, and reading
// one is part of the executor.
bool can_compile();
bool can_execute();

// Throw an error that names the backend and the variable.
void require_compile();
void require_execute();

} // namespace reference
