// The language model once more: plain loops in any floating type, straight from the formula of transformer.h,
// one number at a time. What the engine is compared with, by value and by finite differences.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "glint/kernels/gates.h"
#include "glint/model/transformer.h"

namespace glint::model_testing {

template <class T>
class ReferenceTransformer {
 public:
  using Rows = std::vector<std::vector<T>>;

  ReferenceTransformer(const TransformerConfig& config, const TransformerParams& params, std::vector<T> weights)
      : c_(config), p_(params), w_(std::move(weights)) {}

  std::vector<T>& weights() { return w_; }
  // Inputs of the GLU of each layer in the last call of `logits`.
  const std::vector<Rows>& mlp_inputs() const { return mlp_inputs_; }

  Rows logits(std::span<const TokenId> tokens) {
    Rows x;
    mlp_inputs_.clear();
    for (const TokenId id : tokens) x.push_back(row(p_.wte, id));
    for (const TransformerParams::Block& b : p_.blocks) {
      const Rows a = attention(multiply(norm(x), b.qkv));
      const T s = 1 / std::sqrt(T(2) * static_cast<T>(c_.layers));
      add(multiply(a, b.o), s, x);
      mlp_inputs_.push_back(norm(x));
      Rows z = multiply(mlp_inputs_.back(), b.mlp_w);
      for (auto& r : z) {
        for (size_t j = 0; j < c_.hidden(); j++)
          r[j] = static_cast<T>(gate_info(c_.gate.kind).value(static_cast<double>(r[j]), c_.gate.params)) *
                 r[c_.hidden() + j];
        r.resize(c_.hidden());
      }
      add(multiply(z, b.mlp_p), 1, x);
    }
    return multiply(norm(x), p_.head);
  }

  // Sum over the tokens.
  T loss(const TokenRow& text) {
    const Rows all = logits(text.input);
    T total = 0;
    for (size_t i = 0; i < all.size(); i++) {
      T sum = 0;
      for (const T v : all[i]) sum += std::exp(v - all[i][text.target[i]]);
      total += std::log(sum);
    }
    return total;
  }

 private:
  std::vector<T> row(size_t param, size_t i) const {
    const ParamSpec& s = p_.table[param];
    const auto begin = w_.begin() + static_cast<std::ptrdiff_t>(s.offset + i * s.cols);
    return {begin, begin + static_cast<std::ptrdiff_t>(s.cols)};
  }
  Rows multiply(const Rows& x, size_t param) const {
    const ParamSpec& s = p_.table[param];
    Rows y(x.size(), std::vector<T>(s.rows));
    for (size_t i = 0; i < x.size(); i++)
      for (size_t n = 0; n < s.rows; n++)
        for (size_t k = 0; k < s.cols; k++) y[i][n] += x[i][k] * w_[s.offset + n * s.cols + k];
    return y;
  }
  static void add(const Rows& x, T factor, Rows& y) {
    for (size_t i = 0; i < x.size(); i++)
      for (size_t j = 0; j < x[i].size(); j++) y[i][j] += factor * x[i][j];
  }
  static Rows norm(Rows x) {
    for (auto& r : x) {
      T squares = 0;
      for (const T v : r) squares += v * v;
      const T root = std::sqrt(squares / static_cast<T>(r.size()) + T(1e-8));
      for (T& v : r) v /= root;
    }
    return x;
  }
  void turn(std::vector<T>& r, size_t first, size_t position) const {
    const size_t half = c_.head_dim() / 2;
    for (size_t j = 0; j < half; j++) {
      const T angle = static_cast<T>(position) * std::pow(T(10000), -static_cast<T>(j) / static_cast<T>(half));
      const T a = r[first + j], b = r[first + half + j];
      r[first + j] = a * std::cos(angle) - b * std::sin(angle);
      r[first + half + j] = b * std::cos(angle) + a * std::sin(angle);
    }
  }
  Rows attention(Rows qkv) const {
    const size_t t = qkv.size(), d = c_.d_model, n = c_.head_dim();
    Rows y(t, std::vector<T>(d));
    for (size_t h = 0; h < c_.heads; h++) {
      for (size_t i = 0; i < t; i++) {
        turn(qkv[i], h * n, i);
        turn(qkv[i], d + h * n, i);
      }
      for (size_t i = 0; i < t; i++) {
        std::vector<T> p(i + 1);
        T total = 0;
        for (size_t j = 0; j <= i; j++) {
          T score = 0;
          for (size_t c = 0; c < n; c++) score += qkv[i][h * n + c] * qkv[j][d + h * n + c];
          total += p[j] = std::exp(score / std::sqrt(static_cast<T>(n)));
        }
        for (size_t j = 0; j <= i; j++)
          for (size_t c = 0; c < n; c++) y[i][h * n + c] += p[j] / total * qkv[j][2 * d + h * n + c];
      }
    }
    return y;
  }

  TransformerConfig c_;
  const TransformerParams& p_;
  std::vector<T> w_;
  std::vector<Rows> mlp_inputs_;
};

}  // namespace glint::model_testing
