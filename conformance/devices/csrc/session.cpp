#include "session.h"

#include "channel.h"
#include "subject.h"
#include "values.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/backends/backend_detail.h>
#include <torch/csrc/jit/mobile/compatibility/model_compatibility.h>
#include <torch/csrc/jit/mobile/import.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/custom_class.h>

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

namespace native_target {
namespace {

namespace fs = std::filesystem;
using ExtraFiles = torch::jit::ExtraFilesMap;

// A file with these bytes, for as long as this lives.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view data) {
    const int descriptor = ::mkstemp(path_.data());
    TORCH_CHECK(descriptor >= 0, "a temporary file cannot be made: ", path_);
    ::close(descriptor);
    std::ofstream(path_, std::ios::binary) << data;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  const std::string& path() const {
    return path_;
  }

 private:
  std::string path_ = (fs::temp_directory_path() / "native_target_XXXXXX").string();
};

template <typename Source>
Module load_from(Source&& source, const std::string& runtime, ExtraFiles& extra_files) {
  if (runtime == "lite") {
    return torch::jit::_load_for_mobile(source, std::nullopt, extra_files);
  }
  return torch::jit::load(source, std::nullopt, extra_files);
}

Module load_from_bytes(std::string_view artifact, const std::string& runtime, ExtraFiles& extra_files) {
  std::istringstream stream{std::string(artifact)};
  return load_from(stream, runtime, extra_files);
}

c10::IValue call(torch::jit::Module& module, const std::string& name, std::vector<c10::IValue> inputs) {
  const auto method = module.get_method(name);
  const auto& declared = method.function().getSchema().arguments(); // of which the first is self
  for (size_t i = 0; i < inputs.size() && i + 1 < declared.size(); ++i) {
    retype(inputs[i], declared[i + 1].type());
  }
  return method(std::move(inputs));
}

c10::IValue call(torch::jit::mobile::Module& module, const std::string& name, std::vector<c10::IValue> inputs) {
  for (const auto& input : inputs) {
    retype(input, inferred_type(input)); // the lite interpreter need not know what is declared
  }
  return module.get_method(name)(std::move(inputs));
}

c10::IValue call(Module& module, const std::string& name, std::vector<c10::IValue> inputs = {}) {
  return std::visit([&](auto& loaded) { return call(loaded, name, std::move(inputs)); }, module);
}

bool has_method(const Module& module, const std::string& name) {
  return std::visit([&](const auto& loaded) { return loaded.find_method(name).has_value(); }, module);
}

// Inputs as they travel: the bytes of a tuple.
std::vector<c10::IValue> inputs_of(std::string_view data) {
  return decoded(data).toTupleRef().elements().vec();
}

int64_t entries_of(const char* folder) {
  std::error_code ignored;
  const fs::directory_iterator entries(folder, ignored);
  return std::distance(begin(entries), end(entries));
}

int64_t resident_bytes() {
  int64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
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

int64_t Arguments::integer(const char* name, int64_t otherwise) const {
  const auto value = (*this)[name];
  return value.isInt() ? value.toInt() : otherwise;
}

std::string Arguments::text(const char* name) const {
  return (*this)[name].toStringRef();
}

std::string_view Arguments::bytes(const char* name) const {
  return view_of((*this)[name].toTensor()); // the tensor lives on in values_
}

Session::Verb Session::find(const std::string& verb) {
  static const std::map<std::string, Verb> verbs{
      {"register", &Session::load_libraries},
      {"switch", &Session::set_environment},
      {"forget", &Session::forget},
      {"release", &Session::release},
      {"load", &Session::load},
      {"load_many", &Session::load_many},
      {"lower", &Session::lower},
      {"save", &Session::save},
      {"run", &Session::run},
      {"run_watched", &Session::run_watched},
      {"run_in_threads", &Session::run_in_threads},
      {"has_bundle", &Session::has_bundle},
      {"read_bundle", &Session::read_bundle},
      {"lite_operators", &Session::lite_operators},
      {"claims_directly", &Session::claims_directly},
      {"measure", &Session::measure},
      {"mapped_files", &Session::mapped_files},
      {"process_state", &Session::process_state},
  };
  const auto found = verbs.find(verb);
  return found == verbs.end() ? nullptr : found->second;
}

c10::IValue Session::load_libraries(const Arguments&) {
  for (const auto& library : libraries_) {
    of_subject([&] { // RTLD_GLOBAL: as torch.ops.load_library does it
      if (::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
        throw Raised{"OSError", {"Exception", "BaseException"}, ::dlerror()};
      }
    });
  }
  return {};
}

c10::IValue Session::set_environment(const Arguments& arguments) {
  for (const auto& entry : arguments["environment"].toGenericDict()) {
    const auto& name = entry.key().toStringRef();
    if (entry.value().isNone()) {
      ::unsetenv(name.c_str());
    } else {
      ::setenv(name.c_str(), entry.value().toStringRef().c_str(), 1);
    }
  }
  return {};
}

c10::IValue Session::forget(const Arguments& arguments) {
  of_subject([&] { modules_.erase(arguments["module"].toInt()); });
  return {};
}

c10::IValue Session::release(const Arguments&) {
  of_subject([&] { modules_.clear(); });
  return {};
}

c10::IValue Session::load(const Arguments& arguments) {
  ExtraFiles extra_files;
  if (const auto wanted = arguments["extra_files"]; !wanted.isNone()) {
    for (const c10::IValue& name : wanted.toList()) {
      extra_files.emplace(name.toStringRef(), "");
    }
  }
  const auto artifact = arguments.bytes("artifact");
  const auto runtime = arguments.text("runtime");
  const auto number = of_subject([&] {
    if (arguments.text("via") == "file") {
      const TemporaryFile file(artifact);
      return keep(load_from(file.path(), runtime, extra_files));
    }
    return keep(load_from_bytes(artifact, runtime, extra_files));
  });
  auto texts = new_dict();
  for (const auto& [name, text] : extra_files) {
    texts.insert(name, text);
  }
  return c10::ivalue::Tuple::create(number, texts);
}

// Load an artifact often, dropping each: the resident memory after each quarter.
c10::IValue Session::load_many(const Arguments& arguments) {
  const auto runtime = arguments.text("runtime");
  std::vector<int64_t> readings;
  for (int quarter = 0; quarter < 4; ++quarter) {
    for (int64_t i = 0; i < arguments.integer("count", 0) / 4; ++i) {
      ExtraFiles none;
      of_subject([&] { load_from_bytes(arguments.bytes("artifact"), runtime, none); });
    }
    readings.push_back(resident_bytes());
  }
  return as_list(readings);
}

// Lower a module that was loaded in full: what torch._C._jit_to_backend does, without Python.
c10::IValue Session::lower(const Arguments& arguments) {
  const auto any_dict = c10::DictType::create(c10::StringType::get(), c10::AnyType::get());
  const auto spec = decoded(arguments.bytes("spec"));
  for (const auto& entry : spec.toGenericDict()) {
    retype(entry.value(), inferred_type(entry.value()));
  }
  retype(spec, any_dict);
  const auto& original = std::get<torch::jit::Module>(module(arguments));
  return of_subject([&] {
    return keep(torch::jit::detail::codegen_backend_module(backend_, original, spec.toGenericDict(), any_dict));
  });
}

c10::IValue Session::save(const Arguments& arguments) {
  const auto& saved = std::get<torch::jit::Module>(module(arguments));
  std::ostringstream stream;
  of_subject([&] {
    if (arguments.text("runtime") == "lite") {
      saved._save_for_mobile(stream);
    } else {
      saved.save(stream);
    }
  });
  return as_bytes(stream.str());
}

c10::IValue Session::run(const Arguments& arguments) {
  std::vector<at::Tensor> results;
  for (int64_t i = 0; i < arguments.integer("repeat", 1); ++i) {
    auto inputs = inputs_of(arguments.bytes("inputs"));
    results.push_back(of_subject(
        [&] { return encoded(call(module(arguments), arguments.text("method"), std::move(inputs))); }));
  }
  return as_list(results);
}

// Call a method, then on other inputs, then on the first again; see the verb of this name in _artifacts.py.
c10::IValue Session::run_watched(const Arguments& arguments) {
  constexpr int kHeld = 12;
  const auto name = arguments.text("method");
  const auto run = [&](const std::vector<c10::IValue>& inputs) {
    return of_subject([&] { return call(module(arguments), name, inputs); });
  };
  const auto first_inputs = inputs_of(arguments.bytes("inputs"));
  const auto watched = tensors_of(c10::ivalue::Tuple::create(first_inputs));
  const auto before = tensors_of(c10::ivalue::Tuple::create(inputs_of(arguments.bytes("inputs"))));
  std::vector<int64_t> versions;
  for (const auto& tensor : watched) {
    versions.push_back(tensor._version());
  }
  const auto first = tensors_of(run(first_inputs));
  std::vector<at::Tensor> as_returned;
  for (const auto& tensor : first) {
    as_returned.push_back(tensor.detach().clone());
  }
  bool shared = false;
  std::vector<c10::IValue> held; // so that their memory is not used again
  for (int round = 0; round < kHeld; ++round) {
    for (const c10::IValue& other : arguments["others"].toList()) {
      held.push_back(run(inputs_of(view_of(other.toTensor()))));
    }
    held.push_back(run(inputs_of(arguments.bytes("inputs"))));
  }
  for (const auto& result : held) {
    for (const auto& theirs : tensors_of(result)) {
      for (const auto& mine : first) {
        shared |= share_memory(mine, theirs);
      }
    }
  }
  std::vector<int64_t> mutated, aliased;
  for (size_t i = 0; i < watched.size(); ++i) {
    if (static_cast<int64_t>(watched[i]._version()) != versions[i] || !same_values(watched[i], before[i])) {
      mutated.push_back(static_cast<int64_t>(i));
    }
    if (std::any_of(first.begin(), first.end(), [&](const auto& mine) { return share_memory(mine, watched[i]); })) {
      aliased.push_back(static_cast<int64_t>(i));
    }
  }
  auto found = new_dict();
  found.insert("mutated_inputs", as_list(mutated));
  found.insert("aliased_inputs", as_list(aliased));
  found.insert("shared_outputs", shared);
  found.insert("changed_result", !std::equal(first.begin(), first.end(), as_returned.begin(), same_values));
  return found;
}

// Call a method of one module from several threads at once, each ``repeat`` times on inputs of its own: the last result
// of each thread, or what the first of them that failed threw.
c10::IValue Session::run_in_threads(const Arguments& arguments) {
  const auto name = arguments.text("method");
  const auto repeat = arguments.integer("repeat", 1);
  const auto inputs = arguments["inputs"].toList();
  auto& shared = module(arguments);
  std::vector<at::Tensor> results(inputs.size());
  std::vector<std::exception_ptr> errors(inputs.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i, data = inputs.get(i).toTensor()] {
      try {
        for (int64_t round = 0; round < repeat; ++round) {
          results[i] = encoded(call(shared, name, inputs_of(view_of(data))));
        }
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  for (const auto& error : errors) {
    if (error) {
      throw described(error);
    }
  }
  return as_list(results);
}

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
  auto state = new_dict();
  state.insert("grad mode", at::GradMode::is_enabled());
  state.insert("inference mode", c10::InferenceMode::is_enabled());
  state.insert("threads of the process", entries_of("/proc/self/task"));
  state.insert("open descriptors", entries_of("/proc/self/fd"));
  state.insert("current directory", fs::current_path().string());
  return state;
}

int64_t Session::keep(Module module) {
  modules_.emplace(++last_, std::move(module));
  return last_;
}

Module& Session::module(const Arguments& arguments, const char* name) {
  return modules_.at(arguments[name].toInt());
}

c10::IValue Session::backend_object() const {
  const auto type = torch::getCustomClass("__torch__.torch.classes.__backends__." + backend_);
  TORCH_CHECK(type, "no library has registered a backend named '", backend_, "'");
  const c10::IValue object = c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, type), /*numSlots=*/1);
  ask(object, "__init__");
  return object;
}

} // namespace native_target
