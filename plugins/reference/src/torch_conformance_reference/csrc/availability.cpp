#include "availability.h"

#include <c10/util/Exception.h>

#include <cstdlib>
#include <string_view>

namespace reference {
namespace {

constexpr const char* kCompileSwitch = "REFERENCE_BACKEND_COMPILE";
constexpr const char* kExecuteSwitch = "REFERENCE_BACKEND_EXECUTE";

bool switched_off(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "0";
}

} // namespace

bool can_execute() {
  return !switched_off(kExecuteSwitch);
}

bool can_compile() {
  return can_execute() || !switched_off(kCompileSwitch);
}

void require_compile() {
  TORCH_CHECK(
      can_compile(),
      "Backend ", kBackendName, " cannot compile here: it is switched off by ", kCompileSwitch,
      "=0 and ", kExecuteSwitch, "=0. Unset either variable to compile.");
}

void require_execute() {
  TORCH_CHECK(
      can_execute(),
      "Backend ", kBackendName, " cannot execute here: it is switched off by ", kExecuteSwitch,
      "=0. Unset the variable to execute.");
}

} // namespace reference
