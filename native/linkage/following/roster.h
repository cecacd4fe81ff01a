#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "linkage/following/chords.h"

namespace certune::linkage {

// Which clusters are alive at a stage of a repair, and which of them the old tree does not have.
//
// Those are *fresh*. Clusters that come about *early*, before the old tree makes them, need no
// proofs of their own (averages of distances are not smaller than the least of them), but chords.
class Roster {
   public:
    // Chords are told who is alive; there are none for extremes.
    Roster(int width, Chords* chords)
        : chords_(chords),
          place_(index(width), -1),
          is_fresh_(index(width), 0),
          is_early_(index(width), 0),
          nearest_(index(width), -1) {}

    void clear() {
        alive_.clear();
        fresh_.clear();
        early_.clear();
        std::fill(place_.begin(), place_.end(), -1);
        std::fill(is_fresh_.begin(), is_fresh_.end(), std::uint8_t{0});
        std::fill(is_early_.begin(), is_early_.end(), std::uint8_t{0});
        if (chords_ != nullptr) chords_->nobody_alive();
    }

    std::span<const int> alive() const { return alive_; }
    std::span<const int> fresh() const { return fresh_; }
    std::span<const int> early() const { return early_; }
    bool is_alive(int node) const { return place_[index(node)] >= 0; }
    bool is_fresh(int node) const { return is_fresh_[index(node)] != 0; }
    // Nearest cluster of a fresh one, as guessed; -1: none.
    int& nearest(int node) { return nearest_[index(node)]; }
    int nearest(int node) const { return nearest_[index(node)]; }

    void enter(int node, bool is_fresh) {
        place_[index(node)] = static_cast<int>(alive_.size());
        alive_.push_back(node);
        if (chords_ != nullptr) chords_->set_alive(node);
        if (is_fresh) freshen(node);
    }
    void leave(int node) {
        const int place = place_[index(node)], moved = alive_.back();
        alive_[index(place)] = moved;
        place_[index(moved)] = place;
        place_[index(node)] = -1;
        alive_.pop_back();
        if (chords_ != nullptr) chords_->set_dead(node);
        if (is_fresh_[index(node)]) {
            is_fresh_[index(node)] = 0;
            std::erase(fresh_, node);
        }
        in_time(node);
    }
    // The old tree does not have the node at this stage.
    void freshen(int node) {
        if (is_fresh_[index(node)]) return;
        is_fresh_[index(node)] = 1;
        fresh_.push_back(node);
        nearest_[index(node)] = -1;
    }
    // The old tree makes the node later.
    void set_early(int node) {
        is_early_[index(node)] = 1;
        early_.push_back(node);
    }
    // The old tree has made the node by now.
    void in_time(int node) {
        if (!is_early_[index(node)]) return;
        is_early_[index(node)] = 0;
        std::erase(early_, node);
    }

   private:
    static std::size_t index(int node) { return static_cast<std::size_t>(node); }

    Chords* chords_;
    std::vector<int> alive_, fresh_, early_;
    std::vector<int> place_;  // of a node among the alive ones, -1
    std::vector<std::uint8_t> is_fresh_, is_early_;
    std::vector<int> nearest_;
};

}  // namespace certune::linkage
