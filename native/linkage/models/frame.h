#pragma once

// Frames: the linkage values of all current cluster pairs, modelled on one interval.
//
// A frame has a record for each pair of slots (places of clusters), in a square that is symmetric:
// the records of a slot are contiguous. Records of removed slots and of the diagonal hold
// meaningless positive numbers. All coefficients are positive, so they are ordered like the
// integers with the same bits.

#include <cstdint>
#include <span>
#include <vector>

#include "linkage/models/averages.h"
#include "linkage/models/pair_functions.h"
#include "stop_token.h"

namespace certune::linkage {

// What a record holds.
enum class Form {
    average,          // the Bernstein coefficients of an average
    energy,           // the same, and on the diagonal the average within a cluster, see energies.h
    fixed_extremes,   // minima and maxima of fixed distances, see fixed_extremes.h
    moving_extremes,  // minima and maxima of moving distances, see moving_extremes.h
};

Form form_of(Kind kind, Mode mode);
// Are records Bernstein coefficients of polynomials?
inline bool is_polynomial(Form form) { return form == Form::average || form == Form::energy; }
// Numbers of a record.
int record_width(Kind kind, Form form);
// The kind in terms of values: where larger values are nearer, minima become maxima.
Kind kind_of_values(Kind kind, int sign);

// How the records of an interval are read: as values, with one relative error, in an order.
struct Reading {
    Form form = Form::average;
    Kind kind = Kind::mean;  // in terms of values
    int sign = 1;            // +1 if smaller values are nearer
    double error = 0.0;      // infinite if there is no model
    bool box_cox = false;
    double centre = 0.0;  // of stored logarithms (fixed extremes)
    Affine power;
};

struct Frame {
    double* data = nullptr;
    int slots = 0;
    int width = degree;

    double* record(int x, int z) const {
        const auto place = static_cast<std::size_t>(x) * static_cast<std::size_t>(slots) +
                           static_cast<std::size_t>(z);
        return data + place * static_cast<std::size_t>(width);
    }
    double* row(int x) const { return record(x, 0); }
    std::size_t size() const {
        return static_cast<std::size_t>(slots) * static_cast<std::size_t>(slots) *
               static_cast<std::size_t>(width);
    }
};

// Fills a frame on an interval from the pairs of points, for the clusters `labels`. Returns how it
// is to be read.
Reading build_frame(const Frame& frame, const Source& source, std::span<const std::int64_t> labels,
                    Interval interval, StopToken& stop);

// The same for the values of the pairs of points at one parameter, which have that relative error.
Reading build_point_frame(const Frame& frame, const Source& source,
                          std::span<const std::int64_t> labels, MatrixView<const double> values,
                          double error, double t, StopToken& stop);

// Fills records of averages, mirrored or not, and returns how they are to be read.
Reading build_average_records(const AverageTable& table, const Source& source,
                              std::span<const std::int64_t> labels, Interval interval,
                              StopToken& stop);

// Cuts the active slots of a frame of averages to the part [low, high] of its interval.
void restrict_averages(const Frame& source, std::span<const int> active, double low, double high,
                       const Frame& target);

// Finds the last of the panels that fixed extremes need not tell apart: they know no width, only
// the sign of alpha and whether powers need their Box-Cox form. A panel that ends at a tie is the
// last one.
struct Panels {
    MatrixView<const double> bounds;  // (panels, 2): low, high
    MatrixView<const bool> may_tie;   // (panels, 2): may values tie exactly at that end?
    int count() const { return static_cast<int>(bounds.rows); }
    Interval interval(int panel) const {
        const auto row = static_cast<std::size_t>(panel);
        return {bounds(row, 0), bounds(row, 1)};
    }
    int last_joint(const Source& source, int panel) const;
};

}  // namespace certune::linkage
