#pragma once

// Chords of records, for panels so narrow that records are close to them.
//
// The chord of a pair of clusters is the straight line between its values at both ends of the
// panel. Chords of averages are averages of chords, and stay as close to the averages, relatively:
// two numbers per pair decide most comparisons.
//
// They are kept as *keys*: the value times the sign of the order, less the smallest of all these.
// Keys are not negative, and smaller ones are nearer; single precision is enough for them, since
// what all values have in common has been taken away.

#include <cstdint>
#include <span>
#include <vector>

#include "linkage/following/followed_tree.h"
#include "linkage/following/panel.h"
#include "linkage/following/tree_records.h"
#include "numeric/buffer.h"
#include "stop_token.h"

namespace certune::linkage {

// A comparison that plain tests do not settle: of (row, its partner) with (row, rival).
struct Doubt {
    int row, rival;
};

// What a farther rival's key exceeds: a key times the factor plus the offset.
struct Bars {
    double factor = 1.0;
    double offset = 0.0;

    Bars() = default;
    // The keys of two nodes of that depth have one rounding at the start, three for each merge
    // (weight, product, sum), and three at a share of the panel.
    Bars(const Panel& panel, int depth);
};

class Chords {
   public:
    explicit Chords(int width);

    // Orders places by the stages at which nodes are merged: those alive together lie together.
    void place_nodes(const std::vector<int>& until);
    // Sets the chords of the first clusters from the model of their records on a part. Returns the
    // base of all keys and how large they get, or sets nothing if that is too large.
    struct Range {
        double base, largest;
    };
    Range evaluate_first(TreeRecords& records, const RecordModel& model, int n_first,
                         Interval part);
    void set_first(int n_first, double base, StopToken& stop);
    void set_panel(const Panel& panel);

    void nobody_alive();
    void set_alive(int node);
    void set_dead(int node);

    // Key of two nodes on their chord, at a share of the panel.
    double key_at(int a, int b, double share) const {
        const float* chord = chord_of(a, b);
        return (1.0 - share) * chord[0] + share * chord[1];
    }
    // Fills the chords of a union with all that are alive, or with some others.
    void unite(const FollowedTree& tree, int node, std::span<const int> alive);
    void unite_some(const FollowedTree& tree, int node, std::span<const int> others);
    // A node keeps no depth from before.
    void reset_depth(int node) { depth_[index(node)] = 0; }
    // Its chords are blended from those of its children; bars allow for the deepest of all.
    void deepen(const FollowedTree& tree, int node);

    // Nearest alive node of x, which is alive, at a share of the panel; -1 if there is none.
    int nearest(int x, double share);
    // Lists the doubts about p and q against all that are alive, or some rivals, from a share on.
    void list_doubts(int p, int q, double share, std::vector<Doubt>& doubts);
    void list_doubts(int p, int q, double share, std::span<const int> rivals,
                     std::vector<Doubt>& doubts) const;
    // Until where the chord of the rival is farther than the other, from a share on: infinite if to
    // the end of the part, -infinite if not at the start.
    double until(Doubt own, Doubt rival, double share) const;

   private:
    static std::size_t index(int place) { return static_cast<std::size_t>(place); }
    float* chord(int place, int other) {
        return keys_.data() + 2 * (index(place) * index(width_) + index(other));
    }
    const float* chord_of(int a, int b) const {
        return keys_.data() +
               2 * (index(place_[index(a)]) * index(width_) + index(place_[index(b)]));
    }
    struct Limits {
        double here, there;
    };
    Limits limits_of(int p, int q, double share) const;

    int width_;
    Panel panel_;
    Bars bars_;
    Buffer<float> keys_;        // at 2 (a width + b) for the nodes at places a and b
    std::vector<int> place_;    // of nodes
    std::vector<int> node_at_;  // node of a place
    std::vector<int> filled_;
    std::vector<float> absent_;  // per place: infinite if its node is not alive, else 0
    std::vector<int> crowd_;     // alive nodes per block of places
    std::vector<int> depth_;     // of nodes: merges behind their chords
    int deepest_ = 0;
    // Values of the first clusters at both ends of a part, and where they are from.
    struct End {
        std::vector<double> values;
        double t;
        Interval interval;
    };
    End low_, high_;
};

}  // namespace certune::linkage
