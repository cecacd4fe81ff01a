#include "graph/box_models.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace certune::graph {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Edges below exp(-fixed) of the largest weight count as constant on a box.
constexpr double fixed = 650.0;
// Exponents of strong edges may change by largest_reach at most; no edge may grow beyond
// exp(growth) times the largest weight at the centre, and no constant one beyond exp(-harmless).
constexpr double largest_reach = 60.0, growth = 40.0, harmless = 500.0;
// Reaches are enlarged so far that this share of them covers the rounding of an exponent.
constexpr double reach_rounding = 0x1p-20;
// Edges this much below all that are needed, in logarithms, are bounded node by node.
constexpr double weak = 30.0;
// Relative error of a weight, and slack for sums of non-negative terms.
constexpr double weight_error = 1e-12, slack = 1.0 + 1e-9;
// Rounds in which the bound of the remainder is improved.
constexpr int most_rounds = 24;
// Edges whose current would be lost in the rounding of Green functions are looked at one by one.
constexpr double tight = 1e-9;
// Green functions are accurate relatively, and where products underflow up to this.
constexpr double underflow = 1e-40;

using Numbers = std::vector<double>;

// A matrix that owns its memory.
struct Table {
    Table(std::size_t rows, std::size_t columns, double value = 0.0)
        : memory(rows * columns, value), n_columns(columns) {}

    double& operator()(std::size_t i, std::size_t j) { return memory[i * n_columns + j]; }
    double operator()(std::size_t i, std::size_t j) const { return memory[i * n_columns + j]; }
    double* row(std::size_t i) { return memory.data() + i * n_columns; }
    const double* row(std::size_t i) const { return memory.data() + i * n_columns; }
    std::size_t n_rows() const { return n_columns == 0 ? 0 : memory.size() / n_columns; }

    Numbers memory;
    std::size_t n_columns;
};

// Adds vector @ matrix to result, row by row: the same bits on every machine.
void apply(const Table& matrix, const Numbers& vector, double* result) {
    for (std::size_t i = 0; i < vector.size(); ++i) {
        const double value = vector[i];
        const double* row = matrix.row(i);
        for (std::size_t u = 0; u < matrix.n_columns; ++u) result[u] += value * row[u];
    }
}

// Bound of the change of a weight on the box.
double change_of(double log_weight, double reach) {
    if (reach < 0.5) return std::exp(log_weight) * std::expm1(reach);
    return std::exp(log_weight + reach);
}

// Bound of the change of a weight on the box beyond the first order.
double curve_of(double log_weight, double reach) {
    if (reach < 0.5) return std::exp(log_weight) * reach * reach / (2.0 - reach / 1.5);
    return std::exp(log_weight + reach);
}

bool has_model(double log_weight, double reach) {
    if (log_weight <= -fixed) return log_weight + reach <= -harmless;
    if (log_weight >= -strong_edge && reach > largest_reach) return false;
    return log_weight + reach <= growth;
}

// One edge: lengths in all metrics.
class EdgeLengths {
   public:
    EdgeLengths(const LabelledGraph& graph, std::size_t i, std::size_t j, bool labelled)
        : first_(labelled ? graph.to_labelled.data() + i * graph.n_labelled() + j
                          : graph.between.data() + i * graph.n_nodes() + j),
          step_(graph.n_nodes() * (labelled ? graph.n_labelled() : graph.n_nodes())) {}

    double operator[](std::size_t metric) const { return first_[metric * step_]; }

   private:
    const double* first_;
    std::size_t step_;
};

// Linear parts of one soft label at the vertices of the box (n_vertices, n), and their errors.
struct Linear {
    Table parts;
    Numbers errors;
};

// What a change of every rate does to the balance of the nodes, and its moduli on the box.
struct Residuals {
    Table changes;  // (n_metrics, n)
    Numbers moduli;
};

class BoxModeller {
   public:
    BoxModeller(const LabelledGraph& graph, const BoxCentre& centre, MatrixView<const double> moves,
                const ModelErrors& errors, StopToken& stop)
        : graph_(graph),
          centre_(centre),
          moves_(moves),
          errors_(errors),
          stop_(stop),
          n_(graph.n_nodes()),
          n_labelled_(graph.n_labelled()),
          inverse_(0, n_),
          among_(n_, n_, -infinity),
          to_(n_, n_labelled_, -infinity),
          means_(graph.n_metrics, 0.0),
          reach_(n_, n_),
          reach_to_(n_, n_labelled_),
          transfer_(n_, n_) {
        inverse_.memory = green_functions(centre.done, stop);
    }

    SoftModels models();

   private:
    double difference_to_label(const Numbers& soft, std::size_t i, std::size_t j,
                               std::size_t column) const {
        return soft[i] - (at(graph_.class_of[j]) == column ? 1.0 : 0.0);
    }
    EdgeLengths lengths(std::size_t i, std::size_t j, bool labelled) const {
        return {graph_, i, j, labelled};
    }
    bool is_tight(double weight, std::size_t i, std::size_t j) const;
    double reach(const EdgeLengths& lengths) const;
    double extent(const EdgeLengths& lengths) const;
    double slope(std::size_t i, std::size_t j, std::size_t u, double most) const;
    bool is_weak(double log_weight, double reach) const {
        return log_weight + reach < -centre_.needed - weak;
    }

    void fill_log_weights();
    Table moments();
    bool fill_reaches();
    void fill_transfer();
    Residuals residuals(const Numbers& soft, std::size_t column);
    Linear linear_parts(const Numbers& soft, const Residuals& residuals);
    void add_tight_edges(const Numbers& soft, Table& slopes, Numbers& error);
    Numbers remainders(const Numbers& soft, std::size_t column, const Linear& linear);
    void charge_nodes(const Numbers& soft, const Linear& linear, const Numbers& noise,
                      Numbers& errors, Numbers& own);
    void charge_labels(const Numbers& soft, std::size_t column, const Linear& linear,
                       const Numbers& noise, Numbers& own);
    Numbers fixed_point(const Numbers& errors, const Table& linear, const Numbers& noise);

    const LabelledGraph& graph_;
    const BoxCentre& centre_;
    MatrixView<const double> moves_;
    const ModelErrors& errors_;
    StopToken& stop_;
    std::size_t n_, n_labelled_;
    Table inverse_;           // Green functions
    Table among_, to_;        // shifted logarithms of weights; -infinity without an edge
    Numbers means_;           // of the lengths over a random spanning forest
    Table reach_, reach_to_;  // largest changes of the exponents on the box
    Table transfer_;          // (i, u): how much an error of one at node i can move node u
};

// Is the rounding of Green functions not small against the current through an edge?
bool BoxModeller::is_tight(double weight, std::size_t i, std::size_t j) const {
    return weight * (inverse_(i, i) + inverse_(j, j)) * errors_.green > tight;
}

// Largest change of the exponent of an edge over the vertices of the box. A common factor of all
// weights changes no soft label, so that lengths count relatively to their means.
double BoxModeller::reach(const EdgeLengths& lengths) const {
    double largest = 0.0;
    for (std::size_t v = 0; v < moves_.rows; ++v) {
        double change = 0.0;
        for (std::size_t k = 0; k < moves_.columns; ++k) {
            change += moves_(v, k) * (lengths[k] - means_[k]);
        }
        largest = std::max(largest, std::abs(change));
    }
    return largest;
}

// Bound of the terms of which the change of an exponent is the sum.
double BoxModeller::extent(const EdgeLengths& lengths) const {
    double largest = 0.0;
    for (std::size_t v = 0; v < moves_.rows; ++v) {
        double total = 0.0;
        for (std::size_t k = 0; k < moves_.columns; ++k) {
            total += std::abs(moves_(v, k) * (lengths[k] - means_[k]));
        }
        largest = std::max(largest, total);
    }
    return largest;
}

// Bound of the drop of the Green function of u along an edge, whose current is at most 1.
double BoxModeller::slope(std::size_t i, std::size_t j, std::size_t u, double most) const {
    const double first = inverse_(i, u), second = inverse_(j, u);
    const double drop = std::abs(first - second) + errors_.green * (first + second);
    return std::min(drop + underflow, most);
}

void BoxModeller::fill_log_weights() {
    const auto log_weight = [&](const EdgeLengths& lengths) {
        double total = centre_.shift;
        for (std::size_t k = 0; k < centre_.rates.size(); ++k) {
            total -= centre_.rates[k] * lengths[k];
        }
        return total;
    };
    for (std::size_t i = 0; i < n_ && !stop_.stop_requested(); ++i) {
        for (std::size_t j = i + 1; j < n_; ++j) {
            if (graph_.joined.nodes(i, j)) among_(i, j) = log_weight(lengths(i, j, false));
        }
        for (std::size_t j = 0; j < n_labelled_; ++j) {
            if (graph_.joined.labelled(i, j)) to_(i, j) = log_weight(lengths(i, j, true));
        }
    }
}

// Sets the means and returns the covariances of the lengths over a random spanning forest, in which
// an edge has Kirchhoff's share, weight times resistance. Taking the means away from the lengths is
// a common factor of all weights, which changes no label and keeps exponents small.
Table BoxModeller::moments() {
    const std::size_t n_metrics = graph_.n_metrics;
    Table products(n_metrics, n_metrics);
    double total = 0.0;
    const auto add = [&](const EdgeLengths& lengths, double share) {
        total += share;
        for (std::size_t k = 0; k < n_metrics; ++k) {
            means_[k] += share * lengths[k];
            for (std::size_t m = 0; m < n_metrics; ++m) {
                products(k, m) += share * lengths[k] * lengths[m];
            }
        }
    };
    for (std::size_t i = 0; i < n_ && !stop_.stop_requested(); ++i) {
        for (std::size_t j = i + 1; j < n_; ++j) {
            if (!(among_(i, j) > -fixed)) continue;
            const double resistance = inverse_(i, i) + inverse_(j, j) - 2.0 * inverse_(i, j);
            add(lengths(i, j, false), std::exp(among_(i, j)) * std::max(resistance, 0.0));
        }
        for (std::size_t j = 0; j < n_labelled_; ++j) {
            if (to_(i, j) > -fixed) add(lengths(i, j, true), std::exp(to_(i, j)) * inverse_(i, i));
        }
    }
    for (double& mean : means_) mean /= total;
    for (std::size_t k = 0; k < n_metrics; ++k) {
        for (std::size_t m = 0; m < n_metrics; ++m) {
            products(k, m) = products(k, m) / total - means_[k] * means_[m];
        }
    }
    return products;
}

// False if an exponent changes too much for a model.
bool BoxModeller::fill_reaches() {
    const double room = errors_.rounding / reach_rounding;
    for (std::size_t i = 0; i < n_ && !stop_.stop_requested(); ++i) {
        for (std::size_t j = i + 1; j < n_; ++j) {
            if (!(among_(i, j) > -infinity)) continue;
            reach_(i, j) = reach(lengths(i, j, false)) + room;
            if (!has_model(among_(i, j), reach_(i, j))) return false;
        }
        for (std::size_t j = 0; j < n_labelled_; ++j) {
            if (!(to_(i, j) > -infinity)) continue;
            reach_to_(i, j) = reach(lengths(i, j, true)) + room;
            if (!has_model(to_(i, j), reach_to_(i, j))) return false;
        }
    }
    return true;
}

void BoxModeller::fill_transfer() {
    for (std::size_t i = 0; i < n_ && !stop_.stop_requested(); ++i) {
        double* row = transfer_.row(i);
        for (std::size_t j = i + 1; j < n_; ++j) {
            if (among_(i, j) <= -fixed) continue;
            const double change = change_of(among_(i, j), reach_(i, j));
            double* column = transfer_.row(j);
            const bool node_by_node = is_weak(among_(i, j), reach_(i, j));
            const double most = node_by_node ? 0.0 : std::exp(-among_(i, j));
            for (std::size_t u = 0; u < n_; ++u) {
                const double part =
                    change * (node_by_node ? std::max(inverse_(i, u), inverse_(j, u))
                                           : slope(i, j, u, most));
                row[u] += part;
                column[u] += part;
            }
        }
        double own = 0.0;
        for (std::size_t j = 0; j < n_labelled_; ++j) {
            if (to_(i, j) > -fixed) own += change_of(to_(i, j), reach_to_(i, j));
        }
        for (std::size_t u = 0; u < n_; ++u) row[u] += own * inverse_(i, u);
    }
    for (double& entry : transfer_.memory) entry *= slack;
}

// Tight edges are left out.
Residuals BoxModeller::residuals(const Numbers& soft, std::size_t column) {
    const std::size_t n_metrics = graph_.n_metrics;
    Residuals found{Table(n_metrics, n_), Numbers(n_, 0.0)};
    for (std::size_t i = 0; i < n_ && !stop_.stop_requested(); ++i) {
        for (std::size_t j = i + 1; j < n_; ++j) {
            if (!(among_(i, j) > -fixed)) continue;
            const double weight = std::exp(among_(i, j));
            if (is_tight(weight, i, j)) continue;
            const EdgeLengths own = lengths(i, j, false);
            const double difference = soft[i] - soft[j];
            for (std::size_t k = 0; k < n_metrics; ++k) {
                const double change = weight * (own[k] - means_[k]) * difference;
                found.changes(k, i) += change;
                found.changes(k, j) -= change;
            }
            const double size = weight * extent(own) * std::abs(difference);
            found.moduli[i] += size;
            found.moduli[j] += size;
        }
        for (std::size_t j = 0; j < n_labelled_; ++j) {
            if (!(to_(i, j) > -fixed)) continue;
            const double weight = std::exp(to_(i, j));
            const EdgeLengths own = lengths(i, j, true);
            const double difference = difference_to_label(soft, i, j, column);
            for (std::size_t k = 0; k < n_metrics; ++k) {
                found.changes(k, i) += weight * (own[k] - means_[k]) * difference;
            }
            found.moduli[i] += weight * extent(own) * std::abs(difference);
        }
    }
    return found;
}

void BoxModeller::add_tight_edges(const Numbers& soft, Table& slopes, Numbers& error) {
    for (std::size_t i = 0; i < n_ && !stop_.stop_requested(); ++i) {
        for (std::size_t j = i + 1; j < n_; ++j) {
            if (among_(i, j) <= -fixed) continue;
            const double weight = std::exp(among_(i, j));
            if (!is_tight(weight, i, j)) continue;
            const EdgeLengths own = lengths(i, j, false);
            // The current through an edge is at most 1.
            const double most = slack / weight;
            const double size = weight * extent(own) * std::abs(soft[i] - soft[j]);
            for (std::size_t u = 0; u < n_; ++u) {
                const double first = inverse_(i, u), second = inverse_(j, u);
                const double drop = std::min(std::max(first - second, -most), most);
                const double unsure =
                    std::min(errors_.green * (first + second) + underflow, 2.0 * most);
                error[u] += size * unsure;
                for (std::size_t k = 0; k < graph_.n_metrics; ++k) {
                    const double change = weight * (own[k] - means_[k]) * (soft[i] - soft[j]);
                    slopes(k, u) += change * drop;
                }
            }
        }
    }
}

Linear BoxModeller::linear_parts(const Numbers& soft, const Residuals& residuals) {
    const std::size_t n_metrics = graph_.n_metrics;
    Table slopes(n_metrics, n_);
    Linear linear{Table(moves_.rows, n_), Numbers(n_, 0.0)};
    for (std::size_t k = 0; k < n_metrics; ++k) {
        const double* changes = residuals.changes.row(k);
        apply(inverse_, Numbers(changes, changes + n_), slopes.row(k));
    }
    apply(inverse_, residuals.moduli, linear.errors.data());
    for (double& error : linear.errors) error *= errors_.green;
    add_tight_edges(soft, slopes, linear.errors);
    for (std::size_t v = 0; v < moves_.rows; ++v) {
        for (std::size_t k = 0; k < n_metrics; ++k) {
            for (std::size_t u = 0; u < n_; ++u) linear.parts(v, u) += moves_(v, k) * slopes(k, u);
        }
    }
    return linear;
}

void BoxModeller::charge_nodes(const Numbers& soft, const Linear& linear, const Numbers& noise,
                               Numbers& errors, Numbers& own) {
    for (std::size_t i = 0; i < n_ && !stop_.stop_requested(); ++i) {
        for (std::size_t j = i + 1; j < n_; ++j) {
            const double log_weight = among_(i, j), reach = reach_(i, j);
            if (log_weight <= -fixed) continue;
            double step = 0.0;
            for (std::size_t v = 0; v < moves_.rows; ++v) {
                step = std::max(step, std::abs(linear.parts(v, i) - linear.parts(v, j)));
            }
            const double difference = std::abs(soft[i] - soft[j]) + 2.0 * errors_.soft;
            const double weight = std::exp(log_weight);
            double charge = curve_of(log_weight, reach) * difference;
            charge += change_of(log_weight, reach) * (step + noise[i] + noise[j]);
            charge += weight * reach * (2.0 * errors_.soft + weight_error * difference);
            charge += weight * errors_.rounding * difference;
            if (is_weak(log_weight, reach)) {
                own[i] += charge;
                own[j] += charge;
                continue;
            }
            const double most = std::exp(-log_weight);
            for (std::size_t u = 0; u < n_; ++u) errors[u] += charge * slope(i, j, u, most);
        }
    }
}

void BoxModeller::charge_labels(const Numbers& soft, std::size_t column, const Linear& linear,
                                const Numbers& noise, Numbers& own) {
    for (std::size_t i = 0; i < n_ && !stop_.stop_requested(); ++i) {
        double step = 0.0;
        for (std::size_t v = 0; v < moves_.rows; ++v) {
            step = std::max(step, std::abs(linear.parts(v, i)));
        }
        for (std::size_t j = 0; j < n_labelled_; ++j) {
            const double log_weight = to_(i, j), reach = reach_to_(i, j);
            if (log_weight <= -fixed) continue;
            const double difference =
                std::abs(difference_to_label(soft, i, j, column)) + errors_.soft;
            const double weight = std::exp(log_weight);
            double charge = curve_of(log_weight, reach) * difference;
            charge += change_of(log_weight, reach) * (step + noise[i]);
            charge += weight * reach * (errors_.soft + weight_error * difference);
            charge += weight * errors_.rounding * difference;
            own[i] += charge;
        }
    }
}

// How far a soft label can be from its linear model on the box, for every node.
Numbers BoxModeller::remainders(const Numbers& soft, std::size_t column, const Linear& linear) {
    // Errors of the linear parts, for the differences that enter the next order.
    Numbers noise = linear.errors;
    const double share = 2.0 * errors_.soft + reach_rounding + weight_error;
    apply(transfer_, Numbers(n_, share), noise.data());
    Numbers errors = linear.errors, own(n_, 0.0);
    charge_nodes(soft, linear, noise, errors, own);
    charge_labels(soft, column, linear, noise, own);
    apply(inverse_, own, errors.data());
    for (double& error : errors) error *= slack;
    return fixed_point(errors, linear.parts, noise);
}

// Improves the trivial bound of the error by error <= errors + error @ transfer.
Numbers BoxModeller::fixed_point(const Numbers& errors, const Table& linear, const Numbers& noise) {
    Numbers bound(n_);
    for (std::size_t u = 0; u < n_; ++u) {
        bound[u] = 1.0 + noise[u];
        for (std::size_t v = 0; v < moves_.rows; ++v) {
            bound[u] = std::max(bound[u], 1.0 + noise[u] + std::abs(linear(v, u)));
        }
    }
    for (int round = 0; round < most_rounds && !stop_.stop_requested(); ++round) {
        Numbers better(n_, 0.0);
        apply(transfer_, bound, better.data());
        bool gained = false;
        for (std::size_t u = 0; u < n_; ++u) {
            const double value = slack * better[u] + errors[u];
            if (!(value < bound[u])) continue;
            gained = gained || value < 0.99 * bound[u];
            bound[u] = value;
        }
        if (!gained) break;
    }
    for (double& entry : bound) entry += errors_.soft;
    return bound;
}

SoftModels BoxModeller::models() {
    const std::size_t n_classes = graph_.n_classes, n_vertices = moves_.rows;
    SoftModels result;
    fill_log_weights();
    result.spread = moments().memory;
    result.values.resize(n_vertices * n_ * n_classes);
    result.errors.resize(n_ * n_classes);
    if (!fill_reaches()) return result;
    fill_transfer();
    // The soft labels of two classes sum to 1.
    const bool two = n_classes == 2;
    for (std::size_t column = two ? 1 : 0; column < n_classes && !stop_.ended(); ++column) {
        Numbers soft(n_);
        for (std::size_t u = 0; u < n_; ++u) soft[u] = centre_.soft(u, column);
        const Linear linear = linear_parts(soft, residuals(soft, column));
        const Numbers remainder = remainders(soft, column, linear);
        for (std::size_t u = 0; u < n_; ++u) {
            result.errors[u * n_classes + column] = remainder[u];
            if (two) result.errors[u * n_classes] = remainder[u];
            for (std::size_t v = 0; v < n_vertices; ++v) {
                double* value = result.values.data() + (v * n_ + u) * n_classes;
                value[column] = soft[u] + linear.parts(v, u);
                if (two) value[0] = 1.0 - value[1];
            }
        }
    }
    result.exist = true;
    return result;
}

}  // namespace

SoftModels soft_models(const LabelledGraph& graph, const BoxCentre& centre,
                       MatrixView<const double> moves, const ModelErrors& errors, StopToken& stop) {
    return BoxModeller(graph, centre, moves, errors, stop).models();
}

}  // namespace certune::graph
