#include "method_lowering.h"

#include "checksum.h"
#include "refusals.h"

#include <torch/csrc/jit/backends/backend_exception.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/frontend/script_type_parser.h>
#include <torch/csrc/jit/runtime/operator.h>

namespace reference {
namespace {

using c10::IValue;
using c10::TypePtr;
using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

constexpr int64_t kToBePatched = -1;

// A named tuple's name would need the model's own code to be read back, and no operator asks for
// it.
TypePtr without_names(const TypePtr& type) {
  std::vector<TypePtr> contained;
  for (const TypePtr& inner : type->containedTypes()) {
    contained.push_back(without_names(inner));
  }
  if (type->kind() == c10::TypeKind::TupleType) {
    return c10::TupleType::create(contained);
  }
  return contained.empty() ? type : type->withContained(contained);
}

} // namespace

MethodLowering::MethodLowering(
    torch::jit::Graph& graph,
    const torch::jit::Module& module,
    const torch::jit::NodeToDebugHandle& debug_handles,
    std::map<std::string, at::Tensor>& weights,
    Snapshot& snapshot)
    : graph_(graph),
      debug_handles_(debug_handles),
      weights_(weights),
      snapshot_(snapshot),
      attributes_(graph, module),
      last_uses_(graph.block()) {}

Method MethodLowering::lower() {
  const auto arguments = graph_.inputs().slice(1);
  define(arguments);
  method_.argument_count = static_cast<int64_t>(arguments.size());
  release_unused(arguments, graph_.return_node());
  lower_block(graph_.block());
  Node* end = graph_.return_node();
  emit(end, Opcode::Return, 0, operands(graph_.outputs(), end), {});
  return std::move(method_);
}

void MethodLowering::lower_block(Block* block) {
  for (Node* node : block->nodes()) {
    lower_node(node);
    release_after(node);
  }
}

void MethodLowering::lower_node(Node* node) {
  check_operator(node);
  const auto emit_plain = [&](Opcode opcode, int64_t index = 0) {
    auto inputs = operands(node->inputs(), node);
    emit(node, opcode, index, std::move(inputs), define(node->outputs()));
  };
  switch (node->kind()) {
    case c10::prim::Constant:
      return lower_constant(node);
    case c10::prim::GetAttr:
      return lower_get_attr(node);
    case c10::prim::If:
      return lower_if(node);
    case c10::prim::Loop:
      return lower_loop(node);
    case c10::prim::TupleSlice:
      return lower_tuple_slice(node);
    case c10::prim::isinstance:
      return lower_isinstance(node);
    case c10::prim::RaiseException:
      return lower_raise(node);
    case c10::prim::unchecked_cast:
      return emit_plain(Opcode::Move);
    case c10::prim::TupleConstruct:
      return emit_plain(Opcode::MakeTuple);
    case c10::prim::TupleUnpack:
      return emit_plain(Opcode::UnpackTuple);
    case c10::prim::ListUnpack:
      return emit_plain(Opcode::UnpackList);
    case c10::prim::ListConstruct:
      return emit_plain(Opcode::MakeList, type(node->output()->type(), node));
    case c10::prim::DictConstruct:
      return emit_plain(Opcode::MakeDict, type(node->output()->type(), node));
    case c10::prim::Uninitialized: {
      // Only a path that never reaches its use leaves a value uninitialised.
      const int64_t none = constant(IValue());
      emit(node, Opcode::Constant, none, {}, define(node->outputs()));
      return;
    }
    case c10::aten::warn:
      emit(node, Opcode::Warn, 0, operands(node->inputs().slice(0, 1), node), {});
      return;
    default:
      return lower_operator(node);
  }
}

void MethodLowering::lower_constant(Node* node) {
  const std::optional<IValue> value = torch::jit::toIValue(node->output());
  if (!value) {
    // A function that was inlined leaves its name behind, and nobody uses it.
    if (!node->output()->hasUses()) {
      return;
    }
    refuse(node, "a constant of type " + node->output()->type()->str() + " is not supported");
  }
  if (value->isComplexDouble()) {
    return lower_complex_constant(node, value->toComplexDouble());
  }
  if (const auto reason = why_not_serialisable(*value)) {
    refuse(node, *reason);
  }
  const int64_t index = constant(snapshot_.copy(*value));
  emit(node, Opcode::Constant, index, {}, define(node->outputs()));
}

// PyTorch copies lowered modules deeply, and cannot do that to a complex number: it travels in two
// parts.
void MethodLowering::lower_complex_constant(Node* node, c10::complex<double> number) {
  std::vector<Operand> parts;
  for (const double part : {number.real(), number.imag()}) {
    const int64_t index = constant(IValue(part));
    const int64_t place = new_register();
    emit(node, Opcode::Constant, index, {}, {place});
    parts.push_back(~place);
  }
  method_.operators.push_back("aten::Complex.float_float");
  const auto index = static_cast<int64_t>(method_.operators.size()) - 1;
  emit(node, Opcode::Operator, index, std::move(parts), define(node->outputs()));
}

void MethodLowering::lower_get_attr(Node* node) {
  const Attribute* attribute = attributes_.find(node);
  if (attribute == nullptr) {
    refuse(
        node,
        "the object of type " + node->input()->type()->str() +
            " is known only when the model runs");
  }
  if (attribute->is_object()) {
    return;
  }
  if (const auto reason = why_not_serialisable(attribute->value)) {
    refuse(node, "the attribute '" + attribute->qualified_name + "' is not supported: " + *reason);
  }
  const IValue value = snapshot_.copy(attribute->value);
  if (!value.isTensor()) {
    const int64_t index = constant(value);
    emit(node, Opcode::Constant, index, {}, define(node->outputs()));
    return;
  }
  weights_.emplace(attribute->qualified_name, value.toTensor());
  method_.weight_names.push_back(attribute->qualified_name);
  const auto index = static_cast<int64_t>(method_.weight_names.size()) - 1;
  emit(node, Opcode::Weight, index, {}, define(node->outputs()));
}

//   JumpIfFalse condition -> otherwise
//   (then)
//   Jump -> end
//   otherwise: (else)
//   end:
void MethodLowering::lower_if(Node* node) {
  const std::vector<int64_t> results = define(node->outputs());
  const auto lower_branch = [&](Block* branch) {
    lower_block(branch);
    emit(node, Opcode::Move, 0, operands(branch->outputs(), branch->return_node()), results);
  };
  const size_t to_otherwise =
      emit(node, Opcode::JumpIfFalse, kToBePatched, operands(node->inputs(), node), {});
  lower_branch(node->blocks()[0]);
  const size_t to_end = emit(node, Opcode::Jump, kToBePatched, {}, {});
  land(to_otherwise);
  lower_branch(node->blocks()[1]);
  land(to_end);
}

//   iteration, condition, carried... = -1, initial...
//   head: Loop (iteration += 1) limit, condition -> end
//   (body)
//   condition, carried... = results of the body...
//   Jump -> head
//   end: results = carried...
void MethodLowering::lower_loop(Node* node) {
  Block* body = node->blocks()[0];
  const auto inputs = node->inputs();
  const int64_t before_first = constant(IValue(-1));
  const Operand limit = operand(inputs[0], node);
  const std::vector<Operand> initial = operands(inputs.slice(1), node);
  const std::vector<int64_t> parameters = define(body->inputs());
  const int64_t iteration = parameters[0];
  std::vector<int64_t> state{parameters};
  state[0] = new_register();
  const int64_t condition = state[0];

  // The body is free to give its parameters away, but each iteration needs its own number.
  const int64_t counter = new_register();
  emit(node, Opcode::Constant, before_first, {}, {counter});
  emit(node, Opcode::Move, 0, initial, state);
  const size_t head = emit(node, Opcode::Loop, kToBePatched, {limit, condition}, {counter});
  emit(node, Opcode::Move, 0, {counter}, {iteration});
  release_unused(body->inputs(), node);
  lower_block(body);
  emit(node, Opcode::Move, 0, operands(body->outputs(), body->return_node()), state);
  emit(node, Opcode::Jump, static_cast<int64_t>(head), {}, {});
  land(head);
  std::vector<Operand> results(state.begin() + 1, state.end());
  for (Operand& result : results) {
    result = ~result;
  }
  emit(node, Opcode::Move, 0, results, define(node->outputs()));
}

void MethodLowering::lower_tuple_slice(Node* node) {
  const auto tuple = node->input()->type()->expect<c10::TupleType>();
  std::vector<int64_t> elements;
  std::vector<Operand> kept;
  for (size_t at = 0; at < tuple->elements().size(); ++at) {
    elements.push_back(new_register());
  }
  for (int64_t at = node->i(c10::attr::beg); at < node->i(c10::attr::end); ++at) {
    kept.push_back(~elements.at(at));
  }
  emit(node, Opcode::UnpackTuple, 0, operands(node->inputs(), node), elements);
  emit(node, Opcode::MakeTuple, 0, kept, define(node->outputs()));
  std::vector<Operand> dropped;
  for (const int64_t element : elements) {
    dropped.push_back(~element);
  }
  emit(node, Opcode::Release, 0, dropped, {});
}

void MethodLowering::lower_isinstance(Node* node) {
  const int64_t candidates = type(c10::TupleType::create(node->tys(c10::attr::types)), node);
  auto inputs = operands(node->inputs(), node);
  emit(node, Opcode::IsInstance, candidates, std::move(inputs), define(node->outputs()));
}

void MethodLowering::lower_raise(Node* node) {
  std::vector<Operand> inputs = operands(node->inputs(), node);
  if (inputs.size() == 1) {
    const int64_t no_class = new_register();
    const int64_t none = constant(IValue());
    emit(node, Opcode::Constant, none, {}, {no_class});
    inputs.push_back(~no_class);
  }
  emit(node, Opcode::Raise, 0, std::move(inputs), {});
}

void MethodLowering::lower_operator(Node* node) {
  const torch::jit::Operator* op = node->maybeOperator();
  if (op == nullptr || !op->hasOperation()) {
    refuse(node, "no operator of this name can be called by the interpreter");
  }
  std::vector<Operand> inputs = operands(node->inputs(), node);
  if (op->schema().is_vararg()) {
    const int64_t count = new_register();
    const int64_t index = constant(IValue(static_cast<int64_t>(inputs.size())));
    emit(node, Opcode::Constant, index, {}, {count});
    inputs.push_back(~count);
  }
  method_.operators.push_back(c10::toString(op->schema().operator_name()));
  const auto index = static_cast<int64_t>(method_.operators.size()) - 1;
  emit(node, Opcode::Operator, index, std::move(inputs), define(node->outputs()));
}

void MethodLowering::release_after(Node* node) {
  std::vector<Operand> ended;
  for (Value* value : last_uses_.ending_with(node)) {
    if (const auto found = registers_.find(value); found != registers_.end()) {
      ended.push_back(~found->second);
    }
  }
  if (!ended.empty()) {
    emit(node, Opcode::Release, 0, std::move(ended), {});
  }
  release_unused(node->outputs(), node);
}

void MethodLowering::release_unused(at::ArrayRef<Value*> values, Node* node) {
  std::vector<Operand> unused;
  for (Value* value : values) {
    if (registers_.count(value) == 1 && !last_uses_.is_used(value)) {
      unused.push_back(~registers_.at(value));
    }
  }
  if (!unused.empty()) {
    emit(node, Opcode::Release, 0, std::move(unused), {});
  }
}

int64_t MethodLowering::new_register() {
  return method_.register_count++;
}

int64_t MethodLowering::define(Value* value) {
  return registers_.emplace(value, new_register()).first->second;
}

std::vector<int64_t> MethodLowering::define(at::ArrayRef<Value*> values) {
  std::vector<int64_t> defined;
  for (Value* value : values) {
    defined.push_back(define(value));
  }
  return defined;
}

Operand MethodLowering::operand(Value* value, Node* user) {
  const auto found = registers_.find(value);
  if (found == registers_.end()) {
    refuse(
        user->kind() == c10::prim::Return ? value->node() : user,
        "an object of type " + value->type()->str() + " cannot be passed around");
  }
  return last_uses_.is_taken_by(value, user) ? ~found->second : found->second;
}

std::vector<Operand> MethodLowering::operands(at::ArrayRef<Value*> values, Node* user) {
  std::vector<Operand> result;
  for (size_t at = 0; at < values.size(); ++at) {
    const auto later = values.slice(at + 1);
    const bool again = std::find(later.begin(), later.end(), values[at]) != later.end();
    const Operand operand = this->operand(values[at], user);
    result.push_back(again ? register_of(operand) : operand);
  }
  return result;
}

int64_t MethodLowering::constant(const IValue& value) {
  method_.constants.push_back(value);
  return static_cast<int64_t>(method_.constants.size()) - 1;
}

// Types travel as text, so that they can be read back where there is no model code.
int64_t MethodLowering::type(const TypePtr& type, Node* node) {
  const TypePtr plain = without_names(type);
  bool readable = false;
  try {
    readable = *torch::jit::ScriptTypeParser().parseType(plain->annotation_str()) == *plain;
  } catch (const std::exception&) {
    readable = false;
  }
  if (!readable) {
    refuse(node, "the type " + type->annotation_str() + " is not supported");
  }
  method_.types.push_back(plain);
  return static_cast<int64_t>(method_.types.size()) - 1;
}

size_t MethodLowering::emit(
    Node* node,
    Opcode opcode,
    int64_t index,
    std::vector<Operand> inputs,
    std::vector<int64_t> outputs) {
  const auto handle = debug_handles_.find(node);
  const int64_t debug_handle =
      handle == debug_handles_.end() ? DEBUG_HANDLE_UNKNOWN : handle->second;
  method_.code.push_back({opcode, index, std::move(inputs), std::move(outputs), debug_handle});
  return method_.code.size() - 1;
}

// Lets an earlier jump continue at the next instruction.
void MethodLowering::land(size_t jump) {
  method_.code[jump].index = static_cast<int64_t>(method_.code.size());
}

} // namespace reference
