#include "linkage/following/chords.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "numeric/simd8.h"

namespace certune::linkage {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr float far_away = std::numeric_limits<float>::infinity();
constexpr double key_unit = 0x1p-24;
constexpr double least_key = 0x1p-120;  // more than keys lose where they underflow

// Keys of a row at a share of the panel; those of absent nodes are infinite.
struct KeyRow {
    const float* chords;
    const float* absent;
    float rest, share;
};

// Bits of those of sixteen rivals, from a place on, that do not clear both bars.
CERTUNE_PLAIN unsigned near_ones(const KeyRow& row, int place, float bar, float end_bar) {
    unsigned near = 0;
    for (int i = 0; i < key_block; ++i) {
        const float start = row.chords[2 * (place + i)], end = row.chords[2 * (place + i) + 1];
        const float away = row.absent[place + i];
        const float here = (row.rest * start + row.share * end) + away;
        const float there = end + away;
        const bool far = here > bar && there > end_bar;
        near |= static_cast<unsigned>(!far) << i;
    }
    return near;
}

// Place of the smallest key of a row, looking at crowded blocks only; -1 if all are infinite. Keys
// have the order of their bits.
CERTUNE_PLAIN int nearest_place(const KeyRow& row, const int* crowd, int n_blocks) {
    std::int32_t least = std::bit_cast<std::int32_t>(far_away);
    int found = -1;
    for (int block = 0; block < n_blocks; ++block) {
        if (crowd[block] == 0) continue;
        for (int place = block * key_block; place < (block + 1) * key_block; ++place) {
            const float line =
                row.rest * row.chords[2 * place] + row.share * row.chords[2 * place + 1];
            const auto key = std::bit_cast<std::int32_t>(line + row.absent[place]);
            if (key < least) {
                least = key;
                found = place;
            }
        }
    }
    return found;
}

#ifdef CERTUNE_VECTORS
struct EightKeys {
    __m256 start, end;
};

[[gnu::target("arch=x86-64-v3")]] inline EightKeys eight_keys(const float* chords) {
    const __m256 first = _mm256_loadu_ps(chords), second = _mm256_loadu_ps(chords + 8);
    const auto in_order = [](__m256 mixed) __attribute__((target("arch=x86-64-v3"))) {
        return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(mixed), 0xD8));
    };
    return {in_order(_mm256_shuffle_ps(first, second, 0x88)),
            in_order(_mm256_shuffle_ps(first, second, 0xDD))};
}

CERTUNE_VECTORS unsigned near_ones(const KeyRow& row, int place, float bar, float end_bar) {
    unsigned near = 0;
    for (int half = 0; half < 2; ++half) {
        const auto [start, end] = eight_keys(row.chords + 2 * (place + 8 * half));
        const __m256 away = _mm256_loadu_ps(row.absent + place + 8 * half);
        const __m256 line = _mm256_add_ps(_mm256_mul_ps(_mm256_set1_ps(row.rest), start),
                                          _mm256_mul_ps(_mm256_set1_ps(row.share), end));
        const __m256 far = _mm256_and_ps(
            _mm256_cmp_ps(_mm256_add_ps(line, away), _mm256_set1_ps(bar), _CMP_GT_OQ),
            _mm256_cmp_ps(_mm256_add_ps(end, away), _mm256_set1_ps(end_bar), _CMP_GT_OQ));
        near |= (~static_cast<unsigned>(_mm256_movemask_ps(far)) & 0xFFu) << (8 * half);
    }
    return near;
}

CERTUNE_VECTORS int nearest_place(const KeyRow& row, const int* crowd, int n_blocks) {
    const __m256i infinite = _mm256_set1_epi32(std::bit_cast<std::int32_t>(far_away));
    __m256i least = infinite, found = _mm256_set1_epi32(-1);
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256 rest = _mm256_set1_ps(row.rest), share = _mm256_set1_ps(row.share);
    for (int block = 0; block < n_blocks; ++block) {
        if (crowd[block] == 0) continue;
        for (int place = block * key_block; place < (block + 1) * key_block; place += 8) {
            const auto [start, end] = eight_keys(row.chords + 2 * place);
            const __m256 line =
                _mm256_add_ps(_mm256_mul_ps(rest, start), _mm256_mul_ps(share, end));
            const __m256i keys =
                _mm256_castps_si256(_mm256_add_ps(line, _mm256_loadu_ps(row.absent + place)));
            const __m256i nearer = _mm256_cmpgt_epi32(least, keys);
            least = _mm256_blendv_epi8(least, keys, nearer);
            const __m256i places = _mm256_add_epi32(_mm256_set1_epi32(place), lanes);
            found = _mm256_blendv_epi8(found, places, nearer);
        }
    }
    std::int32_t keys[8], places[8];
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(keys), least);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(places), found);
    int best = 0;
    for (int lane = 1; lane < 8; ++lane) {
        if (keys[lane] < keys[best] || (keys[lane] == keys[best] && places[lane] < places[best])) {
            best = lane;
        }
    }
    return places[best];
}
#endif

CERTUNE_HOT void blend_block(const float* first, float first_weight, const float* second,
                             float second_weight, float* out) {
    for (int i = 0; i < 2 * key_block; ++i) {
        out[i] = first_weight * first[i] + second_weight * second[i];
    }
}

CERTUNE_HOT Chords::Range evaluate(const double* records, const double* basis,
                                   std::vector<double>& values) {
    Chords::Range range{infinity, -infinity};
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = simd8::dot_in_order(records + degree * i, basis);
    }
    for (const double value : values) {
        range.base = value < range.base ? value : range.base;
        range.largest = value > range.largest ? value : range.largest;
    }
    return range;
}

}  // namespace

Bars::Bars(const Panel& panel, int depth) {
    const double error = (6.0 * depth + 16.0) * key_unit;
    const double rounding = (1.0 + error) / (1.0 - error) * (1.0 + 0x1p-20);
    factor = panel.key_factor * rounding;
    offset = panel.key_offset * rounding + least_key;
}

Chords::Chords(int width)
    : width_(width),
      keys_(2 * index(width) * index(width)),
      place_(index(width)),
      node_at_(index(width)),
      filled_(index(width)),
      absent_(index(width), far_away),
      crowd_(index(width / key_block), 0),
      depth_(index(width), 0) {
    std::fill_n(keys_.data(), keys_.size(), 1.0f);
    for (int node = 0; node < width; ++node) place_[index(node)] = node_at_[index(node)] = node;
    low_.t = high_.t = std::numeric_limits<double>::quiet_NaN();
}

void Chords::place_nodes(const std::vector<int>& until) {
    std::fill(filled_.begin(), filled_.end(), 0);
    const auto stage_of = [&](int node) {
        const int stage = until[index(node)];
        return index(stage >= 0 ? stage : width_ - 1);
    };
    for (int node = 0; node < width_; ++node) ++filled_[stage_of(node)];
    int total = 0;
    for (int& count : filled_) {
        const int own = count;
        count = total;
        total += own;
    }
    for (int node = 0; node < width_; ++node) {
        const int place = filled_[stage_of(node)]++;
        place_[index(node)] = place;
        node_at_[index(place)] = node;
    }
}

Chords::Range Chords::evaluate_first(TreeRecords& records, const RecordModel& model, int n_first,
                                     Interval part) {
    const std::size_t n_pairs = pair_place(n_first, 0);
    const auto is_at = [&](const End& end, double t) {
        return end.t == t && end.interval.low == model.interval.low &&
               end.interval.high == model.interval.high;
    };
    Range range{infinity, -infinity};
    for (const bool high_end : {false, true}) {
        End& end = high_end ? high_ : low_;
        const double t = high_end ? part.high : part.low;
        Range own{infinity, -infinity};
        if (!high_end && is_at(high_, t)) {
            // A part often starts where the one before ended.
            end = high_;
            for (const double value : end.values) {
                own.base = std::min(own.base, value);
                own.largest = std::max(own.largest, value);
            }
        } else {
            auto basis = basis_at((t - model.interval.low) / model.interval.width());
            for (double& b : basis) b *= model.reading.sign;
            end.values.resize(n_pairs);
            own = evaluate(records.all(), basis.data(), end.values);
            end.t = t;
            end.interval = model.interval;
        }
        range.base = std::min(range.base, own.base);
        range.largest = std::max(range.largest, own.largest);
    }
    return range;
}

void Chords::set_first(int n_first, double base, StopToken& stop) {
    std::size_t i = 0;
    for (int x = 0; x < n_first && !stop.stop_requested(); ++x) {
        for (int z = 0; z < x; ++z, ++i) {
            const auto start = static_cast<float>(low_.values[i] - base);
            const auto stop = static_cast<float>(high_.values[i] - base);
            const int a = place_[index(x)], b = place_[index(z)];
            for (float* own : {chord(a, b), chord(b, a)}) {
                own[0] = start;
                own[1] = stop;
            }
        }
    }
}

void Chords::set_panel(const Panel& panel) {
    panel_ = panel;
    std::fill(depth_.begin(), depth_.end(), 0);
    deepest_ = 0;
    bars_ = Bars(panel, 0);
}

void Chords::nobody_alive() {
    std::fill(absent_.begin(), absent_.end(), far_away);
    std::fill(crowd_.begin(), crowd_.end(), 0);
}

void Chords::set_alive(int node) {
    const int place = place_[index(node)];
    absent_[index(place)] = 0.0f;
    ++crowd_[index(place / key_block)];
}

void Chords::set_dead(int node) {
    const int place = place_[index(node)];
    absent_[index(place)] = far_away;
    --crowd_[index(place / key_block)];
}

void Chords::deepen(const FollowedTree& tree, int node) {
    int& depth = depth_[index(node)];
    depth = std::max({depth, 1 + depth_[index(tree.left[index(node)])],
                      1 + depth_[index(tree.right[index(node)])]});
    if (depth > deepest_) {
        deepest_ = depth;
        bars_ = Bars(panel_, depth);
    }
}

void Chords::unite(const FollowedTree& tree, int node, std::span<const int> alive) {
    const int p = tree.left[index(node)], q = tree.right[index(node)];
    const double total = tree.size[index(node)];
    const auto weight_p = static_cast<float>(tree.size[index(p)] / total);
    const auto weight_q = static_cast<float>(tree.size[index(q)] / total);
    const int own = place_[index(node)];
    const int first = place_[index(p)], second = place_[index(q)];
    for (std::size_t block = 0; block < crowd_.size(); ++block) {
        if (crowd_[block] == 0) continue;
        const int start = static_cast<int>(block) * key_block;
        blend_block(chord(first, start), weight_p, chord(second, start), weight_q,
                    chord(own, start));
    }
    for (const int other : alive) {
        const int place = place_[index(other)];
        const float* key = chord(own, place);
        float* mirror = chord(place, own);
        mirror[0] = key[0];
        mirror[1] = key[1];
    }
}

void Chords::unite_some(const FollowedTree& tree, int node, std::span<const int> others) {
    const int p = tree.left[index(node)], q = tree.right[index(node)];
    const double total = tree.size[index(node)];
    const auto weight_p = static_cast<float>(tree.size[index(p)] / total);
    const auto weight_q = static_cast<float>(tree.size[index(q)] / total);
    const int own = place_[index(node)];
    for (const int other : others) {
        const int place = place_[index(other)];
        const float* first = chord(place_[index(p)], place);
        const float* second = chord(place_[index(q)], place);
        float* key = chord(own, place);
        float* mirror = chord(place, own);
        for (int end = 0; end < 2; ++end) {
            const float value = weight_p * first[end] + weight_q * second[end];
            key[end] = value;
            mirror[end] = value;
        }
    }
}

// What the keys of farther rivals exceed at a share of the panel, and at its end.
Chords::Limits Chords::limits_of(int p, int q, double share) const {
    const float* own = chord_of(p, q);
    const double start_bar = bars_.factor * own[0] + bars_.offset;
    const double end_bar = bars_.factor * own[1] + bars_.offset;
    return {(1.0 - share) * start_bar + share * end_bar, end_bar};
}

int Chords::nearest(int x, double share) {
    const int place = place_[index(x)];
    absent_[index(place)] = far_away;
    const KeyRow row{chord(place, 0), absent_.data(), static_cast<float>(1.0 - share),
                     static_cast<float>(share)};
    const int near = nearest_place(row, crowd_.data(), static_cast<int>(crowd_.size()));
    absent_[index(place)] = 0.0f;
    return near < 0 ? -1 : node_at_[index(near)];
}

void Chords::list_doubts(int p, int q, double share, std::vector<Doubt>& doubts) {
    const auto [here, there] = limits_of(p, q, share);
    const auto bar = static_cast<float>(here), end_bar = static_cast<float>(there);
    doubts.clear();
    float& gone_p = absent_[index(place_[index(p)])];
    float& gone_q = absent_[index(place_[index(q)])];
    gone_p = gone_q = far_away;
    for (std::size_t block = 0; block < crowd_.size(); ++block) {
        if (crowd_[block] == 0) continue;
        const int start = static_cast<int>(block) * key_block;
        for (const int row : {p, q}) {
            const KeyRow keys{chord(place_[index(row)], 0), absent_.data(),
                              static_cast<float>(1.0 - share), static_cast<float>(share)};
            for (unsigned near = near_ones(keys, start, bar, end_bar); near != 0;
                 near &= near - 1) {
                doubts.push_back({row, node_at_[index(start + std::countr_zero(near))]});
            }
        }
    }
    gone_p = gone_q = 0.0f;
}

void Chords::list_doubts(int p, int q, double share, std::span<const int> rivals,
                         std::vector<Doubt>& doubts) const {
    const auto [here, there] = limits_of(p, q, share);
    const double rest = 1.0 - share;
    doubts.clear();
    for (const int rival : rivals) {
        if (rival == p || rival == q) continue;
        for (const int row : {p, q}) {
            const float* key = chord_of(row, rival);
            if (!(rest * key[0] + share * key[1] > here && key[1] > there)) {
                doubts.push_back({row, rival});
            }
        }
    }
}

double Chords::until(Doubt own, Doubt rival, double share) const {
    const float* near = chord_of(own.row, own.rival);
    const float* far = chord_of(rival.row, rival.rival);
    const double first = far[0] - near[0] * bars_.factor - bars_.offset;
    const double there = far[1] - near[1] * bars_.factor - bars_.offset;
    const double here = (1.0 - share) * first + share * there;
    if (!(here > 0.0)) return -infinity;
    if (there > 0.0) return infinity;
    const double part = share + (1.0 - share) * (here / (here - there)) * (1.0 - 0x1p-40);
    return panel_.part.low + part * (panel_.part.high - panel_.part.low);
}

}  // namespace certune::linkage
