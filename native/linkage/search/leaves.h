#pragma once

// What a search or a tree that is followed has found: leaves, splits and partitions.

#include <cstdint>
#include <span>
#include <vector>

#include "linkage/compare/evidence.h"
#include "linkage/models/pair_functions.h"
#include "matrix_view.h"

namespace certune::linkage {

inline constexpr std::int64_t no_split = -1;  // the interval ends at an edge, or at a plain cut
inline constexpr std::int64_t no_partition = -1;

// A change of order of two cluster pairs: its zone (in t), and the splits at both ends of the
// interval that it splits.
struct Split {
    Zone zone;
    std::int64_t before = no_split;
    std::int64_t after = no_split;
};

// An interval with one tree, pruned to a partition; where leaves overlap the tree is one of theirs.
struct Leaf {
    Interval interval;
    std::int64_t before = no_split;
    std::int64_t after = no_split;
    std::int64_t partition = no_partition;  // or undecided
};

class LeafStore {
   public:
    explicit LeafStore(int n_points) : n_points_(static_cast<std::size_t>(n_points)) {}

    void add(const Leaf& leaf) { leaves_.push_back(leaf); }
    // Adds a split, whose comparison has the members that are then marked in `marks_of`.
    std::int64_t add(const Split& split);
    void set_split(std::int64_t number, const Split& split) {
        splits_[static_cast<std::size_t>(number)] = split;
    }
    // Forgets the splits from a number on.
    void keep_splits(std::int64_t count);
    std::span<std::uint8_t> marks_of(std::int64_t split);
    // Number of a partition among those seen, or that of a new one.
    std::int64_t number_of(std::span<const std::int64_t> labels);
    bool is_partition(std::int64_t number, std::span<const std::int64_t> labels) const;

    const Split& split(std::int64_t number) const {
        return splits_[static_cast<std::size_t>(number)];
    }
    std::int64_t n_splits() const { return static_cast<std::int64_t>(splits_.size()); }
    const std::vector<Leaf>& leaves() const { return leaves_; }
    const std::vector<Split>& splits() const { return splits_; }
    // Rows of all marks, and of all partitions.
    std::vector<std::uint8_t> take_marks() { return std::move(marks_); }
    std::vector<std::int64_t> take_partitions() { return std::move(partitions_); }
    std::size_t n_partitions() const { return hashes_.size(); }

   private:
    std::size_t n_points_;
    std::vector<Leaf> leaves_;
    std::vector<Split> splits_;
    std::vector<std::uint8_t> marks_;
    std::vector<std::int64_t> partitions_;
    std::vector<std::uint64_t> hashes_;
};

}  // namespace certune::linkage
