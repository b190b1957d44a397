#pragma once

#include "channel.h"
#include "session.h"
#include "values.h"

#include <torch/csrc/jit/mobile/import.h>
#include <torch/csrc/jit/serialization/import.h>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace native_target {

using ExtraFiles = torch::jit::ExtraFilesMap;

template <typename Source>
Module load_from(Source&& source, const std::string& runtime, ExtraFiles& extra_files) {
  if (runtime == "lite") {
    return torch::jit::_load_for_mobile(source, std::nullopt, extra_files);
  }
  return torch::jit::load(source, std::nullopt, extra_files);
}

inline Module load_from_bytes(std::string_view artifact, const std::string& runtime, ExtraFiles& extra_files) {
  std::istringstream stream{std::string(artifact)};
  return load_from(stream, runtime, extra_files);
}

inline c10::IValue call(torch::jit::Module& module, const std::string& name, std::vector<c10::IValue> inputs) {
  const auto method = module.get_method(name);
  const auto& declared = method.function().getSchema().arguments(); // of which the first is self
  for (size_t i = 0; i < inputs.size() && i + 1 < declared.size(); ++i) {
    retype(inputs[i], declared[i + 1].type());
  }
  return method(std::move(inputs));
}

inline c10::IValue call(torch::jit::mobile::Module& module, const std::string& name, std::vector<c10::IValue> inputs) {
  for (const auto& input : inputs) {
    retype(input, inferred_type(input)); // the lite interpreter need not know what is declared
  }
  return module.get_method(name)(std::move(inputs));
}

inline c10::IValue call(Module& module, const std::string& name, std::vector<c10::IValue> inputs = {}) {
  return std::visit([&](auto& loaded) { return call(loaded, name, std::move(inputs)); }, module);
}

inline bool has_method(const Module& module, const std::string& name) {
  return std::visit([&](const auto& loaded) { return loaded.find_method(name).has_value(); }, module);
}

// Inputs as they travel: the bytes of a tuple.
inline std::vector<c10::IValue> inputs_of(std::string_view data) {
  return decoded(data).toTupleRef().elements().vec();
}

} // namespace native_target
