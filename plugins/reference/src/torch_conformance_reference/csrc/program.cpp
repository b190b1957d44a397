#include "program.h"

#include "availability.h"
#include "checksum.h"

#include <torch/csrc/jit/frontend/script_type_parser.h>

namespace reference {
namespace {

using c10::IValue;
using c10::impl::GenericDict;
using c10::impl::GenericList;

constexpr int64_t kFormat = 1;

GenericDict any_dict() {
  return GenericDict(c10::StringType::get(), c10::AnyType::get());
}

IValue pack(const Instruction& instruction) {
  return c10::ivalue::Tuple::create(
      static_cast<int64_t>(instruction.opcode),
      instruction.index,
      c10::List<int64_t>(instruction.inputs),
      c10::List<int64_t>(instruction.outputs),
      instruction.debug_handle);
}

IValue pack(const Method& method) {
  const auto operands = c10::ListType::ofInts();
  const auto integer = c10::IntType::get();
  GenericList code(c10::TupleType::create({integer, integer, operands, operands, integer}));
  for (const Instruction& instruction : method.code) {
    code.push_back(pack(instruction));
  }
  GenericList constants(c10::AnyType::get());
  for (const IValue& constant : method.constants) {
    constants.push_back(constant);
  }
  c10::List<std::string> types;
  for (const c10::TypePtr& type : method.types) {
    types.push_back(type->annotation_str());
  }
  GenericDict packed = any_dict();
  packed.insert("argument_count", method.argument_count);
  packed.insert("register_count", method.register_count);
  packed.insert("returns_tuple", method.returns_tuple);
  packed.insert("code", code);
  packed.insert("constants", constants);
  packed.insert("weight_names", c10::List<std::string>(method.weight_names));
  packed.insert("operators", c10::List<std::string>(method.operators));
  packed.insert("types", types);
  return packed;
}

// Names the place in the processed module that is being read, for error messages.
struct Place {
  std::string path;

  Place inside(const std::string& key) const {
    return {path + "[" + key + "]"};
  }

  void require(bool condition, const std::string& expected) const {
    TORCH_CHECK(
        condition,
        "Backend ", kBackendName, " refuses the processed module: at ", path, ", expected ",
        expected,
        ". The artifact is damaged, or was written by something else. Lower the module again.");
  }
};

IValue entry(const GenericDict& dict, const std::string& key, const Place& place) {
  const auto found = dict.find(key);
  place.require(found != dict.end(), "an entry '" + key + "'");
  return found->value();
}

GenericDict read_dict(const IValue& value, const Place& place) {
  place.require(value.isGenericDict(), "a dictionary, found " + value.tagKind());
  GenericDict dict = value.toGenericDict();
  for (const auto& item : dict) {
    place.require(item.key().isString(), "strings as keys, found " + item.key().tagKind());
  }
  return dict;
}

int64_t read_int(const IValue& value, const Place& place) {
  place.require(value.isInt(), "an integer, found " + value.tagKind());
  return value.toInt();
}

std::vector<int64_t> read_ints(const IValue& value, const Place& place) {
  place.require(value.isIntList(), "a list of integers, found " + value.tagKind());
  return value.toIntVector();
}

std::vector<std::string> read_strings(const IValue& value, const Place& place) {
  place.require(value.isList(), "a list of strings, found " + value.tagKind());
  std::vector<std::string> strings;
  for (const IValue& element : value.toListRef()) {
    place.require(element.isString(), "strings, found " + element.tagKind());
    strings.push_back(element.toStringRef());
  }
  return strings;
}

Instruction read_instruction(const IValue& value, const Place& place) {
  place.require(
      value.isTuple() && value.toTupleRef().size() == 5,
      "an instruction: (opcode, index, inputs, outputs, debug handle)");
  const std::vector<IValue> fields = value.toTupleRef().elements().vec();
  return {
      static_cast<Opcode>(read_int(fields[0], place.inside("opcode"))),
      read_int(fields[1], place.inside("index")),
      read_ints(fields[2], place.inside("inputs")),
      read_ints(fields[3], place.inside("outputs")),
      read_int(fields[4], place.inside("debug_handle"))};
}

bool is_index(int64_t index, size_t size) {
  return index >= 0 && static_cast<size_t>(index) < size;
}

// A jump backward must land on a loop's head, where the loop's own condition is asked.
void check_jump(const Method& method, size_t from, const Place& place) {
  const int64_t target = method.code[from].index;
  place.require(is_index(target, method.code.size()), "a jump into the code");
  const bool backward = static_cast<size_t>(target) <= from;
  place.require(
      !backward || method.code[target].opcode == Opcode::Loop,
      "a jump forward, or back to a loop");
}

// The type that a MakeList, MakeDict or IsInstance names.
template <typename T>
void check_type(const Method& method, const Instruction& instruction, const Place& place) {
  place.require(is_index(instruction.index, method.types.size()), "the number of a type");
  place.require(
      method.types[instruction.index]->cast<T>() != nullptr, "a type that suits the instruction");
}

void check_shape(
    const Instruction& instruction,
    bool inputs_suit,
    bool outputs_suit,
    const Place& place) {
  place.require(
      inputs_suit, "another number of inputs than " + std::to_string(instruction.inputs.size()));
  place.require(
      outputs_suit, "another number of outputs than " + std::to_string(instruction.outputs.size()));
}

void check_instruction(const Method& method, size_t at, const Place& place) {
  const Instruction& instruction = method.code[at];
  const size_t inputs = instruction.inputs.size();
  const size_t outputs = instruction.outputs.size();
  for (const Operand input : instruction.inputs) {
    place.require(register_of(input) < method.register_count, "inputs that are registers");
  }
  for (const int64_t output : instruction.outputs) {
    place.require(is_index(output, method.register_count), "outputs that are registers");
  }
  const bool last = at + 1 == method.code.size();
  place.require(
      (instruction.opcode == Opcode::Return) == last,
      "a return as the last instruction and only there");
  switch (instruction.opcode) {
    case Opcode::Constant:
      place.require(
          is_index(instruction.index, method.constants.size()), "the number of a constant");
      return check_shape(instruction, inputs == 0, outputs == 1, place);
    case Opcode::Weight:
      place.require(
          is_index(instruction.index, method.weight_names.size()), "the number of a weight");
      return check_shape(instruction, inputs == 0, outputs == 1, place);
    case Opcode::Operator:
      return place.require(
          is_index(instruction.index, method.operators.size()), "the number of an operator");
    case Opcode::Move:
      return check_shape(instruction, true, outputs == inputs, place);
    case Opcode::Release:
      return check_shape(instruction, true, outputs == 0, place);
    case Opcode::Jump:
      check_jump(method, at, place);
      return check_shape(instruction, inputs == 0, outputs == 0, place);
    case Opcode::JumpIfFalse:
      check_jump(method, at, place);
      return check_shape(instruction, inputs == 1, outputs == 0, place);
    case Opcode::Loop:
      check_jump(method, at, place);
      return check_shape(instruction, inputs == 2, outputs == 1, place);
    case Opcode::MakeTuple:
      return check_shape(instruction, true, outputs == 1, place);
    case Opcode::UnpackTuple:
    case Opcode::UnpackList:
      return check_shape(instruction, inputs == 1, true, place);
    case Opcode::MakeList:
      check_type<c10::ListType>(method, instruction, place);
      return check_shape(instruction, true, outputs == 1, place);
    case Opcode::MakeDict:
      check_type<c10::DictType>(method, instruction, place);
      return check_shape(instruction, inputs % 2 == 0, outputs == 1, place);
    case Opcode::IsInstance:
      check_type<c10::TupleType>(method, instruction, place);
      return check_shape(instruction, inputs == 1, outputs == 1, place);
    case Opcode::Warn:
      return check_shape(instruction, inputs == 1, outputs == 0, place);
    case Opcode::Raise:
      return check_shape(instruction, inputs == 2, outputs == 0, place);
    case Opcode::Return:
      return check_shape(instruction, inputs == 1, outputs == 0, place);
  }
  place.require(
      false, "an opcode, found " + std::to_string(static_cast<int64_t>(instruction.opcode)));
}

// Registers come from arguments and outputs: a larger number would only ask for memory.
void check_registers(const Method& method, const Place& place) {
  int64_t defined = method.argument_count;
  for (const Instruction& instruction : method.code) {
    defined += static_cast<int64_t>(instruction.outputs.size());
  }
  place.require(
      method.argument_count >= 0 && method.argument_count <= method.register_count &&
          method.register_count <= defined,
      "as many registers as the code defines");
}

Method read_method(const IValue& value, const Place& place) {
  const GenericDict fields = read_dict(value, place);
  const auto field = [&](const std::string& key) { return entry(fields, key, place); };
  Method method;
  method.argument_count = read_int(field("argument_count"), place.inside("argument_count"));
  method.register_count = read_int(field("register_count"), place.inside("register_count"));
  place.require(field("returns_tuple").isBool(), "a bool for 'returns_tuple'");
  method.returns_tuple = field("returns_tuple").toBool();
  method.weight_names = read_strings(field("weight_names"), place.inside("weight_names"));
  method.operators = read_strings(field("operators"), place.inside("operators"));
  for (const std::string& type : read_strings(field("types"), place.inside("types"))) {
    method.types.push_back(torch::jit::ScriptTypeParser().parseType(type));
  }
  place.require(field("constants").isList(), "a list for 'constants'");
  method.constants = field("constants").toListRef().vec();
  place.require(field("code").isList(), "a list for 'code'");
  for (const IValue& instruction : field("code").toListRef()) {
    method.code.push_back(read_instruction(
        instruction, place.inside("code").inside(std::to_string(method.code.size()))));
  }
  place.require(!method.code.empty(), "at least one instruction");
  check_registers(method, place);
  for (size_t at = 0; at < method.code.size(); ++at) {
    check_instruction(method, at, place.inside("code").inside(std::to_string(at)));
  }
  return method;
}

// The checksum covers every entry but itself.
int64_t checksum_of_rest(const GenericDict& processed) {
  GenericDict rest = any_dict();
  for (const auto& item : processed) {
    if (item.key() != "checksum") {
      rest.insert(item.key(), item.value());
    }
  }
  return checksum(rest);
}

} // namespace

IValue pack(const Program& program) {
  GenericDict methods = any_dict();
  for (const auto& [name, method] : program.methods) {
    methods.insert(name, pack(method));
  }
  c10::Dict<std::string, at::Tensor> weights;
  for (const auto& [name, weight] : program.weights) {
    weights.insert(name, weight);
  }
  GenericDict processed = any_dict();
  processed.insert("format", kFormat);
  processed.insert("compile_spec", program.method_compile_spec);
  processed.insert("methods", methods);
  processed.insert("weights", weights);
  processed.insert("checksum", checksum_of_rest(processed));
  return processed;
}

Program unpack(const IValue& processed) {
  const Place top{"the top level"};
  const GenericDict dict = read_dict(processed, top);
  const int64_t format = read_int(entry(dict, "format", top), top.inside("format"));
  top.require(
      format == kFormat,
      "format " + std::to_string(kFormat) + ", found " + std::to_string(format));
  const int64_t stored = read_int(entry(dict, "checksum", top), top.inside("checksum"));
  top.require(stored == checksum_of_rest(dict), "content that agrees with its checksum");

  Program program;
  program.method_compile_spec = entry(dict, "compile_spec", top);
  read_dict(program.method_compile_spec, top.inside("compile_spec"));
  const Place weights = top.inside("weights");
  for (const auto& item : read_dict(entry(dict, "weights", top), weights)) {
    weights.require(item.value().isTensor(), "tensors, found " + item.value().tagKind());
    program.weights.emplace(item.key().toStringRef(), item.value().toTensor());
  }
  const Place methods = top.inside("methods");
  for (const auto& item : read_dict(entry(dict, "methods", top), methods)) {
    const std::string& name = item.key().toStringRef();
    const Place place = methods.inside(name);
    Method method = read_method(item.value(), place);
    for (const std::string& weight : method.weight_names) {
      place.require(program.weights.count(weight) == 1, "a weight '" + weight + "'");
    }
    program.methods.emplace(name, std::move(method));
  }
  return program;
}

} // namespace reference
