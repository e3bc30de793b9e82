// SPDX-License-Identifier: Apache-2.0
#include "dump/pickle_globals.h"

namespace msprobe::dump {
namespace {

struct Row {
  std::string_view module, name;
  PickleRole role;
  std::string_view what;
};

constexpr Row kGlobals[] = {
    {"torch._utils", "_rebuild_tensor_v2", PickleRole::kRebuildTensorV2, {}},
    {"collections", "OrderedDict", PickleRole::kOrderedDict, {}},
    {"torch._utils", "_rebuild_tensor_v3", PickleRole::kRebuildTensorV3, {}},
    {"torch._utils", "_rebuild_tensor", PickleRole::kRebuildTensor, {}},
    {"torch._utils", "_rebuild_parameter", PickleRole::kRebuildParameter, {}},
    {"torch._utils", "_rebuild_parameter_with_state", PickleRole::kRebuildParameter, {}},
    {"torch._tensor", "_rebuild_from_type_v2", PickleRole::kRebuildFromType, {}},
    {"torch_npu.utils.storage", "_rebuild_npu_tensor", PickleRole::kRebuildTensorNpu, {}},
    {"torch_npu.npu._format", "Format", PickleRole::kNpuFormat, {}},
    {"torch", "Tensor", PickleRole::kTensorType, {}},
    {"torch.nn.parameter", "Parameter", PickleRole::kTensorType, {}},
    {"torch.nn.parameter", "Buffer", PickleRole::kTensorType, {}},
    {"torch", "Size", PickleRole::kSize, {}},
    {"torch", "device", PickleRole::kDevice, {}},
    {"torch.serialization", "_get_layout", PickleRole::kUnsupported, "a sparse tensor"},
    {"torch._utils", "_rebuild_sparse_tensor", PickleRole::kUnsupported, "a sparse tensor"},
    {"torch._utils", "_rebuild_sparse_csr_tensor", PickleRole::kUnsupported, "a sparse tensor"},
    {"torch._utils", "_rebuild_nested_tensor", PickleRole::kUnsupported, "a nested tensor"},
    {"torch._utils", "_rebuild_qtensor", PickleRole::kUnsupported, "a quantised tensor"},
    {"torch._utils", "_rebuild_meta_tensor_no_storage", PickleRole::kUnsupported,
     "a tensor without data (meta)"},
    {"torch._utils", "_rebuild_wrapper_subclass", PickleRole::kUnsupported, "a tensor subclass"},
};

struct StorageRow {
  std::string_view name;
  std::optional<DType> dtype;
};

constexpr StorageRow kStorages[] = {
    {"FloatStorage", DType::kFloat32},
    {"HalfStorage", DType::kFloat16},
    {"BFloat16Storage", DType::kBFloat16},
    {"DoubleStorage", DType::kFloat64},
    {"LongStorage", DType::kInt64},
    {"IntStorage", DType::kInt32},
    {"ShortStorage", DType::kInt16},
    {"CharStorage", DType::kInt8},
    {"ByteStorage", DType::kUInt8},
    {"BoolStorage", DType::kBool},
    {"ComplexFloatStorage", DType::kComplex64},
    {"ComplexDoubleStorage", DType::kComplex128},
    {"UntypedStorage", std::nullopt},
    {"_UntypedStorage", std::nullopt},
};

bool has_storages(std::string_view module) {
  return module == "torch" || module == "torch.storage" || module == "torch.cuda" ||
         module == "torch.npu";
}

// Element types of torch that this build does not know; any other name is not on the list.
constexpr std::string_view kOtherDTypes[] = {
    "quint8", "qint8", "qint32", "quint4x2", "quint2x4", "bits8", "bits16",
};

}  // namespace

std::optional<PickleGlobal> find_pickle_global(std::string_view module, std::string_view name) {
  for (const Row& row : kGlobals) {
    if (row.name == name && row.module == module) return PickleGlobal{row.role, {}, row.what};
  }
  if (has_storages(module)) {
    for (const StorageRow& row : kStorages) {
      if (row.name == name) return PickleGlobal{PickleRole::kStorageType, row.dtype, {}};
    }
  }
  if (module != "torch") return std::nullopt;
  const std::optional<DType> dtype = parse_dtype(name);
  if (dtype && msprobe::name(*dtype) == name) return PickleGlobal{PickleRole::kDType, dtype, {}};
  for (const std::string_view other : kOtherDTypes) {
    if (other == name) return PickleGlobal{PickleRole::kDType, std::nullopt, other};
  }
  return std::nullopt;
}

}  // namespace msprobe::dump
