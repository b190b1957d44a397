#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <map>
#include <string>
#include <vector>

namespace reference {

// What one instruction does with its operands. The numbers are written into artifacts: append,
// never renumber. `index` means something else for each.
enum class Opcode : int64_t {
  Constant = 0, // outputs[0] = constants[index]
  Weight = 1, // outputs[0] = weights[weight_names[index]]
  Operator = 2, // outputs = operators[index](inputs)
  Move = 3, // outputs = inputs, all at once
  Release = 4, // forget the inputs
  Jump = 5, // continue at index
  JumpIfFalse = 6, // continue at index unless inputs[0]
  Loop = 7, // outputs[0] += 1; continue at index unless outputs[0] < inputs[0] and inputs[1]
  MakeTuple = 8, // outputs[0] = (inputs...)
  UnpackTuple = 9, // outputs = elements of inputs[0]
  MakeList = 10, // outputs[0] = [inputs...], of list type types[index]
  UnpackList = 11, // outputs = elements of inputs[0]
  MakeDict = 12, // outputs[0] = {inputs[0]: inputs[1], ...}, of dictionary type types[index]
  IsInstance = 13, // outputs[0] = whether inputs[0] is one of tuple type types[index]'s elements
  Warn = 14, // warn with the text inputs[0]
  Raise = 15, // throw with the text inputs[0] and, unless None, the class name inputs[1]
  Return = 16, // end with the value inputs[0]
};

// An operand is the number of a register, or its bitwise complement where this is the last use and
// the register gives its value away: a tensor lives no longer than the model needs it.
using Operand = int64_t;

inline bool is_last_use(Operand operand) {
  return operand < 0;
}

inline int64_t register_of(Operand operand) {
  return operand < 0 ? ~operand : operand;
}

struct Instruction {
  Opcode opcode;
  int64_t index = 0;
  std::vector<Operand> inputs;
  std::vector<int64_t> outputs;
  int64_t debug_handle = 0;
};

// One method. Arguments (without self) arrive in the first registers.
struct Method {
  int64_t argument_count = 0;
  int64_t register_count = 0;
  bool returns_tuple = false;
  std::vector<Instruction> code;
  std::vector<c10::IValue> constants;
  std::vector<std::string> weight_names;
  std::vector<std::string> operators;
  std::vector<c10::TypePtr> types;
};

// All that preprocess leaves of a module.
struct Program {
  std::map<std::string, Method> methods;
  std::map<std::string, at::Tensor> weights;
  c10::IValue method_compile_spec;
};

// The processed module: plain values only, so that every TorchScript serialiser can write it.
//
//   Dict[str, Any]
//     "format": int            kFormat
//     "compile_spec": Dict[str, Any]
//     "methods": Dict[str, Any], each a Dict[str, Any] with the fields of Method
//     "weights": Dict[str, Tensor]
//     "checksum": int          of all the other entries
c10::IValue pack(const Program& program);

// Reads and checks a processed module. An interpreter may trust what comes back: every register,
// jump, constant, weight and type that an instruction names is there, and has the shape that the
// instruction needs. Throws an error that says what is wrong.
Program unpack(const c10::IValue& processed);

} // namespace reference
