// SPDX-License-Identifier: Apache-2.0
// The definition of the bound: the formulas of docs/verdicts.md in its order and with its symbols,
// in plain loops and double precision. The judge samples, stops early and computes in vectors; it
// may allow less than this and never more (bound_reference_test.cc).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "strict/float_type.h"

namespace msprobe::strict::reference {

// A matrix product of `matrices` pairs of factors, row by row: left has `rows` x `terms`, right
// `terms` x `columns` numbers for each of them. `added` has one number for every element, or none.
struct Product {
  std::size_t matrices = 1, rows = 0, terms = 0, columns = 0;
  std::vector<double> left, right, added;
  double filled = 1;    // the share of the terms that are not zero by rule
  bool one_way = true;  // no kernel computes it otherwise than term by term
};

// One output or gradient, with what was measured of it. Every vector is empty or has a number for
// every element.
struct Result {
  FloatType type = {};
  std::vector<double> bench = {};         // b
  bool exact = false;                     // step 2
  double n = 1;                           // the number of terms
  std::vector<double> spread = {};        // s, after 12 runs
  std::vector<double> native_error = {};  // e; infinite or NaN if the CPU overflows there
  double native_cap = 0;                  // c
  bool rounds_once = false;               // the CPU is within one unit of b everywhere
  std::optional<Product> product = {};    // the result is this product
  bool made_of_products = false;          // it contains products, and is not one
  double longest_sum = 1;                 // n of the products it contains
  bool may_drift = false;                 // a matrix unit that cuts may have computed it
  bool tf32 = false;                      // --allow-tf32 covers it
  double single = 0;                      // what a normalisation of single elements leaves
  double kernel_relative = 0;             // of MindSpore's kernel: of |b|, and of any b
  double kernel_absolute = 0;
};

// The sum of the terms of one element, the root of the sum of their squares, and how far the
// partial sums at 16 places in the order of the data leave the straight line from 0 to the sum.
struct Sums {
  double s = 0;
  double n = 0;
  double w = 0;
};
Sums sums_of(const Product& product, std::size_t element);

// P: the mean of the power of two below a sum that grows evenly from 0 to `sum`.
double mean_power(double sum);

// Step 3.
double few_roundings(const FloatType& type, double b, bool one_product);
// "Products", for sums that are rounded to nearest, and what a matrix unit adds that cuts.
double rounded_product(const Result& result, double b, const Sums& sums, double added);
double drift_of_product(const Result& result, const Sums& sums);
// Step 5; the narrower form for half types whose CPU rounds once; what drifting products inside a
// result add.
double conditioned(const Result& result, double b, double s);
double conditioned_once(const Result& result, double b, double s);
double drift_inside(const Result& result, double b, double s);
// Step 6.
double of_native(double e, double cap);

// The largest bound that any step may come to, for every element.
std::vector<double> bounds(const Result& result);

// Step 1, and whether the error of an element is at most `times` its bound. `e` is its native
// error.
bool allows(const FloatType& type, double d, double b, double bound, double e, double times = 1);

}  // namespace msprobe::strict::reference
