#pragma once

// Which of two cluster pairs is nearer, on a whole interval: three-valued, never guessed.
//
// Both engines compare two records, that of (x, y) and that of (x, z), in the same way: Bernstein
// coefficients are the float filter (the two models differ by more than their error bound), and
// where they are mixed the zone is located in which the order changes.

#include <array>

#include "linkage/models/energies.h"
#include "linkage/models/frame.h"

namespace certune::linkage {

enum class Order {
    farther = -1,  // the second pair wins everywhere on the interval
    crossing = 0,  // the order changes; the zone holds every change
    nearer = 1,    // the first pair wins everywhere
    too_wide = 2,  // not decided on this interval; cut it
    hopeless = 4,  // the exact layer gave up: report the interval as undecided
};

inline Order order_of(bool nearer) { return nearer ? Order::nearer : Order::farther; }
inline bool is_settled(Order order) { return order == Order::nearer || order == Order::farther; }

// Where an order changes, as shares of an interval, and the orders (1: the first pair is nearer)
// before and behind it.
struct Zone {
    double low = 0.0;
    double high = 0.0;
    int before = 0;
    int after = 0;
};

// The two records that are compared; for energies also the means within the clusters.
struct RecordPair {
    const double* near = nullptr;   // of (x, y)
    const double* rival = nullptr;  // of (x, z)
    WithinPair near_within{}, rival_within{};
};

// Coefficients whose positivity proves (x, y) nearer, respectively farther, than (x, z).
struct Evidence {
    int count = degree;    // two for fixed extremes: the ends
    double largest = 0.0;  // bounds their absolute values
    std::array<double, degree> nearer, farther;

    Evidence(const Reading& reading, const RecordPair& pair);

    // Of energies: the smaller one is nearer.
    void weigh_energies(double error, const RecordPair& pair);
    // Restricts the coefficients of averages to a part of the interval.
    void restrict_to(const Restriction& part);
    void restrict_to(double low, double high);
    // Replaces what is known at one end (fixed extremes) by what is known at t.
    void move_end(const Reading& reading, const RecordPair& pair, bool high_end, double t);

    // What is proved: nearer or farther, crossing if it is mixed, too_wide if nothing is.
    Order verdict() const;
    // Order that one coefficient proves: 1, -1, or 0 if none.
    int sign_at(int k) const {
        const auto place = static_cast<std::size_t>(k);
        return nearer[place] > 0.0 ? 1 : farther[place] > 0.0 ? -1 : 0;
    }
};

// Coefficient k of the linkage value of a record; for fixed extremes k = 0, 1 is the end.
double lower_value(const Reading& reading, const double* record, int k);
double upper_value(const Reading& reading, const double* record, int k);

// Decides the order on [0, 1] from coefficients, or finds the zone where it changes.
Order locate(const Evidence& evidence, Zone& zone);

// The same for fixed extremes, where there is at most one root: an order proved at a point holds up
// to the end where the same is proved.
Order locate_extremes(const Reading& reading, const RecordPair& pair, Interval interval,
                      const Evidence& at_ends, Zone& zone);

// Is the polynomial with these coefficients proved positive on [low, high] of [0, 1]?
bool is_positive(const std::array<double, degree>& coefficients, double low, double high);

// Order that the values at t prove: 1, -1, or 0 if none (fixed extremes).
int order_at(const Reading& reading, const RecordPair& pair, double t);

// Tie rule: is (a, b) joined before (c, d)? Arguments are highest member indices. Among tied pairs
// the lexicographically smallest sorted pair of highest member indices wins; unlike "lowest index",
// this rule is reducible, so greedy and nearest-neighbour chain agree.
bool comes_first(int a, int b, int c, int d);

}  // namespace certune::linkage
