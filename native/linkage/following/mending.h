#pragma once

// Mend a tree from the stage on at which a merge fails.
//
// The old merges are replayed. One is kept if no *fresh* cluster, one that the old tree does not
// have at that stage, comes between; otherwise its parts become fresh. Fresh clusters that are
// nearest to each other are merged, and a union with the members of an old node takes its place.

#include <cstdint>
#include <vector>

#include "linkage/following/proving.h"
#include "linkage/tree/costs.h"

namespace certune::linkage {

class Mender {
   public:
    Mender(const Source& source, FollowedTree& tree, TreeRecords& records, Chords* chords,
           Prover& prover, Costs& costs);

    // Proves the tree from t on, or builds one if there is none; true if that succeeds.
    bool build(double t, const Meetings& meetings);
    // Builds the tree from t on after a merge that fails there; all other proofs are trusted as far
    // as they do not concern fresh clusters. Guesses are made near `guess`.
    bool mend(int failed, double t, double guess);
    // Orders the merges by their values near a share of the panel.
    void sort_by_height(double share);
    // Brings costs and prunings up to date from a stage on; returns whether there is a cluster that
    // the tree before did not have.
    bool refresh(int first_stage);

   private:
    static constexpr int nobody = -1;
    struct Flags {
        std::uint8_t formed = 0;   // was it made in this repair?
        std::uint8_t changed = 0;  // has it other children now?
        std::uint8_t born = 0;     // has it other members?
        std::uint8_t dropped = 0;  // does the old node not come about any more?
    };
    struct Two {
        int x, y;
    };
    struct NewNode {
        int node;
        bool is_new;  // does the old tree not have it at this stage?
    };

    bool replay(int first, int failed, double t, double guess);
    bool keep(int node, bool trusted, double t, bool& kept);
    void drop(int node, bool reused);
    bool merge_fresh(double t, bool proving);
    bool pair_up();
    Two next_fresh() const;
    int nearest_alive(int x);
    void guess_among_fresh(int x, int partner);
    bool lost_nearest(int p, int q) const;
    void make(int node, bool is_fresh);
    NewNode new_node(int p, int q);
    int old_node_of(int p, int q);
    bool same_members(int p, int q, int node);
    int unused_node();
    void fill_row(int node, bool keep);
    void fill_fresh(int node);

    const Source& source_;
    FollowedTree& tree_;
    TreeRecords& records_;
    Chords* chords_;
    Prover& prover_;
    Roster& roster_;
    Costs& costs_;
    std::vector<Flags> flags_;
    std::vector<int> queue_;            // the old merges
    std::vector<std::uint64_t> codes_;  // and their hashes
    std::vector<std::uint8_t> mark_;    // per point
    std::vector<double> heights_, values_;
    std::vector<Doubt> doubts_;
    Glimpse glimpse_{0.0};
    double guess_share_ = 0.0;
    int n_made_ = 0;
    int n_wrong_ = 0;  // guesses that were wrong
};

}  // namespace certune::linkage
