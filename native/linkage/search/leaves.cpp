#include "linkage/search/leaves.h"

#include <algorithm>

namespace certune::linkage {

std::int64_t LeafStore::add(const Split& split) {
    splits_.push_back(split);
    marks_.resize(splits_.size() * n_points_);
    return n_splits() - 1;
}

void LeafStore::keep_splits(std::int64_t count) {
    splits_.resize(static_cast<std::size_t>(count));
    marks_.resize(splits_.size() * n_points_);
}

std::span<std::uint8_t> LeafStore::marks_of(std::int64_t split) {
    return std::span(marks_).subspan(static_cast<std::size_t>(split) * n_points_, n_points_);
}

bool LeafStore::is_partition(std::int64_t number, std::span<const std::int64_t> labels) const {
    const auto own =
        std::span(partitions_).subspan(static_cast<std::size_t>(number) * n_points_, n_points_);
    return std::equal(own.begin(), own.end(), labels.begin());
}

std::int64_t LeafStore::number_of(std::span<const std::int64_t> labels) {
    std::uint64_t hash = 0;
    for (const auto label : labels) {
        hash = (hash ^ static_cast<std::uint64_t>(label)) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    for (std::size_t i = hashes_.size(); i-- > 0;) {
        const auto number = static_cast<std::int64_t>(i);
        if (hashes_[i] == hash && is_partition(number, labels)) return number;
    }
    hashes_.push_back(hash);
    partitions_.insert(partitions_.end(), labels.begin(), labels.end());
    return static_cast<std::int64_t>(hashes_.size()) - 1;
}

}  // namespace certune::linkage
