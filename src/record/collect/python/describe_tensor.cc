// SPDX-License-Identifier: Apache-2.0
// What is written of a tensor: shape and dtype, statistics, checksum, and the name of its file.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "collect/python/describe.h"
#include "collect/statistics.h"
#include "collect/strided_view.h"
#include "core/crc32.h"
#include "core/float_formats.h"

namespace msprobe::collect {
namespace {

// Below this size, letting other threads run costs more than the work.
constexpr std::size_t kLongWorkBytes = 64U << 10;
constexpr std::size_t kMaxFileName = 255;

template <class Work>
auto work_on(const StridedView& view, const Work& work) {
  if (view.nbytes() < kLongWorkBytes) return work();
  const WithoutGil unlocked;
  return work();
}

bool read_integers(PyObject* sequence, std::vector<std::int64_t>& out) {
  if (!sequence || !PyTuple_Check(sequence)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sequence); ++i) {
    out.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(sequence, i)));
  }
  return PyErr_Occurred() == nullptr;
}

// A tensor that only stands for others (DTensor), or whose storage was freed, says that it lies at
// its offset from nowhere.
bool has_storage(PyObject* object, const StridedView& view) {
  constexpr std::uintptr_t kNoLowerAddress = std::uintptr_t{1} << 40;  // is asked further
  const auto address = reinterpret_cast<std::uintptr_t>(view.data);
  if (address >= kNoLowerAddress) return true;
  const PyRef offset = call_method<"storage_offset">(object);
  const long long elements = offset ? PyLong_AsLongLong(offset.get()) : 0;
  return PyErr_Occurred() == nullptr &&
         address != static_cast<std::uintptr_t>(elements) * size_bytes(view.dtype);
}

// Strides, storage and signs as a plain tensor in the memory of this machine has them.
bool read_layout(const PythonCallbacks& callbacks, PyObject* object, StridedView& view) {
  if (attribute<"is_cpu">(object).get() != Py_True) return false;
  if (attribute<"layout">(object).get() != callbacks.strided_layout.get()) return false;
  const PyRef dtype = attribute<"dtype">(object);
  const auto known = callbacks.dtypes.find(dtype.get());
  if (known == callbacks.dtypes.end()) return false;
  view.dtype = known->second;
  if (call_method<"is_neg">(object).get() != Py_False) return false;
  if (is_complex(view.dtype) && call_method<"is_conj">(object).get() != Py_False) return false;
  const PyRef shape = attribute<"shape">(object);
  const PyRef strides = call_method<"stride">(object);
  const PyRef pointer = call_method<"data_ptr">(object);
  if (!pointer || !read_integers(shape.get(), view.shape)) return false;
  if (!read_integers(strides.get(), view.strides)) return false;
  if (view.strides.size() != view.shape.size()) return false;
  view.data = static_cast<const std::byte*>(PyLong_AsVoidPtr(pointer.get()));
  return PyErr_Occurred() == nullptr && (view.numel() == 0 || has_storage(object, view));
}

// The memory of an object that only tells where its elements lie, such as a numpy array.
bool read_buffer(PyObject* object, const char* dtype, StridedView& view) {
  const std::optional<DType> known = parse_dtype(dtype);
  Py_buffer buffer;
  if (!known || PyObject_CheckBuffer(object) == 0) return false;
  if (PyObject_GetBuffer(object, &buffer, PyBUF_STRIDES) != 0) return false;
  const auto size = static_cast<Py_ssize_t>(size_bytes(*known));
  bool fits = buffer.itemsize == size;
  view.dtype = *known;
  view.data = static_cast<const std::byte*>(buffer.buf);
  for (int d = 0; d < buffer.ndim; ++d) {
    view.shape.push_back(buffer.shape[d]);
    view.strides.push_back(buffer.strides[d] / size);
    fits = fits && buffer.strides[d] % size == 0;
  }
  PyBuffer_Release(&buffer);  // the owner keeps the memory
  return fits;
}

// Leaves what `cuts` keep of it. A part that would be empty is kept as it is.
void cut(StridedView& view, const std::vector<KeptPart>& cuts) {
  for (const KeptPart& rule : cuts) {
    if (rule.dim >= view.shape.size()) continue;
    std::int64_t& extent = view.shape[rule.dim];
    if (rule.size != 0 && extent != rule.size) continue;
    const std::int64_t end = std::min(rule.end, extent);
    if (rule.begin >= end) continue;
    view.data +=
        rule.begin * view.strides[rule.dim] * static_cast<std::int64_t>(size_bytes(view.dtype));
    extent = end - rule.begin;
  }
}

// Leaves the tokens of one request in the first dimension that counts tokens.
void cut(StridedView& view, const RequestedTokens& request) {
  const auto extent = std::ranges::find(view.shape, request.total);
  if (extent == view.shape.end()) return;
  const auto dim = static_cast<std::size_t>(extent - view.shape.begin());
  view.data +=
      request.begin * view.strides[dim] * static_cast<std::int64_t>(size_bytes(view.dtype));
  *extent = request.end - request.begin;
}

// A parameter, or a view of one: it has no tokens, whatever its shape is.
bool is_parameter(const PythonCallbacks& callbacks, PyObject* object) {
  const auto is_one = [&](PyObject* tensor) {
    const int answer = PyObject_IsInstance(tensor, callbacks.parameter_type.get());
    if (answer < 0) PyErr_Clear();
    return answer == 1;
  };
  if (is_one(object)) return true;
  const PyRef base = PyRef::take(PyObject_GetAttrString(object, "_base"));
  if (!base) PyErr_Clear();
  return base && base.get() != Py_None && is_one(base.get());
}

// Formats that numpy lacks as float32, in row-major order.
std::vector<float> widened_floats(const StridedView& view) {
  std::vector<float> floats;
  floats.reserve(view.numel());
  for_each_run(view, false, [&](const std::byte* run, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, run + i * sizeof(bits), sizeof(bits));
      floats.push_back(bfloat16_to_float(bits));
    }
  });
  return floats;
}

StridedView contiguous_floats(const std::vector<float>& floats,
                              const std::vector<std::int64_t>& shape) {
  StridedView view{reinterpret_cast<const std::byte*>(floats.data()), DType::kFloat32, shape,
                   shape};
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d]) view.strides[d] = stride;
  return view;
}

std::uint32_t checksum(const StridedView& view) {
  std::uint32_t crc = 0;
  const std::size_t size = size_bytes(view.dtype);
  for_each_run(view, false, [&](const std::byte* run, std::size_t count) {
    crc = crc32(crc, {run, count * size});
  });
  return crc;
}

// All bytes, padded with zeros, combined as 64-bit words.
std::uint64_t xor_words(const StridedView& view) {
  std::uint64_t combined = 0;
  std::size_t at = 0;  // byte of the word that is next
  const std::size_t size = size_bytes(view.dtype);
  for_each_run(view, false, [&](const std::byte* run, std::size_t count) {
    for (std::size_t i = 0; i < count * size; ++i, at = (at + 1) % 8) {
      combined ^= static_cast<std::uint64_t>(run[i]) << (8 * at);
    }
  });
  return combined;
}

void write_xor(JsonText& json, const StridedView& view, const Statistics& statistics) {
  using Kind = RecordedStatistic::Kind;
  if (view.numel() == 0 || statistics.max.kind == Kind::kNull) return json.null();
  if (view.shape.empty() && statistics.max.kind == Kind::kReal) {
    return json.real(statistics.max.real);
  }
  const std::uint64_t word = view.shape.empty() ? static_cast<std::uint64_t>(statistics.max.integer)
                                                : work_on(view, [&] { return xor_words(view); });
  json.string(fmt::format("{:#018x}", word));
}

// Of a tensor that does not lie row by row: kernels choose their way by it, and some operators tell
// what they are asked by it.
template <class Json>
void write_strides(Json& json, const StridedView& view) {
  std::int64_t wanted = 1;
  bool rows = true;
  for (std::size_t d = view.shape.size(); d-- > 0;) {
    rows = rows && (view.shape[d] == 1 || view.strides[d] == wanted);
    wanted *= std::max<std::int64_t>(view.shape[d], 1);
  }
  if (rows || view.numel() == 0) return;
  json.key("stride");
  json.begin_array();
  for (const std::int64_t stride : view.strides) json.integer(stride);
  json.end_array();
}

// The legacy form has integers for bools.
RecordedStatistic as_integer(RecordedStatistic statistic) {
  if (statistic.kind == RecordedStatistic::Kind::kBool)
    statistic.kind = RecordedStatistic::Kind::kSigned;
  return statistic;
}

}  // namespace

bool Describer::read_plain(PyObject* object, Read& read) {
  if (!read_layout(collector_.callbacks, object, read.view)) {
    PyErr_Clear();
    return false;
  }
  read.owner = PyRef::share(object);
  read.dtype = text(read.view.dtype);
  read.requires_grad = attribute<"requires_grad">(object).get() == Py_True;
  return true;
}

// A tensor that is not a plain one of this machine is described by the Python side, which makes a
// plain one of it.
bool Describer::read_special(PyObject* object, Read& read) {
  read = Read();
  const PyRef answer =
      PyRef::take(PyObject_CallOneArg(collector_.callbacks.read_special.get(), object));
  const char *type = nullptr, *dtype = nullptr;
  PyObject *shape = nullptr, *plain = nullptr, *extra = nullptr;
  int requires_grad = 0, saveable = 0;
  if (!answer || !PyArg_ParseTuple(answer.get(), "ssOpOpO", &type, &dtype, &shape, &requires_grad,
                                   &plain, &saveable, &extra)) {
    return false;
  }
  read.has_data = plain != Py_None && (read_buffer(plain, dtype, read.view) ||
                                       read_layout(collector_.callbacks, plain, read.view));
  PyErr_Clear();
  read.view.shape.resize(read.has_data ? read.view.shape.size() : 0);
  std::vector<std::int64_t> told_shape;
  if (!read_integers(shape, told_shape)) return false;
  if (!read.has_data) read.view.shape = std::move(told_shape);
  read.owner = PyRef::share(plain);
  read.extra = PyRef::share(extra);
  read.type = type;
  read.dtype = dtype;
  read.requires_grad = requires_grad != 0;
  read.saveable = saveable != 0;
  return true;
}

void Describer::tensor(PyObject* object, const std::string& path) {
  const std::optional<Undisturbed> undisturbed = undisturbed_by(collector_.callbacks, object);
  Read read;
  if (!read_plain(object, read) && !read_special(object, read)) {
    report_and_clear(collector_, name_.c_str());
    ++leaves_;
    return json_.null();
  }
  read.is_weight =
      is_weight_ || (collector_.settings.request && is_parameter(collector_.callbacks, object));
  std::uint64_t elements = 1;
  for (const std::int64_t extent : read.view.shape) elements *= static_cast<std::uint64_t>(extent);
  elements_ += elements;
  json_.begin_object();
  if (collector_.settings.style == RecordStyle::kDump) {
    write_dump_tensor(read, path);
  } else {
    write_legacy_tensor(read);
  }
  json_.end_object();
  ++leaves_;
}

void Describer::write_dump_tensor(Read& read, const std::string& path) {
  const Settings& settings = collector_.settings;
  Statistics statistics;
  if (read.has_data) {
    cut(read.view, settings.cuts);
    if (settings.request && !read.is_weight) cut(read.view, *settings.request);
    statistics = work_on(read.view, [&] { return statistics_of(read.view, settings.rule); });
  }
  overflow_ = overflow_ || overflows(statistics, read.view.dtype);
  json_.key("type");
  json_.string(read.type);
  json_.key("dtype");
  json_.string(read.dtype);
  json_.key("shape");
  json_.begin_array();
  for (const std::int64_t extent : read.view.shape) json_.integer(extent);
  json_.end_array();
  if (read.has_data && collector_.settings.rule != StatisticsRule::kMindSpore) {
    write_strides(json_, read.view);
  }
  if (settings.summary == Summary::kXor) {
    json_.key("md5");
    read.has_data ? write_xor(json_, read.view, statistics) : json_.null();
  } else {
    if (settings.high_precision && !read.view.shape.empty()) statistics.mean = statistics.norm = {};
    const std::pair<const char*, const RecordedStatistic*> keys[] = {{"Max", &statistics.max},
                                                                     {"Min", &statistics.min},
                                                                     {"Mean", &statistics.mean},
                                                                     {"Norm", &statistics.norm}};
    for (const auto& [key, statistic] : keys) {
      json_.key(key);
      json_.statistic(*statistic);
    }
    if (statistics.max_finite.kind != RecordedStatistic::Kind::kNull) {
      json_.key("Max_except_inf_nan");
      json_.statistic(statistics.max_finite);
      json_.key("Min_except_inf_nan");
      json_.statistic(statistics.min_finite);
    }
  }
  if (settings.writes_requires_grad) {
    json_.key("requires_grad");
    json_.boolean(read.requires_grad);
  }
  if (read.extra && PyDict_Check(read.extra.get())) {
    PyObject *key = nullptr, *item = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(read.extra.get(), &at, &key, &item);) {
      json_.key(PyUnicode_AsUTF8(key));
      python_json(item, 0);
    }
  }
  if (settings.file_suffix == ".npy") widen(read);
  const std::string file = name_ + "." + path + settings.file_suffix;
  if (saves_ && read.saveable && save(read, directory_ + "/" + file)) {
    json_.key("data_name");
    json_.string(file);
  }
  if (settings.summary == Summary::kCrc32) {
    json_.key("md5");
    if (read.has_data) {
      json_.string(fmt::format("{:08x}", work_on(read.view, [&] { return checksum(read.view); })));
    } else {
      json_.null();
    }
  }
}

// numpy has no bfloat16: such a tensor is saved, and its checksum taken, as float32.
void Describer::widen(Read& read) {
  const bool needed = saves_ || collector_.settings.summary == Summary::kCrc32;
  if (!needed || !read.has_data || read.view.dtype != DType::kBFloat16) return;
  read.widened = work_on(read.view, [&] { return widened_floats(read.view); });
  read.view = contiguous_floats(read.widened, read.view.shape);
}

void Describer::write_legacy_tensor(const Read& read) {
  const std::string file =
      fmt::format("{}/{}.{}{}", directory_, name_, leaves_, collector_.settings.file_suffix);
  json_.key("type");
  json_.string(read.type);
  if (saves_ && read.saveable && save(read, file)) {
    json_.key("datapath");
    json_.string(file);
  } else {
    json_.key("dtype");
    json_.string(read.dtype);
    json_.key("shape");
    json_.begin_array();
    for (const std::int64_t extent : read.view.shape) json_.integer(extent);
    json_.end_array();
    Statistics statistics;
    if (read.has_data) statistics = work_on(read.view, [&] { return statistics_of(read.view); });
    json_.key("Max");
    json_.statistic(as_integer(statistics.max));
    json_.key("Min");
    json_.statistic(as_integer(statistics.min));
  }
  json_.key("requires_grad");
  json_.boolean(read.requires_grad);
}

bool Describer::save(const Read& read, const std::string& file) {
  if (!read.has_data || read.view.numel() == 0) return false;
  if (file.size() - file.rfind('/') > kMaxFileName + 1) {
    PyErr_SetString(PyExc_ValueError, "a tensor is not saved, its name would be too long");
    report_and_clear(collector_, name_.c_str());
    return false;
  }
  TensorFile saved{file, read.view.dtype, read.view.shape, nullptr, read.view.nbytes()};
  const bool kept_back = collector_.settings.keeps_back();
  {
    const WithoutGil unlocked;  // it may have to wait for memory
    saved.buffer = collector_.recorder->take_buffer(
        saved.size, kept_back ? Recorder::Bound::kIgnored : Recorder::Bound::kKept);
    if (saved.buffer) copy_contiguous(read.view, saved.buffer->data());
  }
  if (!saved.buffer) {
    PyErr_SetString(PyExc_MemoryError, "a tensor is not saved, there is no memory for a copy");
    report_and_clear(collector_, name_.c_str());
    return false;
  }
  if (kept_back) {
    files_.push_back(std::move(saved));
  } else {
    collector_.recorder->save(std::move(saved));
  }
  return true;
}

}  // namespace msprobe::collect
