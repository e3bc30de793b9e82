// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/matrix_products.h"

#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cast.h"
#include "core/file.h"
#include "dump/tensor_file.h"
#include "yaml/load_yaml.h"

namespace msprobe::dump_compare {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 30;
constexpr std::string_view kMode = "mode";
constexpr std::string_view kKnownSections = "known: right_matmul, left_matmul, left_right_matmul";

std::span<const double> doubles_of(const Tensor& tensor) {
  return {reinterpret_cast<const double*>(tensor.bytes.data()), tensor.view().numel()};
}

Result<Tensor> load_matrix(const std::filesystem::path& path) {
  const Result<Tensor> stored = dump::load_tensor_file(path);
  if (!stored) return propagate(stored);
  Result<Tensor> matrix = cast(*stored, DType::kFloat64);
  if (!matrix) return propagate(matrix, path.string());
  if (matrix->shape.size() != 2) {
    return fail(ErrorKind::kFormat, fmt::format("{}: expected a matrix, found shape [{}]",
                                                path.string(), fmt::join(matrix->shape, ", ")));
  }
  return matrix;
}

struct Extents {
  std::int64_t batch = 1, rows = 1, columns = 1;
};

Extents extents_of(const Shape& shape) {
  Extents extents;
  if (!shape.empty()) extents.columns = shape.back();
  if (shape.size() > 1) extents.rows = shape[shape.size() - 2];
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) extents.batch *= shape[i];
  return extents;
}

Failure does_not_fit(std::string_view where, const Tensor& matrix, const Tensor& tensor) {
  return fail(ErrorKind::kFormat,
              fmt::format("a tensor of shape [{}] cannot be multiplied from the {} with a matrix "
                          "of shape [{}]",
                          fmt::join(tensor.shape, ", "), where, fmt::join(matrix.shape, ", ")));
}

Result<Tensor> empty_of(Shape shape) {
  const Result<std::size_t> size = byte_count(shape, DType::kFloat64);
  if (!size) return propagate(size);
  auto memory = std::make_shared<std::byte[]>(*size);
  const std::span<const std::byte> bytes(memory.get(), *size);
  return Tensor{DType::kFloat64, std::move(shape), std::move(memory), bytes};
}

double* values_of(const Tensor& made) {
  return reinterpret_cast<double*>(const_cast<std::byte*>(made.bytes.data()));
}

// tensor x matrix
Result<Tensor> times_right(const Tensor& tensor, const Tensor& matrix) {
  const Extents extents = extents_of(tensor.shape);
  if (tensor.shape.empty() || extents.columns != matrix.shape[0]) {
    return does_not_fit("right", matrix, tensor);
  }
  Shape shape = tensor.shape;
  shape.back() = matrix.shape[1];
  const Result<Tensor> made = empty_of(std::move(shape));
  if (!made) return propagate(made);
  const std::span<const double> in = doubles_of(tensor);
  const std::span<const double> by = doubles_of(matrix);
  double* out = values_of(*made);
  const auto inner = static_cast<std::size_t>(extents.columns);
  const auto width = static_cast<std::size_t>(matrix.shape[1]);
  const auto lines = static_cast<std::size_t>(extents.batch * extents.rows);
  for (std::size_t line = 0; line < lines; ++line) {
    for (std::size_t k = 0; k < inner; ++k) {
      const double factor = in[line * inner + k];
      for (std::size_t j = 0; j < width; ++j) out[line * width + j] += factor * by[k * width + j];
    }
  }
  return made;
}

// matrix x tensor
Result<Tensor> times_left(const Tensor& matrix, const Tensor& tensor) {
  if (tensor.shape.empty()) return does_not_fit("left", matrix, tensor);
  Extents extents = extents_of(tensor.shape);
  const bool is_vector = tensor.shape.size() == 1;
  if (is_vector) std::swap(extents.rows, extents.columns);
  if (extents.rows != matrix.shape[1]) return does_not_fit("left", matrix, tensor);
  Shape shape = tensor.shape;
  shape[is_vector ? 0 : shape.size() - 2] = matrix.shape[0];
  const Result<Tensor> made = empty_of(std::move(shape));
  if (!made) return propagate(made);
  const std::span<const double> in = doubles_of(tensor);
  const std::span<const double> by = doubles_of(matrix);
  double* out = values_of(*made);
  const auto rows = static_cast<std::size_t>(matrix.shape[0]);
  const auto inner = static_cast<std::size_t>(extents.rows);
  const auto width = static_cast<std::size_t>(extents.columns);
  for (std::size_t b = 0; b < static_cast<std::size_t>(extents.batch); ++b) {
    const double* from = in.data() + b * inner * width;
    double* to = out + b * rows * width;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t k = 0; k < inner; ++k) {
        const double factor = by[i * inner + k];
        for (std::size_t j = 0; j < width; ++j) to[i * width + j] += factor * from[k * width + j];
      }
    }
  }
  return made;
}

}  // namespace

class ProductReader {
 public:
  explicit ProductReader(const std::filesystem::path& path) : path_(path) {}

  Result<MatrixProducts> read() {
    const Result<FileBytes> file = load_file(path_, kMaxConfigBytes);
    if (!file) return propagate(file);
    try {
      const YAML::Node root = yaml::load(file->text());
      if (!root.IsMap()) return wrong(root, "expected right_matmul, left_matmul, ...");
      if (const YAML::Node mode = root[std::string(kMode)]) return read_mode(mode, root);
      for (const auto& section : root) {
        if (const auto done = read_section(section.first.as<std::string>(), section.second);
            !done) {
          return propagate(done);
        }
      }
    } catch (const YAML::Exception& error) {
      return fail(ErrorKind::kFormat,
                  fmt::format("{}: line {}: {}", path_.string(), error.mark.line + 1, error.msg));
    }
    return std::move(products_);
  }

 private:
  Failure wrong(const YAML::Node& node, std::string_view text) const {
    return fail(ErrorKind::kFormat,
                fmt::format("{}: line {}: {}", path_.string(), node.Mark().line + 1, text));
  }

  // The layout with a single section: its name is the mode, its maps lie beside it.
  Result<MatrixProducts> read_mode(const YAML::Node& mode, const YAML::Node& root) {
    const std::string name = mode.as<std::string>();
    if (name != "right_matmul" && name != "left_matmul" && name != "left_right_matmul") {
      return wrong(mode, fmt::format("unknown mode '{}' ({})", name, kKnownSections));
    }
    if (const auto done = read_section(name, root); !done) return propagate(done);
    return std::move(products_);
  }

  Result<void> read_section(const std::string& name, const YAML::Node& section) {
    struct MapRow {
      std::string_view section, key;
      MatrixProducts::ByName MatrixProducts::* side;
      std::optional<Tensor> MatrixProduct::* matrix;
    };
    static constexpr std::array kMaps{
        MapRow{"right_matmul", "target_tensor_map", &MatrixProducts::target_,
               &MatrixProduct::right},
        MapRow{"right_matmul", "golden_tensor_map", &MatrixProducts::golden_,
               &MatrixProduct::right},
        MapRow{"left_matmul", "target_tensor_map", &MatrixProducts::target_, &MatrixProduct::left},
        MapRow{"left_matmul", "golden_tensor_map", &MatrixProducts::golden_, &MatrixProduct::left},
        MapRow{"left_right_matmul", "left_target_tensor_map", &MatrixProducts::target_,
               &MatrixProduct::left},
        MapRow{"left_right_matmul", "right_target_tensor_map", &MatrixProducts::target_,
               &MatrixProduct::right},
        MapRow{"left_right_matmul", "left_golden_tensor_map", &MatrixProducts::golden_,
               &MatrixProduct::left},
        MapRow{"left_right_matmul", "right_golden_tensor_map", &MatrixProducts::golden_,
               &MatrixProduct::right},
    };
    if (section.IsNull()) return {};
    if (!section.IsMap()) return wrong(section, name + " must have tensor maps");
    for (const auto& map : section) {
      const std::string key = map.first.as<std::string>();
      if (key == kMode) continue;
      const MapRow* found = nullptr;
      for (const MapRow& row : kMaps) {
        if (row.section == name && row.key == key) found = &row;
      }
      if (found == nullptr) {
        return wrong(map.first,
                     fmt::format("unknown map '{}' in '{}' ({})", key, name, kKnownSections));
      }
      if (const auto done = read_map(map.second, products_.*found->side, found->matrix); !done) {
        return propagate(done);
      }
    }
    return {};
  }

  Result<void> read_map(const YAML::Node& map, MatrixProducts::ByName& side,
                        std::optional<Tensor> MatrixProduct::* matrix) {
    if (map.IsNull()) return {};
    if (!map.IsMap()) return wrong(map, "expected matrix file: [names of tensor files]");
    for (const auto& row : map) {
      if (!row.second.IsSequence()) {
        return wrong(row.second, "expected a list of names of tensor files");
      }
      std::filesystem::path file = row.first.as<std::string>();
      if (file.is_relative()) file = path_.parent_path() / file;
      const Result<Tensor> loaded = load_matrix(file);
      if (!loaded) return propagate(loaded, path_.string());
      for (const auto& name : row.second) side[name.as<std::string>()].*matrix = *loaded;
    }
    return {};
  }

  const std::filesystem::path& path_;
  MatrixProducts products_;
};

Result<MatrixProducts> MatrixProducts::read(const std::filesystem::path& path) {
  return ProductReader(path).read();
}

Result<Tensor> MatrixProducts::apply(ComparedSide side, std::string_view data_name,
                                     Tensor tensor) const {
  const ByName& products = side == ComparedSide::kTarget ? target_ : golden_;
  const auto found = products.find(std::string(data_name));
  if (found == products.end()) return tensor;
  const bool is_double = tensor.dtype == DType::kFloat64;
  Result<Tensor> made = cast(tensor, DType::kFloat64);
  if (made && found->second.left) made = times_left(*found->second.left, *made);
  if (made && found->second.right) made = times_right(*made, *found->second.right);
  // Results have the precision that such a product has.
  return made && !is_double ? cast(*made, DType::kFloat32) : made;
}

}  // namespace msprobe::dump_compare
