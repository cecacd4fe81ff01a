#pragma once

// Plain cuts: which clusters a finished tree has before its last k - 1 merges, or before the merge
// of its ruler, on an interval.
//
// Merges come in the order of their heights, equal ones in that of the tie rule, and the height of
// a node exceeds those below it (docs/theory/linkage-sweep.md). So the last merges are an upper
// part of the tree. A guess of it is proved by comparisons of its lowest nodes with the highest
// ones below it; all other orders are left open, since they do not change the clusters. With a
// ruler, which is one of the last merges, all others are compared with that one only.

#include <cstdint>
#include <span>
#include <vector>

#include "linkage/search/deciding.h"
#include "linkage/search/level.h"
#include "linkage/search/merging.h"
#include "linkage/tree/tree.h"
#include "stop_token.h"

namespace certune::linkage {

// A comparison whose order changes inside an interval, and where.
struct OpenChange {
    Zone zone;
    Comparison comparison;
};

class Cutting {
   public:
    Cutting(const Source& source, const Tree& tree, Decider& decider, const Pruning& pruning,
            StopToken& stop);

    // Finds the clusters on the interval of a level whose merges are all done; else says why it
    // cannot be done there.
    Progress run(Level& level, bool is_point);
    // What `run` has found: labels in the order of lowest member indices, or the change.
    void write_labels(std::span<std::int64_t> labels) const;
    const OpenChange& change() const { return change_; }

   private:
    enum class Proof { holds, exchanged, crossing, too_wide, hopeless };

    static std::size_t at(int node) { return static_cast<std::size_t>(node); }
    bool is_chosen(int node) const { return role_[at(node)] == Role::chosen; }
    bool is_one_place(int node) const;
    bool has_height(int node) const { return tree_.size[at(node)] > 1 && !is_one_place(node); }
    bool is_below(int node, int other) const;
    void choose(const Level& level, bool by_records, double t);
    void set_open();
    bool knows_all(const Heights& heights) const;
    double guess(const Heights& heights, int node, double t) const;
    void rebuild(Level& level);
    Comparison compare(const Heights& heights, int lower, int upper) const;
    bool has_chosen_enough() const;
    Proof prove(const View& view, const Heights& heights, int lower, int upper);
    Proof prove_last(const Level& level, bool is_point);
    Proof prove_by_ruler(const Level& level, bool is_point);

    enum class Role : std::uint8_t { none, open, chosen };

    const Source& source_;
    const Tree& tree_;
    Decider& decider_;
    StopToken& stop_;
    std::size_t k_;
    bool has_ruler_;
    int ruler_ = -1;
    std::vector<int> chosen_;  // the last merges
    std::vector<int> open_;    // the highest nodes below them
    std::vector<Role> role_;
    std::vector<double> guess_;
    int root_ = -1;
    OpenChange change_;
    Buffer<double> room_;
    std::vector<std::int64_t> labels_;
};

}  // namespace certune::linkage
