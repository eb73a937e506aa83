// All parameters of a model live in one flat buffer; this is its table of contents. Gradients and the
// optimiser's moments have the same layout, so that AdamW is one loop and a checkpoint one write.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glint/base/matrix.h"

namespace glint {

struct ParamSpec {
  std::string name;
  size_t rows = 0, cols = 0;        // a vector is one row
  bool vector = false;              // written to files with one dimension
  bool decay = true;                // weight decay applies
  size_t fan_in = 0;                // initialised uniformly in +-1/sqrt(fan_in); 0: normal(0, 1)
  std::optional<float> start = {};  // initialised as this everywhere instead
  size_t offset = 0;                // floats from the start of the buffer, a multiple of 16
  size_t size() const { return rows * cols; }
};

inline constexpr size_t kNoParam = static_cast<size_t>(-1);  // instead of an index into the table

class ParamTable {
 public:
  // Returns the index of the new entry.
  size_t add(ParamSpec spec);
  std::span<const ParamSpec> specs() const { return specs_; }
  const ParamSpec& operator[](size_t i) const { return specs_[i]; }
  size_t floats() const { return floats_; }  // of the buffer, gaps for alignment included
  size_t parameters() const;                 // without the gaps

  template <class T>
  MatrixView<T> view(std::span<T> buffer, size_t i) const {
    return {buffer.data() + specs_[i].offset, specs_[i].rows, specs_[i].cols};
  }
  // The tensor of this name: its shape, and where it lies in a buffer of floats() floats. Error (usage) with
  // the nearest name, or for a buffer of another size.
  const ParamSpec& find(std::string_view name) const;
  template <class T>
  MatrixView<T> find(std::span<T> buffer, std::string_view name) const {
    const ParamSpec& spec = find(name);
    check_buffer(buffer, "buffer");
    return {buffer.data() + spec.offset, spec.rows, spec.cols};
  }
  // Error (usage) unless the buffer has the size of the table; `where` names it.
  void check_buffer(std::span<const float> buffer, const char* where) const;
  // The same values whatever the gate: they depend on the seed and on the tensor's place in the table alone.
  void initialise(std::span<float> buffer, uint64_t seed) const;

 private:
  std::vector<ParamSpec> specs_;
  size_t floats_ = 0;
};

}  // namespace glint
