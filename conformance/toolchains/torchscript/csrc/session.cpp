// The table of verbs, and those that make modules, run them and let them go.

#include "session.h"

#include "channel.h"
#include "modules.h"
#include "subject.h"
#include "values.h"

#include <torch/csrc/jit/backends/backend_detail.h>

#include <dlfcn.h>
#ifdef __linux__
#include <malloc.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace native_target {
namespace {

namespace fs = std::filesystem;

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

int64_t resident_bytes() {
#ifdef __GLIBC__
  ::malloc_trim(0); // a leak that fits into memory which was freed and kept would not show
#endif
  int64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
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
      {"load_under", &Session::load_under},
      {"run_under", &Session::run_under},
      {"modes", &Session::modes},
      {"modes_under", &Session::modes_under},
      {"run_in_threads", &Session::run_in_threads},
      {"load_in_threads", &Session::load_in_threads},
      {"run_at_once", &Session::run_at_once},
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
    of_subject([&] { // as torch.ops.load_library does it
      if (::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
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
  std::vector<std::string> wanted;
  if (const auto names = arguments["extra_files"]; !names.isNone()) {
    for (const c10::IValue& name : names.toList()) {
      wanted.push_back(name.toStringRef());
      extra_files.emplace(wanted.back(), "");
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
  for (const auto& name : wanted) { // as they were asked for, and not as the map has them
    texts.insert(name, extra_files.at(name));
  }
  return c10::ivalue::Tuple::create(number, texts);
}

// Load an artifact often, call a method of each, and drop it: the resident memory after each quarter.
c10::IValue Session::load_many(const Arguments& arguments) {
  const auto runtime = arguments.text("runtime");
  std::vector<int64_t> readings;
  for (int quarter = 0; quarter < 4; ++quarter) {
    for (int64_t i = 0; i < arguments.integer("count", 0) / 4; ++i) {
      ExtraFiles none;
      auto inputs = inputs_of(arguments.bytes("inputs"));
      of_subject([&] {
        auto loaded = load_from_bytes(arguments.bytes("artifact"), runtime, none);
        call(loaded, arguments.text("method"), std::move(inputs));
      });
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

int64_t Session::keep(Module module) {
  modules_.emplace(++last_, std::move(module));
  return last_;
}

Module& Session::module(const Arguments& arguments, const char* name) {
  return modules_.at(arguments[name].toInt());
}

} // namespace native_target
