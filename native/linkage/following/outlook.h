#pragma once

// From when on a comparison of two cluster pairs may fail: certificates with an end.
//
// On a panel the order of the pairs (x, y) and (x, z) is looked at from one point on, to the right.
// The answer is that the first pair stays nearer, or the zone in which the order changes next, or
// that the second pair is nearer from the start, or that nothing is certain there.

#include <array>

#include "linkage/compare/evidence.h"
#include "linkage/following/panel.h"

namespace certune::linkage {

enum class Outlook {
    holds,    // the first pair is nearer up to the end of the panel
    fails,    // ... up to a zone, behind which the second one is
    again,    // ... up to a point at which one has to look again
    wrong,    // the second pair is nearer from the start
    unclear,  // not decided at the start
    located,  // it fails in a zone as narrow as can be
};

// An outlook and its zone; for `again` its low end, for `unclear` its high end counts.
struct Judgement {
    Outlook outlook = Outlook::holds;
    double low = 0.0;
    double high = 0.0;
    int after = 0;  // order behind the zone, if it was located
};

inline constexpr int finest = 12;  // halvings of the rest of a panel before a comparison is unclear

// Compares two records from t to the end of the part.
Judgement judge(const Panel& panel, const RecordPair& pair, double t);

// What the values of a farther rival exceed, or stay below, at both ends (fixed extremes).
struct EndBars {
    double low, high;

    EndBars(const Panel& panel, const double* own);
};

// Restricts records of averages to the rest of a panel.
class RestOfPanel {
   public:
    // Prepares the restriction to the panel from t on.
    void set(const Panel& panel, double t);
    void forget();
    // Until where the pair of `own` is nearer than that of the rival, from t on: infinite if to the
    // panel's end or beyond the limit, -infinite if not for certain nearer at t.
    void set_own(const double* own);
    double until(const Panel& panel, const double* rival, double limit);

   private:
    void restrict(const double* record, double* target) const;

    double t_ = 0.0;
    bool is_set_ = false;
    bool inside_ = false;
    Restriction window_;
    std::array<double, degree> own_{};
};

// The same for fixed extremes, where there is one root at most: try `reach`, then earlier points.
double until_extremes(const Panel& panel, const RecordPair& pair, double t, double reach, int tries,
                      const EndBars& bars);

// Value of a record at one end of the panel (fixed extremes).
double end_value(const Reading& reading, const double* record, bool high_end);

// Value of a record at a share of the panel, for guesses; smaller is nearer.
struct Glimpse {
    double share = 0.0;
    std::array<double, degree> basis{};

    explicit Glimpse(double at) : share(at), basis(basis_at(at)) {}
    double value(const Panel& panel, const double* record) const;
};

}  // namespace certune::linkage
