#pragma once

// Comparisons that doubles cannot tell, decided close to one parameter with twice their digits.
//
// Distances that are rounded square roots of integers make hundreds of cluster pairs change their
// order within a few roundings of alpha = 2. Around such a place the difference of two values is a
// sum of powers of few different distances, nearly a straight line; its value and slope in twice
// the digits say on which side of zero it is, or between which parameters it vanishes.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "linkage/compare/difference_terms.h"
#include "linkage/search/exact_layer.h"
#include "numeric/double_double.h"

namespace certune::linkage {

// alpha = value + slope t, with twice the digits at t = 0. Codes of pairs are the bits of their
// distances.
struct NearExponent {
    numeric::DoubleDouble value;
    double slope = 0.0;
};

class NearTies final : public ExactLayer {
   public:
    // What it cannot decide it asks the `next` layer. Kinds: mean, minmax, energy.
    NearTies(Kind kind, const PairFunctions& pairs, NearExponent alpha, ExactLayer& next);

    Answer ask(const Question& question) override;
    bool is_quick() const override { return true; }
    Answer ask_quickly(const Question& question) override { return decide(question); }

   private:
    // Value of one distance at t = 0, up to a common factor, and the rate of its logarithm.
    struct Power {
        numeric::DoubleDouble value, rate;
    };
    struct Term {
        std::size_t power;
        Wide count;
    };
    // a + b t + c t^2 + d t^3, and bounds of what it leaves out.
    struct Line;

    std::size_t power_of(std::uint64_t code);
    void gather(std::span<const std::uint8_t> marks);
    void gather_extremes(const ComparedMembers& compared);
    void add(std::uint64_t code, Wide count);
    Line line() const;
    Answer decide(const Question& question);

    Kind kind_;
    PairFunctions pairs_;
    NearExponent alpha_;
    ExactLayer& next_;
    double middle_ = 0.0;  // a logarithm of distances that is taken out of all powers
    std::vector<Power> powers_;
    std::unordered_map<std::uint64_t, std::size_t> place_of_;
    std::vector<Wide> counts_;       // for each power, of the terms gathered last
    std::vector<std::size_t> used_;  // powers with terms
    std::vector<int> members_[4];
    bool open_at_end_ = false;  // of the last change: is a sign at an end of the interval open?
};

}  // namespace certune::linkage
