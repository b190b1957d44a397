// The verbs about grad mode, inference mode and threads; see toolchains/torchscript/_guards.py, where they are in Python.

#include "guards.h"
#include "modules.h"
#include "session.h"
#include "subject.h"
#include "threads.h"
#include "values.h"

#include <optional>

namespace native_target {
namespace {

std::vector<c10::IValue> requiring_grad(std::vector<c10::IValue> inputs) {
  for (const auto& input : inputs) {
    if (input.isTensor() && input.toTensor().is_floating_point()) {
      input.toTensor().requires_grad_();
    }
  }
  return inputs;
}

std::vector<Arguments> each_of(const c10::IValue& list) {
  std::vector<Arguments> found;
  for (const c10::IValue& each : list.toList()) {
    found.emplace_back(each.toGenericDict());
  }
  return found;
}

} // namespace

c10::IValue Session::load_under(const Arguments& arguments) {
  const Guard guard(arguments.text("guard"));
  ExtraFiles none;
  return of_subject(
      [&] { return keep(load_from_bytes(arguments.bytes("artifact"), arguments.text("runtime"), none)); });
}

c10::IValue Session::run_under(const Arguments& arguments) {
  auto inputs = inputs_of(arguments.bytes("inputs"));
  if (arguments["differentiable"].toBool()) {
    inputs = requiring_grad(std::move(inputs));
  }
  const auto result = [&] {
    const Guard guard(arguments.text("guard"));
    return of_subject([&] { return call(module(arguments), arguments.text("method"), std::move(inputs)); });
  }();
  return encoded(result);
}

c10::IValue Session::modes(const Arguments&) {
  return Modes::here().as_message();
}

// The modes within a guard: at first, and after each step, whether that succeeds or throws.
c10::IValue Session::modes_under(const Arguments& arguments) {
  std::optional<Module> loaded;
  const Guard guard(arguments.text("guard"));
  std::vector<c10::IValue> seen{Modes::here().as_message()};
  for (const auto& step : each_of(arguments["steps"])) {
    try {
      if (!step["artifact"].isNone()) {
        ExtraFiles none;
        loaded = load_from_bytes(step.bytes("artifact"), step.text("runtime"), none);
      } else if (loaded) {
        call(*loaded, step.text("method"), inputs_of(step.bytes("inputs")));
      }
    } catch (...) { // not what is asked here
    }
    seen.push_back(Modes::here().as_message());
  }
  return as_list(seen);
}

// Make each call ``rounds`` times in every thread, each time on the next module, while this one stands within a guard.
c10::IValue Session::run_in_threads(const Arguments& arguments) {
  std::vector<Module*> held;
  for (const c10::IValue& number : arguments["modules"].toList()) {
    held.push_back(&modules_.at(number.toInt()));
  }
  const auto calls = each_of(arguments["calls"]);
  const auto turns = static_cast<size_t>(arguments.integer("rounds", 1)) * calls.size();
  Findings found(calls.size());
  const Guard guard(arguments.text("guard"));
  observe_at_once(arguments.integer("threads", 1), found, [&](size_t index) {
    for (size_t turn = 0; turn < turns; ++turn) {
      const auto which = (index + turn) % calls.size();
      auto& module = *held[(index + turn + turn / calls.size()) % held.size()];
      found.note(which, call(module, calls[which].text("method"), inputs_of(calls[which].bytes("inputs"))));
    }
  });
  return found.as_message();
}

// Load an artifact in each thread, and call a method of what came of it twice.
c10::IValue Session::load_in_threads(const Arguments& arguments) {
  Findings found(1);
  observe_at_once(arguments.integer("threads", 1), found, [&](size_t) {
    ExtraFiles none;
    auto loaded = load_from_bytes(arguments.bytes("artifact"), arguments.text("runtime"), none);
    for (int round = 0; round < 2; ++round) {
      found.note(0, call(loaded, arguments.text("method"), inputs_of(arguments.bytes("inputs"))));
    }
  });
  return found.as_message();
}

// Call a method of one module from several threads at once, each ``repeat`` times on inputs of its own: the last result
// of each thread, or what the first of them that failed threw.
c10::IValue Session::run_at_once(const Arguments& arguments) {
  const auto name = arguments.text("method");
  const auto inputs = arguments["inputs"].toList().vec();
  auto& shared = module(arguments);
  std::vector<at::Tensor> results(inputs.size());
  const auto errors = at_once(inputs.size(), [&](size_t index) {
    for (int64_t round = 0; round < arguments.integer("repeat", 1); ++round) {
      results[index] = encoded(call(shared, name, inputs_of(view_of(inputs[index].toTensor()))));
    }
  });
  for (const auto& error : errors) {
    if (error) {
      throw described(error);
    }
  }
  return as_list(results);
}

} // namespace native_target
