// A TorchScript backend whose methods are Python callables, under as many names in a process as one likes.
//
// torch::jit::backend<T> keeps its class in a static of the template, so a second name with the same T is silently
// ignored. Here torch::class_<Instance> is constructed once per name instead, and every method, __init__ included, is
// defined unboxed with `self: Any`, because the schema of a typed method would name the class of the first name.

#include <torch/csrc/jit/backends/backend_exception.h>
#include <torch/csrc/jit/backends/backend_preprocess.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/custom_class.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

// Declared in torch/csrc/jit/python/pybind_utils.h, which pulls in most of torch and doubles the build time.
namespace torch::jit {
TORCH_PYTHON_API IValue toIValue(py::handle obj, const c10::TypePtr& type, std::optional<int32_t> N);
TORCH_PYTHON_API py::object toPyObject(IValue ivalue);
} // namespace torch::jit

namespace {

using c10::IValue;
using torch::jit::Stack;

constexpr auto kNamespace = "__backends__";

// Owns a Python object from C++ that may drop it on any thread, without the GIL, or after Python has gone.
class PythonObject {
 public:
  explicit PythonObject(py::object object) : pointer_(object.release().ptr()) {}
  PythonObject(const PythonObject&) = delete;
  PythonObject& operator=(const PythonObject&) = delete;
  ~PythonObject() {
    if (!Py_IsInitialized()) {
      return; // leaked: there is no interpreter left to give it back to
    }
    py::gil_scoped_acquire gil;
    Py_XDECREF(pointer_);
  }
  py::object get() const {
    return py::reinterpret_borrow<py::object>(pointer_);
  }

 private:
  PyObject* pointer_;
};

// What `self.__backend` of a lowered module points to: one Python instance for each lowered module.
struct Instance : torch::CustomClassHolder {
  explicit Instance(py::object object) : implementation(std::move(object)) {}
  PythonObject implementation;
};

// A handle that is a Python object: it lives exactly as long as the lowered module that keeps it in `__handles`.
struct Handle : torch::CustomClassHolder {
  explicit Handle(py::object object) : value(std::move(object)) {}
  PythonObject value;
};

// Python's face of the two things that inference of a type from a value cannot give: a declared type, and a handle.
struct Typed {
  py::object value;
  c10::TypePtr type;
};
struct Opaque {
  py::object value;
};

std::string type_name(py::handle object) {
  return Py_TYPE(object.ptr())->tp_name;
}

IValue to_ivalue(py::handle object);

// PyTorch infers containers whose elements share a type. What it cannot infer becomes a container of Any.
IValue to_mixed_ivalue(py::handle object, const std::exception& reason) {
  if (py::isinstance<py::dict>(object)) {
    auto dict = py::reinterpret_borrow<py::dict>(object);
    c10::TypePtr key_type = c10::StringType::get();
    if (!dict.empty() && py::isinstance<py::int_>((*dict.begin()).first)) {
      key_type = c10::IntType::get();
    }
    c10::impl::GenericDict result(key_type, c10::AnyType::get());
    for (auto item : dict) {
      result.insert(torch::jit::toIValue(item.first, key_type, std::nullopt), to_ivalue(item.second));
    }
    return result;
  }
  if (py::isinstance<py::list>(object)) {
    c10::impl::GenericList result(c10::AnyType::get());
    for (auto element : py::reinterpret_borrow<py::list>(object)) {
      result.push_back(to_ivalue(element));
    }
    return result;
  }
  if (py::isinstance<py::tuple>(object)) {
    std::vector<IValue> elements;
    for (auto element : py::reinterpret_borrow<py::tuple>(object)) {
      elements.push_back(to_ivalue(element));
    }
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  TORCH_CHECK(false, "a value of type ", type_name(object), " cannot be handed to TorchScript: ", reason.what());
}

IValue to_ivalue(py::handle object) {
  if (py::isinstance<Typed>(object)) {
    const auto& typed = object.cast<const Typed&>();
    return torch::jit::toIValue(typed.value, typed.type, std::nullopt);
  }
  if (py::isinstance<Opaque>(object)) {
    return torch::make_custom_class<Handle>(object.cast<const Opaque&>().value);
  }
  if (py::isinstance<py::bytes>(object)) {
    return IValue(std::string(object.cast<py::bytes>()));
  }
  try {
    return torch::jit::toIValue(object, c10::AnyType::get(), std::nullopt);
  } catch (const std::exception& reason) {
    return to_mixed_ivalue(object, reason);
  }
}

py::object to_python(const IValue& value) {
  static const auto handle_type = c10::getCustomClassType<c10::intrusive_ptr<Handle>>();
  if (value.isObject() && value.toObjectRef().type() == handle_type) {
    return value.toCustomClass<Handle>()->value.get();
  }
  return torch::jit::toPyObject(value);
}

// The C++ exception for a Python one. A subclass of RuntimeError gives its text, any other its name before it, since
// str(KeyError("weight")) alone says nothing. An attribute `debug_handle` makes it one that the lite interpreter
// can trace to the line of the model.
[[noreturn]] void raise_as_cpp(const py::error_already_set& error) {
  std::string text = py::str(error.value());
  if (!error.matches(PyExc_RuntimeError) || text.empty()) {
    text = type_name(error.value()) + (text.empty() ? "" : ": ") + text;
  }
  py::object handle = py::getattr(error.value(), "debug_handle", py::none());
  if (py::isinstance<py::int_>(handle)) {
    TORCH_DELEGATED_BACKEND_THROW(false, text, handle.cast<int64_t>());
  }
  TORCH_CHECK(false, text);
}

// Runs `body` with the GIL; no Python object and no Python exception outlives it.
template <typename Body>
auto with_python(Body body) {
  TORCH_CHECK(Py_IsInitialized(), "a backend written in Python was called after the interpreter had ended");
  py::gil_scoped_acquire gil;
  try {
    return body();
  } catch (const py::error_already_set& error) {
    raise_as_cpp(error);
  }
}

py::object implementation_of(const IValue& self) {
  auto capsule = self.toObjectRef().getSlot(0).toCapsule();
  return static_cast<Instance*>(capsule.get())->implementation.get();
}

void is_available(const std::string& name, Stack& stack) {
  auto self = torch::jit::pop(stack);
  bool available = with_python([&] {
    py::object answer = implementation_of(self).attr("is_available")();
    TORCH_CHECK(py::isinstance<py::bool_>(answer),
                "is_available of backend ", name, " returned a ", type_name(answer), ", expected a bool");
    return answer.cast<bool>();
  });
  torch::jit::push(stack, available);
}

void compile(const std::string& name, Stack& stack) {
  auto method_compile_spec = torch::jit::pop(stack);
  auto processed = torch::jit::pop(stack);
  auto self = torch::jit::pop(stack);
  auto handles = with_python([&] {
    py::object answer = implementation_of(self).attr("compile")(to_python(processed), to_python(method_compile_spec));
    TORCH_CHECK(py::isinstance<py::dict>(answer),
                "compile of backend ", name, " returned a ", type_name(answer), ", expected a dict of handles");
    c10::impl::GenericDict result(c10::StringType::get(), c10::AnyType::get());
    for (auto item : py::reinterpret_borrow<py::dict>(answer)) {
      result.insert(IValue(item.first.cast<std::string>()), to_ivalue(item.second));
    }
    return result;
  });
  torch::jit::push(stack, std::move(handles));
}

void execute(const std::string& name, Stack& stack) {
  auto inputs = torch::jit::pop(stack);
  auto handle = torch::jit::pop(stack);
  auto self = torch::jit::pop(stack);
  auto outputs = with_python([&] {
    py::object answer = implementation_of(self).attr("execute")(to_python(handle), to_python(inputs));
    TORCH_CHECK(py::isinstance<py::list>(answer),
                "execute of backend ", name, " returned a ", type_name(answer), ", expected a list of outputs");
    c10::impl::GenericList result(c10::AnyType::get());
    for (auto output : py::reinterpret_borrow<py::list>(answer)) {
      result.push_back(to_ivalue(output));
    }
    return result;
  });
  torch::jit::push(stack, std::move(outputs));
}

// Debug handles in the order of a walk that visits a node, then what is in its blocks, then the next node.
void append_handles(torch::jit::Block* block, const torch::jit::NodeToDebugHandle& handles, std::vector<int64_t>& out) {
  for (auto* node : block->nodes()) {
    out.push_back(handles.at(node));
    for (auto* inner : node->blocks()) {
      append_handles(inner, handles, out);
    }
  }
}

IValue preprocess(
    const PythonObject& function,
    const torch::jit::Module& module,
    const c10::Dict<IValue, IValue>& method_compile_spec,
    const torch::jit::BackendDebugHandleGenerator& generate_debug_handles) {
  return with_python([&] {
    // The generator is PyTorch's and ends with this call; Python may keep the callable for longer.
    auto generator = std::make_shared<const torch::jit::BackendDebugHandleGenerator*>(&generate_debug_handles);
    struct Expiry {
      std::shared_ptr<const torch::jit::BackendDebugHandleGenerator*> generator;
      ~Expiry() {
        *generator = nullptr;
      }
    } expiry{generator};
    py::cpp_function debug_handles([generator](const std::shared_ptr<torch::jit::Graph>& graph) {
      TORCH_CHECK(*generator, "debug handles can be generated only while preprocess runs");
      std::vector<int64_t> result;
      append_handles(graph->block(), (**generator)(graph), result);
      return result;
    });
    return to_ivalue(function.get()(py::cast(module), to_python(IValue(method_compile_spec)), debug_handles));
  });
}

void initialise(const PythonObject& factory, Stack& stack) {
  auto self = torch::jit::pop(stack);
  auto instance = with_python([&] { return c10::make_intrusive<Instance>(factory.get()()); });
  self.toObject()->setSlot(0, IValue::make_capsule(std::move(instance)));
  torch::jit::push(stack, IValue());
}

// For saboteurs that hang: it never returns, it never sleeps, and it holds the GIL unless told to let go of it.
void spin(bool hold_gil) {
  std::optional<py::gil_scoped_release> without_gil;
  if (!hold_gil) {
    without_gil.emplace();
  }
  for (volatile std::uint64_t turns = 0;; turns = turns + 1) {
  }
}

// For saboteurs whose destructor throws, which a destructor in C++ must not: the process ends by std::terminate.
struct ThrowsWhenDestroyed {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wterminate"
  ~ThrowsWhenDestroyed() {
    throw std::runtime_error("the device cannot be closed");
  }
#pragma GCC diagnostic pop
};

void define(const std::string& name, py::object factory, py::object preprocess_function) {
  const auto qualified_name = std::string("__torch__.torch.classes.") + kNamespace + "." + name;
  TORCH_CHECK(torch::getCustomClass(qualified_name) == nullptr,
              "backend ", name, " is already registered in this process; a name can be registered only once");
  auto shared_factory = std::make_shared<PythonObject>(std::move(factory));
  auto shared_preprocess = std::make_shared<PythonObject>(std::move(preprocess_function));

  // The first of the two to refuse a name leaves nothing behind.
  torch::jit::detail::registerBackendPreprocessFunction(
      name, [shared_preprocess](const auto& module, const auto& spec, const auto& generator) {
        return preprocess(*shared_preprocess, module, spec, generator);
      });

  const auto any = [](const char* argument) { return c10::Argument(argument, c10::AnyType::get()); };
  const auto any_dict = c10::DictType::create(c10::StringType::get(), c10::AnyType::get());
  const auto any_list = c10::ListType::create(c10::AnyType::get());
  torch::class_<Instance>(kNamespace, name)
      ._def_unboxed(
          "__init__",
          [shared_factory](Stack& stack) { initialise(*shared_factory, stack); },
          c10::FunctionSchema("__init__", "", {any("self")}, {c10::Argument("none", c10::NoneType::get())}))
      ._def_unboxed(
          "is_available",
          [name](Stack& stack) { is_available(name, stack); },
          c10::FunctionSchema(
              "is_available", "", {any("self")}, {c10::Argument("available", c10::BoolType::get())}))
      ._def_unboxed(
          "compile",
          [name](Stack& stack) { compile(name, stack); },
          c10::FunctionSchema(
              "compile",
              "",
              {any("self"), any("processed"), c10::Argument("method_compile_spec", any_dict)},
              {c10::Argument("handles", any_dict)}))
      ._def_unboxed(
          "execute",
          [name](Stack& stack) { execute(name, stack); },
          c10::FunctionSchema(
              "execute",
              "",
              {any("self"), any("handle"), c10::Argument("input", any_list)},
              {c10::Argument("output", any_list)}));
}

} // namespace

PYBIND11_MODULE(_bridge, module) {
  static auto handle_class = torch::class_<Handle>("conformance_saboteurs", "Handle");
  py::class_<Typed>(module, "Typed")
      .def(py::init([](py::object value, c10::TypePtr type) { return Typed{std::move(value), std::move(type)}; }))
      .def_readonly("value", &Typed::value);
  py::class_<Opaque>(module, "Opaque")
      .def(py::init([](py::object value) { return Opaque{std::move(value)}; }))
      .def_readonly("value", &Opaque::value);
  py::class_<ThrowsWhenDestroyed>(module, "ThrowsWhenDestroyed").def(py::init<>());
  module.def("define", &define);
  module.def("spin", &spin);
}
