// The verbs that look at modules and at the process, and ask the backend itself.

#include "guards.h"
#include "modules.h"
#include "session.h"
#include "subject.h"

#include <torch/csrc/jit/mobile/compatibility/model_compatibility.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/custom_class.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace native_target {
namespace {

namespace fs = std::filesystem;

int64_t entries_of(const char* folder) {
  std::error_code ignored;
  const fs::directory_iterator entries(folder, ignored);
  return std::distance(begin(entries), end(entries));
}

// Call a method of a backend's object.
c10::IValue ask(const c10::IValue& object, const char* method, std::vector<c10::IValue> given = {}) {
  given.insert(given.begin(), object);
  return object.toObjectRef().type()->getMethod(method)(std::move(given));
}

// The text of what the work throws; None where it throws nothing.
template <typename Work>
c10::IValue error_of(Work&& work) {
  try {
    work();
    return {};
  } catch (...) {
    const auto raised = described(std::current_exception());
    return raised.type + ": " + raised.text;
  }
}

} // namespace

c10::IValue Session::has_bundle(const Arguments& arguments) {
  return of_subject([&] { return has_method(module(arguments), "get_all_bundled_inputs"); });
}

c10::IValue Session::read_bundle(const Arguments& arguments) {
  auto& bundled = module(arguments);
  auto read = new_dict();
  of_subject([&] {
    read.insert("functions_and_info", encoded(call(bundled, "get_bundled_inputs_functions_and_info")));
    auto by_method = new_dict();
    for (const c10::IValue& each : arguments["methods"].toList()) {
      const auto& method = each.toStringRef();
      by_method.insert(method, encoded(call(bundled, "get_all_bundled_inputs_for_" + method)));
      if (method == "forward") {
        read.insert("all", encoded(call(bundled, "get_all_bundled_inputs")));
        read.insert("count", call(bundled, "get_num_bundled_inputs"));
      }
    }
    read.insert("for", by_method);
  });
  return read;
}

// The operators that a lite artifact names, its bytecode version, and those operators that are not there.
c10::IValue Session::lite_operators(const Arguments& arguments) {
  const auto artifact = arguments.bytes("artifact");
  std::set<std::string> operators;
  uint64_t version = 0;
  of_subject([&] {
    ExtraFiles none;
    auto loaded = load_from_bytes(artifact, "lite", none);
    operators = torch::jit::mobile::_export_operator_list(std::get<torch::jit::mobile::Module>(loaded));
    std::istringstream stream{std::string(artifact)};
    version = torch::jit::_get_model_bytecode_version(stream);
  });
  std::vector<std::string> unknown;
  for (const auto& full_name : operators) {
    const auto dot = full_name.find('.');
    const c10::OperatorName name(
        full_name.substr(0, dot), dot == std::string::npos ? "" : full_name.substr(dot + 1));
    if (name.name.rfind("prim::", 0) != 0 && !torch::jit::findOperatorFor(name)) {
      unknown.push_back(full_name);
    }
  }
  auto found = new_dict();
  found.insert("operators", as_list(operators));
  found.insert("bytecode_version", static_cast<int64_t>(version));
  found.insert("unknown", as_list(unknown));
  return found;
}

c10::IValue Session::claims_directly(const Arguments&) {
  return of_subject([&] {
    const c10::IValue object = backend_object();
    return ask(object, "is_available").toBool();
  });
}

// Whether compile and execute work, whatever is_available says: None each, or the error's text. Where compile fails
// there are no handles, and execute is tried with what could serve as one.
c10::IValue Session::measure(const Arguments& arguments) {
  const auto inner = std::get<torch::jit::Module>(module(arguments, "lowered")).attr("__loweredModule__").toModule();
  const auto backend = inner.attr("__backend");
  const auto processed = inner.attr("__processed_module");
  c10::impl::GenericList inputs(c10::AnyType::get());
  for (auto& input : inputs_of(arguments.bytes("inputs"))) {
    inputs.push_back(std::move(input));
  }
  const c10::IValue method = arguments["method"];
  std::vector<c10::IValue> handles;
  auto found = new_dict();
  found.insert("compile", error_of([&] {
                 const auto spec = inner.attr("__method_compile_spec");
                 handles = {ask(backend, "compile", {processed, spec}).toGenericDict().at(method)};
               }));
  if (handles.empty()) {
    handles = {processed};
    if (processed.isGenericDict() && processed.toGenericDict().contains(method)) {
      handles.push_back(processed.toGenericDict().at(method));
    }
  }
  for (const auto& handle : handles) {
    found.insert_or_assign("execute", error_of([&] { ask(backend, "execute", {handle, inputs}); }));
    if (found.at("execute").isNone()) {
      break;
    }
  }
  return found;
}

// Every file of which a part is mapped into this process: the program, and all libraries that were loaded.
c10::IValue Session::mapped_files(const Arguments&) {
  std::set<std::string> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (const auto slash = line.find('/'); slash != std::string::npos) {
      files.insert(line.substr(slash));
    }
  }
  return as_list(files);
}

c10::IValue Session::process_state(const Arguments&) {
  auto state = Modes::here().as_message();
  state.insert("threads of the process", entries_of("/proc/self/task"));
  state.insert("open descriptors", entries_of("/proc/self/fd"));
  state.insert("current directory", fs::current_path().string());
  return state;
}

c10::IValue Session::backend_object() const {
  const auto type = torch::getCustomClass("__torch__.torch.classes.__backends__." + backend_);
  TORCH_CHECK(type, "no library has registered a backend named '", backend_, "'");
  const c10::IValue object = c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, type), /*numSlots=*/1);
  ask(object, "__init__");
  return object;
}

} // namespace native_target
