#include "linkage/models/averages.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "numeric/exponentials.h"
#include "numeric/simd8.h"

namespace certune::linkage {

namespace {

constexpr double zeros[degree] = {};

// Models of the pairs of one point: weight p(factor) each, where p has a table.
struct RowOfModels {
    const double* table;
    const double* weights;
    const double* factors;
    const int* slot;
    int count;
};

// Adds the models of a row to the records of their slots; the first one of a slot starts it.
//
// Polynomial 7 - j is polynomial j mirrored at 0: even parts (lanes 0-3 of the table) and odd parts
// (lanes 4-7) are found by one Horner's rule in factor^2. Every step is one fused operation, here
// and in the version for vectors, so that both give the same bits.
CERTUNE_PLAIN void add_models(const RowOfModels& models, double* target) {
    constexpr int half = degree / 2;
    int last = -1;
    for (int j = 0; j < models.count; ++j) {
        double* record = target + degree * models.slot[j];
        const double* base = models.slot[j] == last ? record : zeros;
        last = models.slot[j];
        const double factor = models.factors[j], weight = models.weights[j];
        const double square = factor * factor;
        for (int lane = 0; lane < half; ++lane) {
            const double* table = models.table + (terms / 2 - 1) * degree + lane;
            double even = table[0], odd = table[half];
            for (int row = terms / 2 - 2; row >= 0; --row) {
                table -= degree;
                even = std::fma(even, square, table[0]);
                odd = std::fma(odd, square, table[half]);
            }
            const int mirrored = degree - 1 - lane;
            const double rising = std::fma(factor, odd, even);
            const double falling = std::fma(-factor, odd, even);
            record[lane] = std::fma(weight, rising, base[lane]);
            record[mirrored] = std::fma(weight, falling, base[mirrored]);
        }
    }
}

#ifdef CERTUNE_VECTORS
CERTUNE_VECTORS void add_models(const RowOfModels& models, double* target) {
    constexpr int half = degree / 2;
    int last = -1;
    for (int j = 0; j < models.count; ++j) {
        double* record = target + degree * models.slot[j];
        const double* base = models.slot[j] == last ? record : zeros;
        last = models.slot[j];
        const __m256d factor = _mm256_set1_pd(models.factors[j]);
        const __m256d weight = _mm256_set1_pd(models.weights[j]);
        const __m256d square = _mm256_mul_pd(factor, factor);
        const double* table = models.table + (terms / 2 - 1) * degree;
        __m256d even = _mm256_loadu_pd(table), odd = _mm256_loadu_pd(table + half);
        for (int row = terms / 2 - 2; row >= 0; --row) {
            table -= degree;
            even = _mm256_fmadd_pd(even, square, _mm256_loadu_pd(table));
            odd = _mm256_fmadd_pd(odd, square, _mm256_loadu_pd(table + half));
        }
        const __m256d rising = _mm256_fmadd_pd(factor, odd, even);
        const __m256d falling =
            _mm256_permute4x64_pd(_mm256_fnmadd_pd(factor, odd, even), 0b00011011);
        _mm256_storeu_pd(record, _mm256_fmadd_pd(weight, rising, _mm256_loadu_pd(base)));
        _mm256_storeu_pd(record + half,
                         _mm256_fmadd_pd(weight, falling, _mm256_loadu_pd(base + half)));
    }
}
#endif

CERTUNE_HOT void add_rows(const double* other, int count, double* row) {
    for (int i = 0; i < count; ++i) row[i] += other[i];
}

// Fills a record for each slot before x with the sum over its members and one point of slot x.
class RowBuilder {
   public:
    RowBuilder(const Source& source, std::span<const std::int64_t> labels, const ModelPlan& plan,
               const MembersByLabel& members)
        : source_(source),
          plan_(plan),
          members_(members.members),
          slot_(labels.size()),
          weights_(labels.size()),
          factors_(labels.size()),
          half_(0.5 * plan.interval.width()),
          centre_(plan.interval.low + half_),
          unscale_(std::exp(-plan.scale)) {
        for (std::size_t j = 0; j < members_.size(); ++j) {
            slot_[j] = static_cast<int>(labels[static_cast<std::size_t>(members_[j])]);
        }
    }

    // The first `count` of the points sorted by slot, against one point; from `own` on they are in
    // its slot, where identical ones count as 0.
    void sum(int point, int count, int own, double* target) {
        const auto row = static_cast<std::size_t>(point);
        const auto first = source_.pairs.first.row(row), second = source_.pairs.second.row(row);
        if (source_.pairs.mode == Mode::moving) {
            sum_moving(point, count, own, target);
            return;
        }
        if (source_.pairs.mode == Mode::affine) {
            for (int j = 0; j < count; ++j) {
                const auto b = static_cast<std::size_t>(members_[static_cast<std::size_t>(j)]);
                const double rate = second[b] - plan_.scale;
                weights_[static_cast<std::size_t>(j)] = first[b] - source_.offset + centre_ * rate;
                factors_[static_cast<std::size_t>(j)] = half_ * rate;
            }
        } else {
            const double slope = source_.pairs.power.slope * half_;
            const double bend = plan_.box_cox ? 1.0 : source_.pairs.power.at(centre_);
            for (int j = 0; j < count; ++j) {
                const auto b = static_cast<std::size_t>(members_[static_cast<std::size_t>(j)]);
                const double difference = first[b] - plan_.scale;
                weights_[static_cast<std::size_t>(j)] = bend * difference;
                factors_[static_cast<std::size_t>(j)] = slope * difference;
            }
        }
        if (!plan_.box_cox)
            numeric::exponentials({weights_.data(), static_cast<std::size_t>(count)});
        for (int j = own; j < count; ++j) {
            const auto place = static_cast<std::size_t>(j);
            if (source_.pairs.identical(point, members_[place])) weights_[place] = 0.0;
        }
        const auto& table = plan_.box_cox ? difference_quotient_table : exponential_table;
        add_models({table.data(), weights_.data(), factors_.data(), slot_.data(), count}, target);
    }

   private:
    void sum_moving(int point, int count, int own, double* target) {
        const auto row = static_cast<std::size_t>(point);
        const auto first = source_.pairs.first.row(row), second = source_.pairs.second.row(row);
        const MovingPower moving{source_.pairs.power.at(centre_), source_.pairs.power.slope, half_,
                                 plan_.box_cox};
        Taylor series;
        int last = -1;
        for (int j = 0; j < count; ++j) {
            const auto b = static_cast<std::size_t>(members_[static_cast<std::size_t>(j)]);
            const int slot = slot_[static_cast<std::size_t>(j)];
            double* record = target + degree * slot;
            if (slot != last) std::fill_n(record, degree, 0.0);
            last = slot;
            if (j >= own && source_.pairs.identical(point, static_cast<int>(b))) continue;
            moving.series((first[b] + centre_ * second[b]) * unscale_, second[b] * unscale_,
                          series);
            add_series(series, record);
        }
    }

    const Source& source_;
    const ModelPlan& plan_;
    const std::vector<int>& members_;
    std::vector<int> slot_;
    std::vector<double> weights_, factors_;
    double half_, centre_, unscale_;
};

}  // namespace

void build_averages(const AverageTable& table, const Source& source,
                    std::span<const std::int64_t> labels, const ModelPlan& plan, StopToken& stop) {
    const MembersByLabel members(labels, table.slots);
    RowBuilder builder(source, labels, plan, members);
    const bool within = source.kind == Kind::energy;
    std::vector<double> other(static_cast<std::size_t>(table.slots) * degree);
    for (int x = 0; x < table.slots; ++x) {
        const int before = members.start[static_cast<std::size_t>(x)];
        double* row = table.row(x);
        // Sums over the members of z, then over those of x: shallow, see `model_error`.
        int n_seen = 0;
        for (const int point : members.of(x)) {
            if (stop.stop_requested()) return;
            // Members of x that were seen are looked at for the mean within it.
            const int count = within ? before + n_seen : before;
            builder.sum(point, count, before, n_seen == 0 ? row : other.data());
            if (n_seen == 0 && within) std::fill_n(row + degree * x, degree, 0.0);
            if (n_seen > 0) add_rows(other.data(), (within ? x + 1 : x) * degree, row);
            ++n_seen;
        }
        const auto size = static_cast<double>(members.of(x).size());
        if (within) {
            double* own = row + degree * x;
            simd8::scale(own, 2.0 / (size * size), own, own);
        } else if (table.mirrored) {
            std::fill_n(row + degree * x, degree, 1.0);
        }
        for (int z = 0; z < x; ++z) {
            const double weight = size * static_cast<double>(members.of(z).size());
            if (table.mirrored || weight > 1.0) {
                simd8::scale(table.record(x, z), 1.0 / weight, table.record(x, z),
                             table.mirror(x, z));
            }
        }
    }
}

void build_point_averages(const AverageTable& table, MatrixView<const double> values,
                          std::span<const std::int64_t> labels) {
    const MembersByLabel members(labels, table.slots);
    for (int x = 0; x < table.slots; ++x) {
        // The mean within a cluster, which energies need.
        double own = 0.0;
        for (const int a : members.of(x)) {
            double part = 0.0;
            for (const int b : members.of(x)) {
                if (b != a) {
                    part += values(static_cast<std::size_t>(a), static_cast<std::size_t>(b));
                }
            }
            own += part;
        }
        const auto size = static_cast<double>(members.of(x).size());
        std::fill_n(table.row(x) + degree * x, degree, own / (size * size));
        for (int z = x + 1; z < table.slots; ++z) {
            double total = 0.0;
            for (const int b : members.of(z)) {
                double part = 0.0;
                for (const int a : members.of(x)) {
                    part += values(static_cast<std::size_t>(a), static_cast<std::size_t>(b));
                }
                total += part;
            }
            const auto size_x = static_cast<double>(members.of(x).size());
            const double mean = total / (size_x * static_cast<double>(members.of(z).size()));
            std::fill_n(table.record(z, x), degree, mean);
            std::fill_n(table.mirror(z, x), degree, mean);
        }
    }
}

Restriction::Restriction(double low, double high) {
    const double share = high > 0.0 ? low / high : 0.0;
    for (int source = 0; source < degree; ++source) {
        double* row = matrix.data() + source * degree;
        row[source] = 1.0;
        if (high < 1.0) {
            for (int r = 1; r < degree; ++r) {
                for (int k = degree - 1; k >= r; --k) {
                    row[k] = (1.0 - high) * row[k - 1] + high * row[k];
                }
            }
        }
        if (low > 0.0) {
            for (int r = 1; r < degree; ++r) {
                for (int k = 0; k < degree - r; ++k) {
                    row[k] = (1.0 - share) * row[k] + share * row[k + 1];
                }
            }
        }
    }
}

}  // namespace certune::linkage
