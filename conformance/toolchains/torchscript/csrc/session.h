#pragma once

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/mobile/module.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace native_target {

// The arguments of a verb, by name.
class Arguments {
 public:
  explicit Arguments(c10::impl::GenericDict values) : values_(std::move(values)) {}

  // None where there is no such argument.
  c10::IValue operator[](const char* name) const {
    return values_.contains(name) ? values_.at(name) : c10::IValue();
  }
  int64_t integer(const char* name, int64_t otherwise) const;
  std::string text(const char* name) const;
  std::string_view bytes(const char* name) const;

 private:
  c10::impl::GenericDict values_;
};

// A module that was loaded, by whichever runtime.
using Module = std::variant<torch::jit::Module, torch::jit::mobile::Module>;

// A backend's libraries, the modules that were loaded with them, and what can be asked of both.
class Session {
 public:
  using Verb = c10::IValue (Session::*)(const Arguments&);

  // The name under which the backend is registered (empty: none is), and its libraries by their paths.
  Session(std::string backend, std::vector<std::string> libraries)
      : backend_(std::move(backend)), libraries_(std::move(libraries)) {}

  // What answers a verb; null for one that this program does not know.
  static Verb find(const std::string& verb);

 private:
  c10::IValue load_libraries(const Arguments&);
  c10::IValue set_environment(const Arguments&);
  c10::IValue forget(const Arguments&);
  c10::IValue release(const Arguments&);

  c10::IValue load(const Arguments&);
  c10::IValue load_many(const Arguments&);
  c10::IValue lower(const Arguments&);
  c10::IValue save(const Arguments&);

  c10::IValue run(const Arguments&);
  c10::IValue run_watched(const Arguments&);

  c10::IValue load_under(const Arguments&);
  c10::IValue run_under(const Arguments&);
  c10::IValue modes(const Arguments&);
  c10::IValue modes_under(const Arguments&);
  c10::IValue run_in_threads(const Arguments&);
  c10::IValue load_in_threads(const Arguments&);
  c10::IValue run_at_once(const Arguments&);

  c10::IValue has_bundle(const Arguments&);
  c10::IValue read_bundle(const Arguments&);
  c10::IValue lite_operators(const Arguments&);
  c10::IValue claims_directly(const Arguments&);
  c10::IValue measure(const Arguments&);
  c10::IValue mapped_files(const Arguments&);
  c10::IValue process_state(const Arguments&);

  int64_t keep(Module module);
  Module& module(const Arguments& arguments, const char* name = "module");
  // A fresh object of the backend's class, around which no module is.
  c10::IValue backend_object() const;

  std::string backend_;
  std::vector<std::string> libraries_;
  std::map<int64_t, Module> modules_;
  int64_t last_ = 0;
};

} // namespace native_target
