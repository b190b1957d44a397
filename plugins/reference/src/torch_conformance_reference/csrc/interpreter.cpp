#include "interpreter.h"

#include "availability.h"

#include <torch/csrc/jit/backends/backend_exception.h>

namespace reference {
namespace {

using c10::IValue;
using c10::impl::GenericDict;
using c10::impl::GenericList;

// The state of one call.
class Call {
 public:
  Call(const CompiledMethod& compiled, const GenericList& inputs)
      : method_(compiled.method),
        operators_(compiled.operators),
        weights_(compiled.compiled->program.weights),
        owned_(compiled.compiled->owned),
        registers_(compiled.method.register_count) {
    std::copy(inputs.begin(), inputs.end(), registers_.begin());
  }

  IValue run();

 private:
  void step(const Instruction& instruction);
  void call_operator(const Instruction& instruction);
  void continue_at(int64_t index) {
    next_ = static_cast<size_t>(index);
  }

  IValue take(Operand operand);
  void push(const Instruction& instruction);
  void pop(const Instruction& instruction);
  void define(const Instruction& instruction, IValue value);

  const Method& method_;
  const std::vector<ResolvedOperator>& operators_;
  const std::map<std::string, at::Tensor>& weights_;
  const IValue::HashAliasedIValues& owned_;
  std::vector<IValue> registers_;
  c10::Stack stack_;
  size_t next_ = 0;
};

IValue Call::take(Operand operand) {
  IValue& value = registers_[register_of(operand)];
  return is_last_use(operand) ? std::move(value) : value;
}

void Call::push(const Instruction& instruction) {
  for (const Operand input : instruction.inputs) {
    stack_.push_back(take(input));
  }
}

void Call::pop(const Instruction& instruction) {
  TORCH_CHECK(
      stack_.size() == instruction.outputs.size(),
      "expected ", instruction.outputs.size(), " values, found ", stack_.size());
  for (size_t at = 0; at < stack_.size(); ++at) {
    registers_[instruction.outputs[at]] = std::move(stack_[at]);
  }
  stack_.clear();
}

void Call::define(const Instruction& instruction, IValue value) {
  registers_[instruction.outputs[0]] = std::move(value);
}

GenericList make_list(const c10::TypePtr& type, c10::Stack& elements) {
  GenericList list(type->expectRef<c10::ListType>().getElementType());
  list.reserve(elements.size());
  for (IValue& element : elements) {
    list.push_back(std::move(element));
  }
  elements.clear();
  return list;
}

GenericDict make_dict(const c10::TypePtr& type, c10::Stack& items) {
  const auto& dict_type = type->expectRef<c10::DictType>();
  GenericDict dict(dict_type.getKeyType(), dict_type.getValueType());
  for (size_t at = 0; at < items.size(); at += 2) {
    dict.insert_or_assign(std::move(items[at]), std::move(items[at + 1]));
  }
  items.clear();
  return dict;
}

bool is_instance(const IValue& value, const c10::TypePtr& candidates) {
  const c10::TypePtr type = value.type();
  for (const c10::TypePtr& candidate : candidates->containedTypes()) {
    if (type->isSubtypeOf(*candidate)) {
      return true;
    }
  }
  return false;
}

[[noreturn]] void raise(const IValue& text, const IValue& class_name) {
  TORCH_CHECK(
      false, class_name.isNone() ? "" : class_name.toStringRef() + ": ", text.toStringRef());
}

void Call::call_operator(const Instruction& instruction) {
  push(instruction);
  const ResolvedOperator& op = operators_[instruction.index];
  for (const size_t argument : op.written) {
    TORCH_CHECK(
        owned_.count(stack_[argument]) == 0,
        "Backend ", kBackendName, " does not run ", method_.operators[instruction.index],
        " here: it would write to a parameter, buffer, attribute or constant, and a lowered module "
        "keeps no state between calls.");
  }
  op.call(stack_);
  pop(instruction);
}

void Call::step(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::Constant:
      return define(instruction, method_.constants[instruction.index]);
    case Opcode::Weight:
      return define(instruction, weights_.at(method_.weight_names[instruction.index]));
    case Opcode::Operator:
      return call_operator(instruction);
    case Opcode::Move:
      push(instruction);
      return pop(instruction);
    case Opcode::Release:
      push(instruction);
      return stack_.clear();
    case Opcode::Jump:
      return continue_at(instruction.index);
    case Opcode::JumpIfFalse:
      return take(instruction.inputs[0]).toBool() ? void() : continue_at(instruction.index);
    case Opcode::Loop: {
      const int64_t limit = take(instruction.inputs[0]).toInt();
      const bool condition = take(instruction.inputs[1]).toBool();
      const int64_t iteration = registers_[instruction.outputs[0]].toInt() + 1;
      define(instruction, iteration);
      return condition && iteration < limit ? void() : continue_at(instruction.index);
    }
    case Opcode::MakeTuple:
      push(instruction);
      return define(instruction, c10::ivalue::Tuple::create(std::exchange(stack_, {})));
    case Opcode::UnpackTuple:
      stack_ = take(instruction.inputs[0]).toTupleRef().elements().vec();
      return pop(instruction);
    case Opcode::MakeList:
      push(instruction);
      return define(instruction, make_list(method_.types[instruction.index], stack_));
    case Opcode::UnpackList:
      stack_ = take(instruction.inputs[0]).toListRef().vec();
      return pop(instruction);
    case Opcode::MakeDict:
      push(instruction);
      return define(instruction, make_dict(method_.types[instruction.index], stack_));
    case Opcode::IsInstance:
      return define(
          instruction, is_instance(take(instruction.inputs[0]), method_.types[instruction.index]));
    case Opcode::Warn:
      TORCH_WARN(take(instruction.inputs[0]).toStringRef());
      return;
    case Opcode::Raise:
      raise(take(instruction.inputs[0]), take(instruction.inputs[1]));
    case Opcode::Return:
      return push(instruction);
  }
}

IValue Call::run() {
  const auto fail = [this](const std::string& message) {
    TORCH_DELEGATED_BACKEND_THROW(false, message, method_.code[next_ - 1].debug_handle);
  };
  try {
    while (next_ < method_.code.size()) {
      step(method_.code[next_++]);
    }
  } catch (const c10::Error& error) {
    fail(error.what_without_backtrace());
  } catch (const std::exception& error) {
    fail(error.what());
  }
  return std::move(stack_.back());
}

// A caller may write to what it gets. So nothing leaves that belongs to the program or to the
// caller: such an output (a weight, or an input that the model passes through) is copied.
IValue detached(const IValue& output, const CompiledMethod& compiled, const GenericList& inputs) {
  IValue::HashAliasedIValues foreign;
  for (const IValue& input : inputs) {
    add_shareable_parts(input, foreign);
  }
  IValue::HashAliasedIValues parts;
  add_shareable_parts(output, parts);
  for (const IValue& part : parts) {
    if (foreign.count(part) == 1 || compiled.compiled->owned.count(part) == 1) {
      return output.deepcopy();
    }
  }
  return output;
}

} // namespace

GenericList interpret(const CompiledMethod& compiled, const GenericList& inputs) {
  const Method& method = compiled.method;
  TORCH_CHECK(
      static_cast<int64_t>(inputs.size()) == method.argument_count,
      "Backend ", kBackendName, " cannot execute '", compiled.name, "': expected ",
      method.argument_count, " inputs, found ", inputs.size(), ".");
  const IValue output = detached(Call(compiled, inputs).run(), compiled, inputs);
  GenericList outputs(c10::AnyType::get());
  if (!method.returns_tuple) {
    outputs.push_back(output);
    return outputs;
  }
  for (const IValue& element : output.toTupleRef().elements()) {
    outputs.push_back(element);
  }
  return outputs;
}

} // namespace reference
