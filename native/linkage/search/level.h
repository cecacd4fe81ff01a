#pragma once

// Levels of a search: intervals on the way down from a panel, and what is known on each.
//
// The search goes down a binary tree of intervals. A level has its interval, the frame that models
// values there, the clusters that are left, and how far the search has come. The level below starts
// from that: on the slots of the same frame, or on slots of its own.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "linkage/compare/evidence.h"
#include "linkage/models/frame.h"
#include "linkage/search/leaves.h"

namespace certune::linkage {

// Why the nearest slot of a row is not known: two rivals, and where their order changes (in t).
struct Obstacle {
    enum class Kind : std::uint8_t { none, crossing, too_wide };
    int near = -1, rival = -1;            // slots
    int near_node = -1, rival_node = -1;  // the obstacle is gone when one of them is merged
    Zone zone;
};

// What is known about each slot of a frame on the interval of a level.
struct Slots {
    std::vector<int> active;   // slots with a cluster, in ascending order
    std::vector<int> node;     // of the tree, -1 if the slot is empty
    std::vector<int> nearest;  // a guess, or the truth if resolved; -1: none
    std::vector<std::uint8_t> resolved;
    std::vector<Obstacle::Kind> blocked;
    std::vector<Obstacle> obstacle;

    void resize(std::size_t count);
    bool still_blocked(int x) const {
        const Obstacle& by = obstacle[at(x)];
        return node[at(by.near)] == by.near_node && node[at(by.rival)] == by.rival_node;
    }
    void unblock(int x) { blocked[at(x)] = Obstacle::Kind::none; }
    // Takes slot y, merged into x, out of the active ones; forgets what pointed at x or y.
    void take_out(int y, int x);
    static std::size_t at(int slot) { return static_cast<std::size_t>(slot); }
};

// Records of the values at which nodes of the tree were merged, for plain cuts. Those of energies
// are three: between the two children, and within each.
struct Heights {
    Reading reading;
    Interval interval;
    int width = 0;  // numbers of one, 0 if nobody asks for them
    std::vector<double> records;
    std::vector<std::uint8_t> known;

    bool knows(int node) const { return known[static_cast<std::size_t>(node)] != 0; }
    double* of(int node) {
        return records.data() + static_cast<std::size_t>(node) * static_cast<std::size_t>(width);
    }
    const double* of(int node) const { return const_cast<Heights*>(this)->of(node); }
    void forget() { std::fill(known.begin(), known.end(), std::uint8_t{0}); }
    // Takes the record at which slots x and y of a frame are merged.
    void take(int node, const Frame& frame, int x, int y);
    // Cuts records of polynomials that are known to a part of their interval.
    void restrict_to(Interval part);
};

struct Level {
    enum class Stage { merging, left, right };

    Interval interval;
    Interval frame_interval;  // may be wider
    Reading reading;
    double built = 0.0;      // width of the interval on which the models were built
    std::size_t offset = 0;  // where the frame starts in the pool
    int n_slots = 0;
    int n_nodes = 0;                // of the tree
    int n_settled = 0;              // comparisons settled on the branch
    std::array<bool, 2> may_tie{};  // may an order "just inside" an end be asked for?
    std::array<std::int64_t, 2> splits{no_split, no_split};  // at the ends
    Stage stage = Stage::merging;
    std::int64_t cut = no_split;  // the split between the parts
    double position = 0.0;        // where the interval is cut if there is none
    int at_end = 0;               // splits in a row whose zones reach an end of the interval
    int in_narrow = 0;  // splits whose zones fill much of an interval that is not cut any more
    std::int64_t choice = 0;     // for the trail: the open choice, 0 if the frame is not shared
    std::size_t trail_mark = 0;  // entries of the trail before the parts were searched
    Slots slots;
    Heights heights;

    // Begins the part of a level on one side of its cut.
    void begin_part(const Level& above, bool to_left, const LeafStore& found);
    // Uses the frame and slots of the level above, as the open choice with this number.
    void share_frame(const Level& above, std::int64_t open_choice);
    // Takes slots of its own, in a frame behind that of the level above.
    void renumber_slots(const Level& above, int width);
};

// Records that merges overwrote since the last open choice, to be put back.
class Trail {
   public:
    explicit Trail(int slots) : saved_(static_cast<std::size_t>(slots), 0) {}

    std::size_t size() const { return places_.size(); }
    // Saves the row of slot x and its diagonal, unless this was done since the choice was opened
    // (0: none is open).
    void save_row(std::int64_t choice, const Frame& frame, int x, std::span<const int> active);
    // Puts back what was saved since the trail had so many entries.
    void rewind(std::size_t mark, const Frame& frame);

   private:
    struct Place {
        int x, z;
    };
    std::vector<Place> places_;
    std::vector<std::array<double, degree>> records_;
    std::vector<std::int64_t> saved_;  // the choice for which the row of a slot was saved
};

}  // namespace certune::linkage
