// The library: loading it registers the delegate.
#include "reference.cpp"

namespace {

reference::Reference delegate;
const auto registered = executorch::runtime::register_backend({"ReferenceBackend", &delegate});

} // namespace
