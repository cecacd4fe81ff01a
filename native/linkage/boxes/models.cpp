#include "linkage/boxes/models.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace certune::linkage::boxes {

namespace {

// Boxes on which a value can move by more than this are better cut: their remainders say nothing.
constexpr double largest_exponent = 2.5;
constexpr double largest_share = 0.75;
// Sums of values up to this one, over all pairs of points, stay inside the doubles.
constexpr double largest_value = 1e200;

constexpr double infinity = std::numeric_limits<double>::infinity();

// The logarithm of the value of a pair at alpha = 1 is log + p, where log belongs to the middle of
// the box and p(x) = form . x (products) or log(1 + form . x) (sums).
struct Features {
    std::size_t n_linear = 0;
    std::vector<double> rows;  // (pairs, 1 + n_linear)
    std::vector<double> middles;

    std::size_t count() const { return rows.size() / (1 + n_linear); }
    const double* row(std::size_t i) const { return rows.data() + i * (1 + n_linear); }
};

std::size_t count_moving(const Box& box) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < box.n_metrics; ++i) count += box.vertices(1, i) > 0.0;
    return count;
}

void add_product_row(const Box& box, std::size_t a, std::size_t b, std::vector<double>& rows) {
    double log = 0.0;
    for (std::size_t i = 0; i < box.n_metrics; ++i) {
        log += box.vertices(0, i) * box.distance(i, a, b);
    }
    rows.push_back(log);
    for (std::size_t i = 0; i < box.n_metrics; ++i) {
        if (box.vertices(1, i) > 0.0) rows.push_back(box.vertices(1, i) * box.distance(i, a, b));
    }
}

void add_sum_row(const Box& box, std::size_t a, std::size_t b, std::vector<double>& at_vertices,
                 std::vector<double>& rows) {
    const std::size_t m = box.vertices.rows;
    double middle = 0.0;
    for (std::size_t k = 0; k < m; ++k) {
        double distance = 0.0;
        for (std::size_t i = 0; i < box.n_metrics; ++i) {
            distance += box.vertices(k, i) * box.distance(i, a, b);
        }
        at_vertices[k] = distance;
        middle += distance;
    }
    middle /= static_cast<double>(m);
    rows.push_back(std::log(middle));
    // Two vertices are an interval: its coordinate moves by 2 from one to the other.
    const double scale = m == 2 ? 0.5 / middle : 1.0 / middle;
    for (std::size_t k = 1; k < m; ++k) rows.push_back(scale * (at_vertices[k] - at_vertices[0]));
}

void add_row(const Box& box, std::size_t a, std::size_t b, std::vector<double>& at_vertices,
             std::vector<double>& rows) {
    if (box.products) {
        add_product_row(box, a, b, rows);
    } else {
        add_sum_row(box, a, b, at_vertices, rows);
    }
}

// Of all pairs of points in different slots.
Features features_of(const Box& box, std::span<const std::int64_t> slots, StopToken& stop) {
    Features result;
    result.n_linear = box.products ? count_moving(box) : box.vertices.rows - 1;
    result.rows.reserve(box.n_points * (box.n_points - 1) / 2 * (1 + result.n_linear));
    std::vector<double> at_vertices(box.vertices.rows);
    for (std::size_t a = 0; a < box.n_points && !stop.stop_requested(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
            if (slots[a] != slots[b]) add_row(box, a, b, at_vertices, result.rows);
        }
    }
    // A common factor exp(alpha (c + t . x)) of all values does not change any order: with the
    // middles of the ranges what is left to move is small.
    for (std::size_t c = 0; c <= result.n_linear; ++c) {
        double low = infinity, high = -infinity;
        for (std::size_t i = 0; i < result.count(); ++i) {
            low = std::min(low, result.row(i)[c]);
            high = std::max(high, result.row(i)[c]);
        }
        result.middles.push_back(0.5 * low + 0.5 * high);
    }
    return result;
}

// One pair of points on the box: exponent times (log + p - q^2/2 + q^3/3 - ...), where p = q - tilt
// (sums) or q = 0 (products) are linear forms.
struct PairForm {
    double log = 0.0;
    std::vector<double> p, q, power;
    double p_reach = 0.0, q_reach = 0.0;
};

// Sizes of the parts of degree 1, 2, 3 and more of a power series on the box, and how fast they
// grow in any direction (see docs/theory/branch-and-bound.md, Models).
struct Majorant {
    double degree[5] = {};
    double growth[5] = {};

    double total() const { return degree[1] + degree[2] + degree[3] + degree[4]; }
    double total_growth() const { return growth[1] + growth[2] + growth[3] + growth[4]; }
};

// Of log(1 + q) - tilt, by degree: p, q^2/2, q^3/3 and the rest.
Majorant logarithm_majorant(double p, double q, double steepness) {
    Majorant result;
    const double rest = 1.0 / (1.0 - q);
    result.degree[1] = p;
    result.degree[2] = 0.5 * q * q;
    result.degree[3] = q * q * q / 3.0;
    result.degree[4] = 0.25 * q * q * q * q * rest;
    result.growth[1] = steepness * p;
    result.growth[2] = steepness * q * q;
    result.growth[3] = steepness * q * q * q;
    result.growth[4] = steepness * q * q * q * q * rest;
    return result;
}

class RecordMaker {
   public:
    RecordMaker(const Box& box, const PolynomialSpace& space, const Features& features)
        : box_(box), space_(space), features_(features) {
        const std::size_t n = space.n_variables();
        form_.p.resize(n);
        form_.q.resize(n);
        form_.power.assign(n, 0.0);
        if (box.has_power()) form_.power[0] = 1.0;
        // A direction from vertex to vertex of a simplex is twice as long as its reach.
        steepness_ = space.coordinates().n_vertices > 0 ? 2.0 : 1.0;
    }

    // False if the value moves too much for a useful record.
    bool make(const double* row, double* record) {
        read(row);
        std::fill(record, record + space_.width(), 0.0);
        if (!(form_.q_reach <= largest_share)) return false;
        return box_.box_cox ? make_box_cox(record) : make_power(record);
    }

    // The same, but a value that moves much has a constant as its polynomial, which is enough for
    // one that is small beside others.
    bool make_any(const double* row, double* record) {
        if (make(row, record)) return true;
        std::fill(record, record + space_.width(), 0.0);
        if (!(form_.q_reach < 1.0)) return false;
        const Majorant inner = logarithm_majorant(form_.p_reach, form_.q_reach, steepness_);
        const double h = box_.half, a = box_.exponent;
        double low, high;
        if (box_.box_cox) {
            const double g = std::abs(form_.log) + inner.total();
            high = h > 0.0 ? std::expm1(h * g) / h : g;
            low = -high;
        } else {
            const double moves = h * std::abs(form_.log) + (std::abs(a) + h) * inner.total();
            low = std::exp(a * form_.log - moves);
            high = std::exp(a * form_.log + moves);
        }
        if (!(high <= largest_value)) return false;
        record[0] = box_.sense * (0.5 * low + 0.5 * high);
        const double moved = box_.displacement * (std::abs(a) + h + 1.0) * form_.q_reach;
        record[space_.remainder()] =
            (0.5 * high - 0.5 * low) + high * (box_.rounding + 4.0 * moved);
        record[space_.slope_error()] = infinity;
        return true;
    }

   private:
    void read(const double* row) {
        const std::size_t first = box_.has_power() ? 1 : 0;
        form_.log = row[0] - features_.middles[0];
        for (std::size_t c = 0; c < features_.n_linear; ++c) {
            form_.p[first + c] = row[1 + c] - features_.middles[1 + c];
            form_.q[first + c] = box_.products ? 0.0 : row[1 + c];
        }
        form_.p_reach = space_.reach(form_.p);
        form_.q_reach = space_.reach(form_.q);
    }

    // exp(e) with the exponent e of degrees 1, 2, 3 up to degree 3:
    // 1 + e1 + (e2 + e1^2/2) + (e3 + e1 e2 + e1^3/6).
    bool make_power(double* record) {
        const double a = box_.exponent, h = box_.half, log = form_.log;
        const Majorant inner = logarithm_majorant(form_.p_reach, form_.q_reach, steepness_);
        Majorant e;
        e.degree[1] = h * std::abs(log) + std::abs(a) * inner.degree[1];
        e.growth[1] = std::abs(a) * inner.growth[1];
        for (int k = 2; k <= 4; ++k) {
            e.degree[k] = std::abs(a) * inner.degree[k] + h * inner.degree[k - 1];
            e.growth[k] = std::abs(a) * inner.growth[k] + h * inner.growth[k - 1];
        }
        e.degree[4] += h * inner.degree[4];
        e.growth[4] += h * inner.growth[4];
        if (!(e.total() <= largest_exponent)) return false;

        std::vector<double>& linear = linear_;
        linear.assign(form_.p.begin(), form_.p.end());
        for (double& value : linear) value *= a;
        if (box_.has_power()) linear[0] += h * log;
        const auto& p = form_.p;
        const auto& q = form_.q;
        const auto& y = form_.power;
        record[0] = 1.0;
        space_.add_linear(record, linear, 1.0);
        space_.add_product(record, linear, linear, 0.5);
        space_.add_product(record, linear, linear, linear, 1.0 / 6.0);
        space_.add_product(record, y, p, h);
        space_.add_product(record, linear, y, p, h);
        if (!box_.products) {
            space_.add_product(record, q, q, -0.5 * a);
            space_.add_product(record, linear, q, q, -0.5 * a);
            space_.add_product(record, q, q, q, a / 3.0);
            space_.add_product(record, y, q, q, -0.5 * h);
        }
        const double* d = e.degree;
        const double* g = e.growth;
        const double all = std::exp(e.total());
        const double kept = 1.0 + d[1] + (d[2] + 0.5 * d[1] * d[1]) +
                            (d[3] + d[1] * d[2] + d[1] * d[1] * d[1] / 6.0);
        const double slopes_kept = g[1] + (g[2] + d[1] * g[1]) +
                                   (g[3] + g[1] * d[2] + d[1] * g[2] + 0.5 * d[1] * d[1] * g[1]);
        const double moved = box_.displacement * (std::abs(a) + h) * form_.q_reach;
        finish(record, std::exp(a * log), all - kept, all * e.total_growth() - slopes_kept,
               all * (1.0 + e.total_growth()), moved);
        return true;
    }

    // (exp(A g) - 1) / A = g + A g^2/2 + A^2 g^3/6 + ... for A = half * y, at A = 0 for g = log +
    // ...
    bool make_box_cox(double* record) {
        const double h = box_.half, log = form_.log, size = std::abs(log);
        const Majorant inner = logarithm_majorant(form_.p_reach, form_.q_reach, steepness_);
        const double g = size + inner.total();
        if (!(h * g <= largest_exponent)) return false;
        const auto& p = form_.p;
        const auto& q = form_.q;
        const auto& y = form_.power;
        record[0] = log;
        space_.add_linear(record, p, 1.0);
        space_.add_linear(record, y, 0.5 * h * log * log);
        space_.add_product(record, y, p, h * log);
        space_.add_product(record, y, y, h * h * log * log * log / 6.0);
        space_.add_product(record, y, p, p, 0.5 * h);
        space_.add_product(record, y, y, p, 0.5 * h * h * log * log);
        space_.add_product(record, y, y, y, h * h * h * log * log * log * log / 24.0);
        if (!box_.products) {
            space_.add_product(record, q, q, -0.5);
            space_.add_product(record, q, q, q, 1.0 / 3.0);
            space_.add_product(record, y, q, q, -0.5 * h * log);
        }
        const double* d = inner.degree;
        const double* s = inner.growth;
        const double all = h > 0.0 ? std::expm1(h * g) / h : g;
        const double kept =
            size + d[1] + 0.5 * h * size * size + d[2] + h * size * d[1] +
            h * h * size * size * size / 6.0 + d[3] + h * (0.5 * d[1] * d[1] + size * d[2]) +
            0.5 * h * h * size * size * d[1] + h * h * h * size * size * size * size / 24.0;
        const double growth = inner.total_growth();
        const double slopes_kept = s[1] + s[2] + h * size * s[1] + s[3] +
                                   h * (d[1] * s[1] + size * s[2]) +
                                   0.5 * h * h * size * size * s[1];
        const double moved = box_.displacement * form_.q_reach;
        finish(record, 1.0, all - kept, std::exp(h * g) * growth - slopes_kept,
               (1.0 + all) * (1.0 + growth) * std::exp(h * g), moved);
        return true;
    }

    // Scales the polynomial by the value at the middle, and adds the remainder with its roundings:
    // `size` bounds all numbers of the record, `moved` is what misplaced coordinates cost.
    void finish(double* record, double value, double tail, double slope_tail, double size,
                double moved) const {
        for (std::size_t c = 0; c < space_.remainder(); ++c) record[c] *= box_.sense * value;
        const double rounding = size * (box_.rounding + 4.0 * moved);
        record[space_.remainder()] = value * (std::max(tail, 0.0) + rounding);
        record[space_.slope_error()] = value * (std::max(slope_tail, 0.0) + 4.0 * rounding);
    }

    const Box& box_;
    const PolynomialSpace& space_;
    const Features& features_;
    PairForm form_;
    std::vector<double> linear_;
    double steepness_;
};

std::vector<double> movements_of(const Box& box, const PolynomialSpace& space,
                                 const Features& features) {
    const std::size_t m = space.coordinates().n_vertices;
    const std::size_t n_linear = features.n_linear;
    const std::size_t edges = m > 0 ? m * (m - 1) / 2 : n_linear;
    std::vector<double> result((box.has_power() ? 1 : 0) + edges, 0.0);
    const double exponent = std::max(1.0, std::abs(box.exponent) + box.half);
    for (std::size_t i = 0; i < features.count(); ++i) {
        const double* row = features.row(i);
        std::size_t place = 0;
        if (box.has_power()) {
            result[place++] += box.half * std::abs(row[0] - features.middles[0]);
        }
        const auto form = [&](std::size_t k) {
            return k == 0 ? 0.0 : row[k] - features.middles[k];
        };
        if (m == 0) {
            for (std::size_t c = 1; c <= n_linear; ++c)
                result[place++] += exponent * std::abs(form(c));
        }
        for (std::size_t k = 1; k < m; ++k) {
            for (std::size_t j = 0; j < k; ++j) {
                result[place++] += 0.5 * exponent * std::abs(form(k) - form(j));
            }
        }
    }
    for (double& value : result)
        value /= static_cast<double>(std::max<std::size_t>(1, features.count()));
    return result;
}

void add(double* sum, const double* record, std::size_t width) {
    for (std::size_t c = 0; c < width; ++c) sum[c] += record[c];
}

}  // namespace

Coordinates Box::coordinates() const {
    const std::size_t power = has_power() ? 1 : 0;
    if (products) return {power + count_moving(*this), 0};
    if (vertices.rows <= 2) return {power + vertices.rows - 1, 0};
    return {power, vertices.rows};
}

namespace {

constexpr std::size_t records_of(Kind kind) {
    return kind == Kind::mean ? 1 : (kind == Kind::min_max ? 3 : 2);
}

}  // namespace

Table::Table(Kind table_kind, std::size_t slots, std::size_t record_width)
    : kind(table_kind),
      n_slots(slots),
      width(record_width),
      stride(records_of(table_kind) * record_width),
      numbers(slots * (slots - 1) / 2 * stride, 0.0),
      extremes(kind == Kind::min_max ? slots * (slots - 1) / 2 : 0, Extremes{uncertain, uncertain}),
      within(kind == Kind::energy ? slots * record_width : 0, 0.0) {}

int order_off_face(const PolynomialSpace& space, const Face& face, const double* difference) {
    const Range on_face = space.range(difference, face.part);
    if (on_face.lower > 0.0 || on_face.upper < 0.0) return 0;
    bool rises = true, falls = true;
    for (const auto& direction : face.directions) {
        const Range slope = space.slopes(difference, direction);
        rises = rises && slope.lower > 0.0;
        falls = falls && slope.upper < 0.0;
    }
    return rises ? 1 : (falls ? -1 : 0);
}

std::int64_t take_extreme(const PolynomialSpace& space, const Ties& ties, bool maximum,
                          double* here, std::int64_t pair, const double* there,
                          std::int64_t other) {
    const bool known = pair != uncertain && other != uncertain;
    if (known && ties.codes.data[pair] == ties.codes.data[other]) return std::min(pair, other);
    const double sign = maximum ? -1.0 : 1.0;
    const double lead = sign * (there[0] - here[0]);
    if (lead > here[space.spread()] + there[space.spread()]) return pair;
    if (-lead > here[space.spread()] + there[space.spread()]) {
        std::copy(there, there + space.width(), here);
        return other;
    }
    std::vector<double> difference(space.width());
    for (std::size_t c = 0; c < space.width(); ++c) difference[c] = sign * (there[c] - here[c]);
    for (const std::size_t c : {space.remainder(), space.slope_error()}) {
        difference[c] = there[c] + here[c];
    }
    const Range found = space.range(difference.data(), space.whole());
    bool replaced = difference[0] < 0.0;
    double gain = replaced ? found.upper : -found.lower;  // by how much the other can still win
    if (gain > 0.0 && known) {
        for (const Face& face : ties.faces) {
            const auto at = [&](std::int64_t place) {
                return face.codes[static_cast<std::size_t>(place)];
            };
            if (at(pair) != at(other)) continue;
            const int order = order_off_face(space, face, difference.data());
            if (order == 0) continue;
            replaced = order < 0;
            gain = 0.0;
            break;
        }
    }
    if (replaced) {
        std::copy(there, there + space.width(), here);
        pair = other;
    }
    if (!(gain > 0.0)) return pair;
    // The extreme lies between the better record and that less the gain.
    here[0] -= 0.5 * sign * gain;
    here[space.remainder()] += 0.5 * gain;
    here[space.slope_error()] = infinity;
    space.set_spread(here);
    return uncertain;
}

namespace {

// |A||B| / (|A| + |B|) (2 m(A, B) - m(A, A) - m(B, B)), from the three means.
void energy_of(const PolynomialSpace& space, const double* between, const double* first,
               const double* second, double factor, double* energy) {
    for (std::size_t c = 0; c < space.remainder(); ++c) {
        energy[c] = factor * (2.0 * between[c] - first[c] - second[c]);
    }
    for (const std::size_t c : {space.remainder(), space.slope_error()}) {
        energy[c] = factor * (2.0 * between[c] + first[c] + second[c]);
    }
    space.set_spread(energy);
}

// Records of the pairs of points that merges have joined: what is needed of clusters on the way.
class MergedPairs {
   public:
    MergedPairs(const Box& box, const PolynomialSpace& space, const Ties& ties, RecordMaker& maker,
                const Forest& forest)
        : box_(box),
          space_(space),
          ties_(ties),
          maker_(maker),
          forest_(forest),
          record_(space.width()),
          at_vertices_(box.vertices.rows) {}

    // False if a value moves too much.
    bool make(bool with_heights, StopToken& stop);
    // The mean within a node, of energy linkage.
    void write_within(std::size_t node, double* mean) const;
    Heights heights;

   private:
    const double* total(std::size_t node) const { return totals_.data() + node * space_.width(); }
    bool add_pair(std::size_t a, std::size_t b, double* sum, Extremes* extremes);
    bool make_node(std::size_t node, bool with_heights);
    void add_height(std::size_t node, const double* sum);

    const Box& box_;
    const PolynomialSpace& space_;
    const Ties& ties_;
    RecordMaker& maker_;
    const Forest& forest_;
    std::vector<double> record_, row_, at_vertices_;
    std::vector<double> totals_;  // sums over the unordered pairs within every node
};

bool MergedPairs::make(bool with_heights, StopToken& stop) {
    totals_.assign(forest_.n_nodes * space_.width(), 0.0);
    for (std::size_t node = forest_.n_points; node < forest_.n_nodes; ++node) {
        if (stop.stop_requested() || !make_node(node, with_heights)) return false;
    }
    return true;
}

// Adds the pair (a, b); extremes, if wanted, are those of the pairs so far, the records of which
// stand behind the sum.
bool MergedPairs::add_pair(std::size_t a, std::size_t b, double* sum, Extremes* extremes) {
    row_.clear();
    add_row(box_, a, b, at_vertices_, row_);
    if (!maker_.make_any(row_.data(), record_.data())) return false;
    const std::size_t width = space_.width();
    if (extremes == nullptr) {
        add(sum, record_.data(), width);
        return true;
    }
    space_.set_spread(record_.data());
    const auto pair =
        static_cast<std::int64_t>(a > b ? a * box_.n_points + b : b * box_.n_points + a);
    for (std::size_t larger = 0; larger < 2; ++larger) {
        double* here = sum + (1 + larger) * width;
        std::int64_t& extreme = (*extremes)[larger];
        if (here[space_.remainder()] < 0.0) {
            std::copy(record_.begin(), record_.end(), here);
            extreme = pair;
        } else {
            extreme = take_extreme(space_, ties_, larger == 1, here, extreme, record_.data(), pair);
        }
    }
    return true;
}

bool MergedPairs::make_node(std::size_t node, bool with_heights) {
    const std::size_t width = space_.width();
    const auto left = static_cast<std::size_t>(forest_.left[node]);
    const auto right = static_cast<std::size_t>(forest_.right[node]);
    const bool min_max = box_.kind == Kind::min_max;
    std::vector<double> sum(3 * width, 0.0);
    // A remainder below 0: there is no pair yet.
    sum[width + space_.remainder()] = sum[2 * width + space_.remainder()] = -1.0;
    Extremes extremes{uncertain, uncertain};
    bool one_place = true;
    for (const std::size_t a : forest_.members(left)) {
        for (const std::size_t b : forest_.members(right)) {
            if (box_.identical(a, b)) continue;
            one_place = false;
            if (!add_pair(a, b, sum.data(), min_max ? &extremes : nullptr)) return false;
        }
    }
    double* own = totals_.data() + node * width;
    std::copy(sum.begin(), sum.begin() + static_cast<std::ptrdiff_t>(width), own);
    if (with_heights) {
        if (min_max && !one_place) {
            for (std::size_t c = 0; c < width; ++c) sum[c] = sum[width + c] + sum[2 * width + c];
        }
        add_height(node, sum.data());
        if (min_max) heights.extremes.push_back(extremes);
    }
    add(own, total(left), width);
    add(own, total(right), width);
    return true;
}

void MergedPairs::add_height(std::size_t node, const double* sum) {
    const std::size_t width = space_.width();
    const auto left = static_cast<std::size_t>(forest_.left[node]);
    const auto right = static_cast<std::size_t>(forest_.right[node]);
    const double size_left = forest_.size[left], size_right = forest_.size[right];
    heights.numbers.resize(heights.numbers.size() + width);
    double* height = heights.numbers.data() + (node - forest_.n_points) * width;
    const double share = box_.kind == Kind::min_max ? 1.0 : 1.0 / (size_left * size_right);
    for (std::size_t c = 0; c < width; ++c) height[c] = share * sum[c];
    if (box_.kind != Kind::energy) {
        space_.set_spread(height);
        return;
    }
    const std::vector<double> between(height, height + width);
    std::vector<double> first(width), second(width);
    write_within(left, first.data());
    write_within(right, second.data());
    energy_of(space_, between.data(), first.data(), second.data(),
              size_left * size_right / (size_left + size_right), height);
}

void MergedPairs::write_within(std::size_t node, double* mean) const {
    const double size = forest_.size[node];
    for (std::size_t c = 0; c < space_.width(); ++c) mean[c] = 2.0 / (size * size) * total(node)[c];
}

// Sums, or extremes, over the pairs of points of every pair of slots; false if a value moves too
// much, or if it was stopped.
bool fill_table(const Box& box, const PolynomialSpace& space, const Ties& ties, const Start& start,
                RecordMaker& maker, const Features& features, Table& table, StopToken& stop) {
    const std::size_t width = space.width(), n = box.n_points;
    const auto& slots = start.slots;
    std::vector<double> record(width);
    std::vector<bool> begun(box.kind == Kind::min_max ? table.extremes.size() : 0, false);
    std::size_t i = 0;
    for (std::size_t a = 0; a < n; ++a) {
        if (stop.stop_requested()) return false;
        for (std::size_t b = 0; b < a; ++b) {
            if (slots[a] == slots[b]) continue;
            if (!maker.make(features.row(i++), record.data())) return false;
            const auto x = static_cast<std::size_t>(slots[a]);
            const auto z = static_cast<std::size_t>(slots[b]);
            double* pair = table(x, z);
            if (box.kind != Kind::min_max) {
                add(pair, record.data(), width);
                continue;
            }
            const std::size_t place = triangle(x, z);
            const auto points = static_cast<std::int64_t>(a * n + b);
            space.set_spread(record.data());
            if (!begun[place]) {
                begun[place] = true;
                table.extremes[place] = {points, points};
                add(pair + width, record.data(), width);
                add(pair + 2 * width, record.data(), width);
                continue;
            }
            for (std::size_t larger = 0; larger < 2; ++larger) {
                std::int64_t& extreme = table.extremes[place][larger];
                extreme = take_extreme(space, ties, larger == 1, pair + (1 + larger) * width,
                                       extreme, record.data(), points);
            }
        }
    }
    return true;
}

// Makes values of sums or extremes.
void finish_table(const PolynomialSpace& space, const Start& start, Table& table, StopToken& stop) {
    const std::size_t width = space.width();
    const auto size = [&](std::size_t slot) -> double {
        return start.forest.size[start.nodes[slot]];
    };
    for (std::size_t x = 0; x < table.n_slots && !stop.stop_requested(); ++x) {
        for (std::size_t z = 0; z < x; ++z) {
            double* pair = table(x, z);
            const double count = size(x) * size(z);
            for (std::size_t c = 0; c < width; ++c) {
                pair[c] = table.kind == Kind::min_max ? pair[width + c] + pair[2 * width + c]
                                                      : pair[c] / count;
            }
            if (table.kind == Kind::energy) {
                std::copy(pair, pair + width, pair + width);
                set_energy(space, table, x, z, size(x), size(z));
            } else {
                space.set_spread(pair);
            }
        }
    }
}

}  // namespace

void set_energy(const PolynomialSpace& space, Table& table, std::size_t x, std::size_t z,
                double size_x, double size_z) {
    double* pair = table(x, z);
    energy_of(space, pair + table.width, table.within_slot(x), table.within_slot(z),
              size_x * size_z / (size_x + size_z), pair);
}

Models make_models(const Box& box, const PolynomialSpace& space, const Ties& ties,
                   const Start& start, bool with_heights, StopToken& stop) {
    Models models;
    // Where all is merged, heights of these merges may still have to be compared.
    const bool is_one = start.nodes.size() == 1;
    const Features features = features_of(box, is_one ? box.twins : start.slots, stop);
    if (stop.ended()) return models;
    models.movements = movements_of(box, space, features);
    models.table = Table(box.kind, start.nodes.size(), space.width());
    RecordMaker maker(box, space, features);
    if (!fill_table(box, space, ties, start, maker, features, models.table, stop)) return models;
    if (with_heights || box.kind == Kind::energy) {
        MergedPairs merged(box, space, ties, maker, start.forest);
        if (!merged.make(with_heights, stop)) return models;
        models.heights = std::move(merged.heights);
        if (box.kind == Kind::energy) {
            for (std::size_t slot = 0; slot < start.nodes.size(); ++slot) {
                merged.write_within(start.nodes[slot], models.table.within_slot(slot));
            }
        }
    }
    finish_table(space, start, models.table, stop);
    models.complete = !stop.ended();
    return models;
}

}  // namespace certune::linkage::boxes
