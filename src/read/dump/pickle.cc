// SPDX-License-Identifier: Apache-2.0
#include "dump/pickle.h"

#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "dump/byte_reader.h"
#include "dump/limits.h"
#include "dump/pickle_globals.h"
#include "dump/pickle_stack.h"
#include "dump/printable.h"

namespace msprobe::dump {
namespace {

using Kind = PickleItem::Kind;
using Items = PickleStack::Items;

struct Storage {
  std::optional<DType> dtype;  // empty: bytes without a type
  std::string_view key;
  std::uint64_t size_bytes = 0;
};

// Runs the opcodes. The calls of a pickle are only compared with the few shapes that rebuild a
// tensor. Every operation returns false when the pickle is malformed or refused.
class Machine {
 public:
  Machine(std::span<const std::byte> pickle, std::string_view name, std::size_t offset)
      : reader_(pickle), name_(name), offset_(offset) {}

  Result<PickledTensor> run();

  ByteReader& reader() { return reader_; }
  PickleStack& stack() { return stack_; }
  bool stop() { return stopped_ = true; }
  bool check_protocol(std::uint8_t protocol);
  bool push_integer(std::int64_t value) { return stack_.push({Kind::kInteger, value}); }
  bool push_long(std::span<const std::byte> bytes);
  bool push_text(std::uint64_t size);
  bool push_global(std::string_view module, std::string_view name);
  bool push_stack_global();
  bool persistent_id();
  bool reduce();
  bool refuse(ErrorKind kind, std::string_view text);
  bool refuse_to(std::string_view what);

 private:
  bool call(const PickleGlobal& global, Items arguments);
  bool rebuild_tensor(const PickleGlobal& global, Items arguments);
  bool rebuild_from_type(Items arguments);
  bool read_extents(const PickleItem& tuple, std::vector<std::int64_t>& out) const;
  bool read_metadata(const PickleItem& metadata, PickledTensor& tensor);
  Result<PickledTensor> result();
  Error make_error(ErrorKind kind, std::string_view text) const;

  ByteReader reader_;
  std::string_view name_;
  std::size_t offset_;
  std::size_t op_at_ = 0;
  bool stopped_ = false;
  std::optional<Error> error_;
  PickleStack stack_;
  std::vector<PickleGlobal> globals_;
  std::vector<Storage> storages_;
  std::vector<PickledTensor> tensors_;
};

struct OpRow {
  std::uint8_t code;
  bool (*run)(Machine& machine);
};

// The opcodes a tensor needs, and some others by name so that a refusal can say what was wanted.
constexpr OpRow kOpRows[] = {
    {0x80, [](Machine& m) { return m.check_protocol(m.reader().number<std::uint8_t>()); }},
    {0x95, [](Machine& m) { return m.reader().take(8).size() == 8; }},  // FRAME
    {'.', [](Machine& m) { return m.stop(); }},
    {'(', [](Machine& m) { return m.stack().push({Kind::kMark}); }},
    {'0', [](Machine& m) { return m.stack().pop(); }},
    {'N', [](Machine& m) { return m.stack().push({Kind::kNone}); }},
    {0x88, [](Machine& m) { return m.stack().push({Kind::kBool, 1}); }},
    {0x89, [](Machine& m) { return m.stack().push({Kind::kBool, 0}); }},
    {'K', [](Machine& m) { return m.push_integer(m.reader().number<std::uint8_t>()); }},
    {'M', [](Machine& m) { return m.push_integer(m.reader().number<std::uint16_t>()); }},
    {'J', [](Machine& m) { return m.push_integer(m.reader().number<std::int32_t>()); }},
    {0x8a,  // LONG1
     [](Machine& m) { return m.push_long(m.reader().take(m.reader().number<std::uint8_t>())); }},
    {'G',
     [](Machine& m) { return m.reader().take(8).size() == 8 && m.stack().push({Kind::kReal}); }},
    {'X', [](Machine& m) { return m.push_text(m.reader().number<std::uint32_t>()); }},
    {0x8c, [](Machine& m) { return m.push_text(m.reader().number<std::uint8_t>()); }},
    {0x8d, [](Machine& m) { return m.push_text(m.reader().number<std::uint64_t>()); }},
    {')', [](Machine& m) { return m.stack().push_tuple(0); }},
    {0x85, [](Machine& m) { return m.stack().push_tuple(1); }},
    {0x86, [](Machine& m) { return m.stack().push_tuple(2); }},
    {0x87, [](Machine& m) { return m.stack().push_tuple(3); }},
    {'t', [](Machine& m) { return m.stack().push_tuple_from_mark(); }},
    {']', [](Machine& m) { return m.stack().push_list(); }},
    {'}', [](Machine& m) { return m.stack().push_dict(); }},
    {'a', [](Machine& m) { return m.stack().append(); }},
    {'e', [](Machine& m) { return m.stack().append_from_mark(); }},
    {'s', [](Machine& m) { return m.stack().set_item(); }},
    {'u', [](Machine& m) { return m.stack().set_items_from_mark(); }},
    {'q', [](Machine& m) { return m.stack().put(m.reader().number<std::uint8_t>()); }},
    {'r', [](Machine& m) { return m.stack().put(m.reader().number<std::uint32_t>()); }},
    {0x94, [](Machine& m) { return m.stack().put(m.stack().memo_size()); }},
    {'h', [](Machine& m) { return m.stack().get(m.reader().number<std::uint8_t>()); }},
    {'j', [](Machine& m) { return m.stack().get(m.reader().number<std::uint32_t>()); }},
    {'c',
     [](Machine& m) {
       const std::string_view module = m.reader().line();
       return m.push_global(module, m.reader().line());
     }},
    {0x93, [](Machine& m) { return m.push_stack_global(); }},
    {'Q', [](Machine& m) { return m.persistent_id(); }},
    {'R', [](Machine& m) { return m.reduce(); }},
    {'b', [](Machine& m) { return m.refuse_to("set the state of an object (BUILD)"); }},
    {'i', [](Machine& m) { return m.refuse_to("make an object (INST)"); }},
    {'o', [](Machine& m) { return m.refuse_to("make an object (OBJ)"); }},
    {0x81, [](Machine& m) { return m.refuse_to("make an object (NEWOBJ)"); }},
    {0x92, [](Machine& m) { return m.refuse_to("make an object (NEWOBJ_EX)"); }},
    {0x82, [](Machine& m) { return m.refuse_to("use an extension (EXT1)"); }},
    {0x83, [](Machine& m) { return m.refuse_to("use an extension (EXT2)"); }},
    {0x84, [](Machine& m) { return m.refuse_to("use an extension (EXT4)"); }},
    {'P', [](Machine& m) { return m.refuse_to("load a persistent object by name (PERSID)"); }},
};

using OpTable = std::array<bool (*)(Machine&), 256>;

constexpr OpTable kOps = [] {
  OpTable table{};
  for (const OpRow& row : kOpRows) table[row.code] = row.run;
  return table;
}();

Result<PickledTensor> Machine::run() {
  while (!stopped_) {
    op_at_ = reader_.at();
    const auto op = reader_.number<std::uint8_t>();
    if (!reader_.failed() && kOps[op] == nullptr) {
      refuse_to(fmt::format("use the opcode 0x{:02x}", op));
    }
    const bool done = !reader_.failed() && !error_ && kOps[op](*this);
    if (error_) return Failure(*error_);
    if (reader_.failed()) return Failure(make_error(ErrorKind::kFormat, "the pickle is cut off"));
    if (!done) return Failure(make_error(ErrorKind::kFormat, "the pickle is malformed"));
  }
  return result();
}

Result<PickledTensor> Machine::result() {
  const bool one = stack_.size() == 1;
  PickleItem last{Kind::kMark};
  if (stack_.take(last) && one && last.kind == Kind::kTensor) {
    return std::move(tensors_[last.index()]);
  }
  return Failure(
      make_error(ErrorKind::kFormat,
                 fmt::format("the file contains {}, expected one tensor", kind_name(last.kind))));
}

Error Machine::make_error(ErrorKind kind, std::string_view text) const {
  return {kind, fmt::format("{}: byte {}: {}", name_, offset_ + op_at_, text)};
}

bool Machine::refuse(ErrorKind kind, std::string_view text) {
  error_ = make_error(kind, text);
  return false;
}

bool Machine::refuse_to(std::string_view what) {
  return refuse(ErrorKind::kHostile, fmt::format("the pickle tries to {}", what));
}

bool Machine::check_protocol(std::uint8_t protocol) {
  return (protocol >= 2 && protocol <= 5) ||
         refuse(ErrorKind::kUnsupported, fmt::format("pickle protocol {}", protocol));
}

bool Machine::push_long(std::span<const std::byte> bytes) {
  if (bytes.size() > 8) return refuse(ErrorKind::kFormat, "an integer of more than 64 bits");
  std::uint64_t value = 0;
  const bool negative = !bytes.empty() && (bytes.back() & std::byte{0x80}) != std::byte{0};
  if (negative) value = ~std::uint64_t{0};
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  }
  return push_integer(static_cast<std::int64_t>(value));
}

bool Machine::push_text(std::uint64_t size) {
  const std::string_view text = reader_.text(size);
  return !reader_.failed() && stack_.push({Kind::kText, 0, text});
}

bool Machine::push_global(std::string_view module, std::string_view name) {
  if (reader_.failed()) return false;
  const std::optional<PickleGlobal> global = find_pickle_global(module, name);
  if (!global)
    return refuse_to(fmt::format("call {}.{}", printable(module, 80), printable(name, 80)));
  if (global->role == PickleRole::kUnsupported) {
    return refuse(ErrorKind::kUnsupported, fmt::format("the file contains {}", global->what));
  }
  globals_.push_back(*global);
  return stack_.push({Kind::kGlobal, static_cast<std::int64_t>(globals_.size() - 1)});
}

bool Machine::push_stack_global() {
  PickleItem name;
  PickleItem module;
  return stack_.take(name) && stack_.take(module) && name.kind == Kind::kText &&
         module.kind == Kind::kText && push_global(module.text, name.text);
}

// ('storage', type, key, location, number of elements): the bytes of a tensor.
bool Machine::persistent_id() {
  PickleItem id;
  if (!stack_.take(id)) return false;
  const Items parts = id.kind == Kind::kTuple ? stack_.items_of(id) : Items();
  if (parts.size() != 5 || parts[0].kind != Kind::kText || parts[0].text != "storage" ||
      parts[1].kind != Kind::kGlobal || parts[2].kind != Kind::kText ||
      parts[3].kind != Kind::kText || parts[4].kind != Kind::kInteger || parts[4].number < 0) {
    return refuse(ErrorKind::kHostile,
                  "the pickle refers to a persistent object that is not a storage");
  }
  const PickleGlobal& type = globals_[parts[1].index()];
  if (type.role != PickleRole::kStorageType) {
    return refuse(ErrorKind::kHostile, "the pickle asks for a storage of something that has none");
  }
  Storage storage{type.dtype, parts[2].text, 0};
  const std::uint64_t element = type.dtype ? size_bytes(*type.dtype) : 1;
  const auto count = static_cast<std::uint64_t>(parts[4].number);
  if (__builtin_mul_overflow(count, element, &storage.size_bytes)) return false;
  storages_.push_back(storage);
  return stack_.push({Kind::kStorage, static_cast<std::int64_t>(storages_.size() - 1)});
}

bool Machine::reduce() {
  PickleItem tuple;
  PickleItem callee;
  if (!stack_.take(tuple) || !stack_.take(callee)) return false;
  if (tuple.kind != Kind::kTuple || callee.kind != Kind::kGlobal) {
    return refuse_to(fmt::format("call {}", kind_name(callee.kind)));
  }
  return call(globals_[callee.index()], stack_.items_of(tuple));
}

bool Machine::call(const PickleGlobal& global, Items arguments) {
  switch (global.role) {
    case PickleRole::kRebuildTensor:
    case PickleRole::kRebuildTensorV2:
    case PickleRole::kRebuildTensorV3:
    case PickleRole::kRebuildTensorNpu:
      return rebuild_tensor(global, arguments);
    case PickleRole::kRebuildParameter:
      return (arguments.size() == 3 || arguments.size() == 4) &&
             arguments[0].kind == Kind::kTensor && stack_.push(arguments[0]);
    case PickleRole::kRebuildFromType:
      return rebuild_from_type(arguments);
    case PickleRole::kOrderedDict:
      return arguments.empty() && stack_.push_dict();
    case PickleRole::kSize:
      return arguments.size() == 1 && arguments[0].kind == Kind::kTuple &&
             stack_.push(arguments[0]);
    case PickleRole::kDevice:
      return stack_.push({Kind::kNone});
    case PickleRole::kNpuFormat:
      return arguments.size() == 1 && arguments[0].kind == Kind::kInteger &&
             stack_.push(arguments[0]);
    default:
      return refuse_to("call a type");
  }
}

// (rebuild function, type of the result, its arguments, attributes): a tensor with attributes.
bool Machine::rebuild_from_type(Items arguments) {
  if (arguments.size() != 4 || arguments[0].kind != Kind::kGlobal ||
      arguments[1].kind != Kind::kGlobal || arguments[2].kind != Kind::kTuple) {
    return false;
  }
  const PickleGlobal& callee = globals_[arguments[0].index()];
  const PickleGlobal& type = globals_[arguments[1].index()];
  if (callee.role == PickleRole::kRebuildFromType || type.role != PickleRole::kTensorType) {
    return refuse_to("rebuild an object that is not a tensor");
  }
  return call(callee, stack_.items_of(arguments[2]));
}

bool Machine::read_extents(const PickleItem& tuple, std::vector<std::int64_t>& out) const {
  if (tuple.kind != Kind::kTuple || tuple.count > kMaxRank) return false;
  for (const PickleItem& item : stack_.items_of(tuple)) {
    if (item.kind != Kind::kInteger) return false;
    out.push_back(item.number);
  }
  return true;
}

bool Machine::read_metadata(const PickleItem& metadata, PickledTensor& tensor) {
  if (metadata.kind == Kind::kNone) return true;
  if (metadata.kind != Kind::kDict) return false;
  const PickleStack::Dict& flags = stack_.dict_of(metadata);
  if (flags.other) return refuse(ErrorKind::kUnsupported, "metadata other than conj and neg");
  tensor.conjugated = flags.conjugated;
  tensor.negated = flags.negated;
  return true;
}

bool Machine::rebuild_tensor(const PickleGlobal& global, Items arguments) {
  const bool first = global.role == PickleRole::kRebuildTensor;
  const bool third = global.role == PickleRole::kRebuildTensorV3;
  const bool npu = global.role == PickleRole::kRebuildTensorNpu;
  const std::size_t least = first ? 4 : third || npu ? 7 : 6;
  const std::size_t most = first || npu ? least : least + 1;
  if (arguments.size() < least || arguments.size() > most || arguments[0].kind != Kind::kStorage ||
      arguments[1].kind != Kind::kInteger) {
    return false;
  }
  const Storage& storage = storages_[arguments[0].index()];
  PickledTensor tensor;
  tensor.dtype = storage.dtype.value_or(DType::kUInt8);
  tensor.storage_key = storage.key;
  tensor.storage_bytes = storage.size_bytes;
  tensor.offset = arguments[1].number;
  if (!read_extents(arguments[2], tensor.shape) || !read_extents(arguments[3], tensor.strides) ||
      tensor.shape.size() != tensor.strides.size()) {
    return false;
  }
  if (third) {
    if (arguments[6].kind != Kind::kGlobal) return false;
    const PickleGlobal& type = globals_[arguments[6].index()];
    if (type.role != PickleRole::kDType) return false;
    if (!type.dtype) return refuse(ErrorKind::kUnsupported, fmt::format("dtype {}", type.what));
    tensor.dtype = *type.dtype;
  }
  if (arguments.size() == most && most > least && !read_metadata(arguments[most - 1], tensor)) {
    return false;
  }
  tensors_.push_back(std::move(tensor));
  return stack_.push({Kind::kTensor, static_cast<std::int64_t>(tensors_.size() - 1)});
}

}  // namespace

Result<PickledTensor> read_pickled_tensor(std::span<const std::byte> pickle, std::string_view name,
                                          std::size_t offset) {
  return Machine(pickle, name, offset).run();
}

}  // namespace msprobe::dump
