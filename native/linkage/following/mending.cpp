#include "linkage/following/mending.h"

#include <algorithm>
#include <limits>

#include "linkage/following/doubts.h"
#include "linkage/models/fixed_extremes.h"
#include "numeric/exponentials.h"
#include "numeric/simd8.h"

namespace certune::linkage {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double beside =
    0x1p-10;  // of a panel, where a tree is guessed if values meet at its start

std::size_t at(int place) { return static_cast<std::size_t>(place); }

CERTUNE_HOT void gather_averages(const double* flat, int x, const int* alive, std::size_t count,
                                 int sign, const double* basis, double* values) {
    for (std::size_t i = 0; i < count; ++i) {
        if (alive[i] == x) continue;
        values[i] = sign * simd8::dot(flat + degree * pair_place(x, alive[i]), basis);
    }
}

}  // namespace

Mender::Mender(const Source& source, FollowedTree& tree, TreeRecords& records, Chords* chords,
               Prover& prover, Costs& costs)
    : source_(source),
      tree_(tree),
      records_(records),
      chords_(chords),
      prover_(prover),
      roster_(prover.roster),
      costs_(costs),
      flags_(at(tree.width)),
      mark_(at(tree.n_points), 0),
      heights_(at(tree.width)),
      values_(at(2 * tree.width)) {}

// Carries out the merge that makes a node.
void Mender::make(int node, bool is_fresh) {
    const int p = tree_.left[at(node)], q = tree_.right[at(node)];
    roster_.leave(p);
    roster_.leave(q);
    roster_.enter(node, is_fresh);
    flags_[at(node)].formed = 1;
    tree_.order[at(n_made_)] = node;
    tree_.stage[at(node)] = n_made_;
    tree_.until[at(p)] = tree_.until[at(q)] = n_made_;
    ++n_made_;
}

// Has the node the members of p and q together? Equal sizes are known.
bool Mender::same_members(int p, int q, int node) {
    for (const int point : tree_.members(node)) mark_[at(point)] = 1;
    int found = 0;
    for (const int part : {p, q}) {
        for (const int point : tree_.members(part)) found += mark_[at(point)];
    }
    for (const int point : tree_.members(node)) mark_[at(point)] = 0;
    return found == tree_.size[at(node)];
}

int Mender::old_node_of(int p, int q) {
    const std::uint64_t code = tree_.hash[at(p)] + tree_.hash[at(q)];
    const int size = tree_.size[at(p)] + tree_.size[at(q)];
    for (std::size_t i = 0; i < codes_.size(); ++i) {
        if (codes_[i] != code) continue;
        const int old = queue_[i];
        // A node that was given other members has another hash by now.
        if (!flags_[at(old)].formed && tree_.hash[at(old)] == code && tree_.size[at(old)] == size &&
            same_members(p, q, old)) {
            return old;
        }
    }
    return nobody;
}

int Mender::unused_node() {
    if (!tree_.spare.empty()) {
        const int node = tree_.spare.back();
        tree_.spare.pop_back();
        return node;
    }
    for (const int old : queue_) {
        if (!flags_[at(old)].formed && flags_[at(old)].dropped) return old;
    }
    return nobody;
}

// Node of the union of p and q, which is an old one if it has the same members; none if there is
// none left for it.
Mender::NewNode Mender::new_node(int p, int q) {
    if (tree_.highest[at(p)] > tree_.highest[at(q)]) std::swap(p, q);
    int node = old_node_of(p, q);
    bool is_new = node == nobody;
    if (is_new) {
        node = unused_node();
        if (node == nobody) return {node, is_new};
        records_.forget(node, prover_.panel().dense);
        tree_.unite(node, p, q);
        ++tree_.version[at(node)];
        flags_[at(node)].born = 1;
    } else {
        tree_.set_children(node, p, q);
    }
    flags_[at(node)].changed = 1;
    if (!is_new) {
        const int n_queue = static_cast<int>(queue_.size());
        const int above = tree_.until[at(node)] - (tree_.n_merges() - n_queue);
        is_new = above < n_queue && flags_[at(queue_[at(above)])].dropped;
        if (!flags_[at(node)].dropped) roster_.set_early(node);
    }
    return {node, is_new};
}

// Fills the records of a node that was just made; in dense panels its chords instead. With `keep`
// it keeps those with clusters that are not alive, which the old tree has later.
void Mender::fill_row(int node, bool keep) {
    if (prover_.panel().dense) {
        if (!keep) chords_->reset_depth(node);
        chords_->deepen(tree_, node);
        if (keep) {
            chords_->unite_some(tree_, node, roster_.alive());
        } else {
            chords_->unite(tree_, node, roster_.alive());
        }
        return;
    }
    const int p = tree_.left[at(node)], q = tree_.right[at(node)];
    for (const int other : roster_.alive()) {
        if (other != node && !records_.knows(node, other) && records_.knows(p, other) &&
            records_.knows(q, other)) {
            records_.combine(prover_.panel(), tree_, node, p, q, other);
            records_.set_known(node, other);
        }
    }
}

// Fills the chords of a kept node with clusters that the old tree did not have beside it.
void Mender::fill_fresh(int node) {
    chords_->deepen(tree_, node);
    chords_->unite_some(tree_, node, roster_.fresh());
    chords_->unite_some(tree_, node, roster_.early());
}

// Nearest alive cluster of a fresh one, by values near one point: what is guessed here is proved
// elsewhere.
int Mender::nearest_alive(int x) {
    const Panel& panel = prover_.panel();
    if (panel.dense) return chords_->nearest(x, guess_share_);
    const Reading& reading = panel.reading;
    const auto alive = roster_.alive();
    for (const int other : alive) {
        if (other != x && !records_.knows(x, other)) records_.ensure(panel, tree_, x, other);
    }
    const double share = glimpse_.share;
    if (reading.form == Form::average && share > 0.0) {
        gather_averages(records_.all(), x, alive.data(), alive.size(), reading.sign,
                        glimpse_.basis.data(), values_.data());
    } else if (reading.kind == Kind::minmax && !reading.box_cox && share > 0.0 && share < 1.0) {
        // The exponentials of all at once.
        const double alpha = reading.power.at(panel.interval.low + share * panel.interval.width());
        const std::size_t count = alive.size();
        for (std::size_t i = 0; i < count; ++i) {
            values_[i] = values_[count + i] = 0.0;
            if (alive[i] == x) continue;
            const double* record = records_.at(x, alive[i]);
            values_[i] = alpha * (record[lane::log_min] - reading.centre);
            values_[count + i] = alpha * (record[lane::log_max] - reading.centre);
        }
        numeric::exponentials({values_.data(), 2 * count});
        for (std::size_t i = 0; i < count; ++i) {
            values_[i] = reading.sign * (values_[i] + values_[count + i]);
        }
    } else {
        for (std::size_t i = 0; i < alive.size(); ++i) {
            if (alive[i] != x) values_[i] = glimpse_.value(panel, records_.at(x, alive[i]));
        }
    }
    double best = infinity;
    int near = nobody;
    for (std::size_t i = 0; i < alive.size(); ++i) {
        if (alive[i] != x && values_[i] < best) {
            best = values_[i];
            near = alive[i];
        }
    }
    return near;
}

// Where guesses go round in a circle (ties), lets the closest two point at each other.
bool Mender::pair_up() {
    ++n_wrong_;
    double best = infinity;
    int chosen = nobody;
    for (const int x : roster_.fresh()) {
        const int near = roster_.nearest(x);
        const double value =
            prover_.panel().dense
                ? chords_->key_at(x, near, guess_share_)
                : glimpse_.value(prover_.panel(), records_.ensure(prover_.panel(), tree_, x, near));
        if (value < best) {
            best = value;
            chosen = x;
        }
    }
    if (chosen == nobody || n_wrong_ > 4 * tree_.n_first) return false;
    roster_.nearest(roster_.nearest(chosen)) = chosen;
    return true;
}

// Two fresh clusters that are nearest to each other, or one (and nobody) to find the nearest of;
// nobody at all if all others have to wait.
Mender::Two Mender::next_fresh() const {
    for (const int x : roster_.fresh()) {
        const int y = roster_.nearest(x);
        if (y < 0 || !roster_.is_alive(y)) return {x, nobody};
        if (roster_.is_fresh(y)) {
            const int z = roster_.nearest(y);
            if (z == x) return {x, y};
            if (z < 0 || !roster_.is_alive(z)) return {y, nobody};
        }
    }
    return {nobody, nobody};
}

// Merges fresh clusters that are nearest to each other; without `proving`, guesses are taken for
// the truth. False if something is unclear.
bool Mender::merge_fresh(double t, bool proving) {
    while (roster_.fresh().size() > 1) {
        if (prover_.stop().stop_requested()) return false;
        auto [x, y] = next_fresh();
        if (x == nobody) {
            if (roster_.fresh().size() < roster_.alive().size() || !pair_up()) break;
            continue;
        }
        if (y == nobody) {
            y = nearest_alive(x);
            if (y < 0 || !roster_.is_alive(y)) return false;
            roster_.nearest(x) = y;
            continue;
        }
        Outlook outlook = Outlook::holds;
        if (proving) {
            outlook = prover_.prove({x, y, Prover::Rivalry::all_alive, t, false, -1});
        }
        if (outlook == Outlook::unclear) return false;
        if (outlook == Outlook::wrong) {
            if (++n_wrong_ > 4 * tree_.n_first) return false;
            roster_.nearest(prover_.found.row) = prover_.found.rival;
            continue;
        }
        const auto [node, is_new] = new_node(x, y);
        if (node == nobody) return false;
        prover_.note(node, true);
        make(node, is_new);
        fill_row(node, !flags_[at(node)].born);
    }
    return true;
}

// Guesses the nearest of a cluster that was to be merged with the partner: no cluster of the old
// tree is nearer than that, but fresh ones may be.
void Mender::guess_among_fresh(int x, int partner) {
    int nearest = roster_.is_alive(partner) ? partner : nobody;
    double least = chords_->key_at(x, partner, guess_share_);
    for (const int other : roster_.fresh()) {
        if (other == x) continue;
        const double key = chords_->key_at(x, other, guess_share_);
        if (key < least) {
            least = key;
            nearest = other;
        }
    }
    roster_.nearest(x) = nearest;
}

// Has a fresh cluster lost its nearest, p or q, to a merge? Only then it may merge itself.
bool Mender::lost_nearest(int p, int q) const {
    for (const int x : roster_.fresh()) {
        const int near = roster_.nearest(x);
        if (near == p || near == q) return true;
    }
    return false;
}

// Keeps an old merge whose parts are alive, if it is still right. False if something is unclear.
bool Mender::keep(int node, bool trusted, double t, bool& kept) {
    const Panel& panel = prover_.panel();
    const int p = tree_.left[at(node)], q = tree_.right[at(node)];
    Outlook outlook = Outlook::holds;
    if (trusted) {
        bool clear = roster_.fresh().empty();
        if (!clear && panel.dense) {
            chords_->list_doubts(p, q, panel.part_of(t), roster_.fresh(), doubts_);
            clear = doubts_.empty();
        } else if (!clear) {
            clear = clears_plainly(panel, records_, p, q, roster_.fresh());
        }
        if (!clear) {
            outlook = prover_.prove({p, q, Prover::Rivalry::fresh_only, t, false, -1});
            if (outlook == Outlook::holds) prover_.note(node, false);
        }
    } else {
        const int filled = panel.reading.form == Form::average && !panel.dense ? node : nobody;
        outlook = prover_.prove({p, q, Prover::Rivalry::all_alive, t, false, filled});
        if (outlook == Outlook::holds) prover_.note(node, true);
    }
    kept = outlook == Outlook::holds;
    if (!kept) return outlook != Outlook::unclear;
    make(node, false);
    if (!trusted && (panel.dense || panel.reading.form != Form::average)) {
        fill_row(node, false);
    } else if (panel.dense) {
        fill_fresh(node);
    }
    return true;
}

// An old merge is not carried out: its parts are fresh from now on.
void Mender::drop(int node, bool reused) {
    flags_[at(node)].dropped = 1;
    const int p = tree_.left[at(node)], q = tree_.right[at(node)];
    for (const int part : {p, q}) {
        if (!roster_.is_alive(part) || roster_.is_fresh(part)) continue;
        roster_.freshen(part);
        if (prover_.panel().dense && !reused) guess_among_fresh(part, part == p ? q : p);
    }
}

bool Mender::replay(int first, int failed, double t, double guess) {
    const Panel& panel = prover_.panel();
    const int n_merges = tree_.n_merges();
    const bool trusted = failed >= 0;
    const bool has_tree = tree_.is_there();
    guess_share_ = panel.part_of(guess);
    glimpse_ = Glimpse(guess_share_);
    n_wrong_ = 0;
    prover_.unclear_until = t;
    roster_.clear();
    std::fill(flags_.begin(), flags_.end(), Flags{});
    for (int x = 0; x < tree_.n_first; ++x) {
        if (!has_tree || tree_.until[at(x)] >= first) roster_.enter(x, !has_tree);
    }
    queue_.clear();
    codes_.clear();
    if (has_tree) {
        for (int i = 0; i < first; ++i) {
            const int node = tree_.order[at(i)];
            if (tree_.until[at(node)] >= first) roster_.enter(node, false);
        }
        for (int i = first; i < n_merges; ++i) {
            queue_.push_back(tree_.order[at(i)]);
            codes_.push_back(tree_.hash[at(queue_.back())]);
        }
    }
    n_made_ = first;
    std::size_t n_seen = queue_.size();
    for (std::size_t i = 0; i < queue_.size(); ++i) {
        const int progress = n_made_ - first;
        if (trusted && progress > 0 && static_cast<int>(i) == progress && roster_.fresh().empty()) {
            // Nothing is fresh, so what is alive are clusters of the old tree at this stage, or
            // unions of them; there are as many, hence no unions. It goes on as it did.
            n_seen = i;
            n_made_ = n_merges;
            break;
        }
        const int node = queue_[i];
        if (flags_[at(node)].formed) {
            roster_.in_time(node);
            continue;
        }
        const int p = tree_.left[at(node)], q = tree_.right[at(node)];
        // An old node that was given other members is not the part that this merge had.
        const bool reused = flags_[at(p)].born || flags_[at(q)].born;
        bool kept = false;
        if (roster_.is_alive(p) && roster_.is_alive(q) && node != failed && !reused) {
            if (!keep(node, trusted, t, kept)) return false;
            if (kept) {
                if (lost_nearest(p, q) && !merge_fresh(t, has_tree)) return false;
                continue;
            }
        }
        drop(node, reused);
        if (node == failed) roster_.nearest(prover_.last.nodes.row) = prover_.last.nodes.rival;
        if (!merge_fresh(t, has_tree)) return false;
    }
    if (!merge_fresh(t, has_tree) || n_made_ < n_merges) return false;
    for (std::size_t i = 0; i < n_seen; ++i) {
        const int node = queue_[i];
        if (!flags_[at(node)].formed) {
            tree_.until[at(node)] = -1;
            tree_.spare.push_back(node);
        }
    }
    tree_.until[at(tree_.root())] = n_merges;
    return true;
}

bool Mender::mend(int failed, double t, double guess) {
    return replay(tree_.stage[at(failed)], failed, t, guess);
}

bool Mender::build(double t, const Meetings& meetings) {
    const Panel& panel = prover_.panel();
    prover_.settle_nothing();
    const bool has_tree = tree_.is_there();
    // Where values meet, they tell nothing of the order beside it.
    const bool meets = t == meetings.course.low && meetings.low.any();
    const double guess = meets ? t + beside * (panel.part.high - t) : t;
    if (!replay(0, nobody, t, guess)) return false;
    if (has_tree) return true;
    refresh(0);
    sort_by_height(panel.part_of(guess));
    return replay(0, nobody, t, guess);
}

void Mender::sort_by_height(double share) {
    const Panel& panel = prover_.panel();
    const Glimpse glimpse(share);
    for (const int node : tree_.order) {
        const int a = tree_.left[at(node)], b = tree_.right[at(node)];
        heights_[at(node)] = panel.dense
                                 ? chords_->key_at(a, b, share)
                                 : glimpse.value(panel, records_.ensure(panel, tree_, a, b));
    }
    // By insertion, since they are nearly sorted; children stay before their parents.
    auto& order = tree_.order;
    for (std::size_t i = 1; i < order.size(); ++i) {
        const int node = order[i];
        std::size_t j = i;
        while (j > 0 && heights_[at(order[j - 1])] > heights_[at(node)] &&
               order[j - 1] != tree_.left[at(node)] && order[j - 1] != tree_.right[at(node)]) {
            order[j] = order[j - 1];
            --j;
        }
        order[j] = node;
    }
    for (int i = 0; i < tree_.n_merges(); ++i) {
        const int node = order[at(i)];
        tree_.stage[at(node)] = i;
        tree_.until[at(tree_.left[at(node)])] = i;
        tree_.until[at(tree_.right[at(node)])] = i;
    }
}

bool Mender::refresh(int first_stage) {
    bool differs = false;
    for (int i = first_stage; i < tree_.n_merges() && !prover_.stop().stop_requested(); ++i) {
        const int node = tree_.order[at(i)];
        if (flags_[at(node)].born) {
            differs = true;
            costs_.set_cost(tree_, node);
        }
        if (flags_[at(node)].changed || flags_[at(tree_.left[at(node)])].changed ||
            flags_[at(tree_.right[at(node)])].changed) {
            flags_[at(node)].changed = 1;
            costs_.set_prunings(tree_, node);
        }
    }
    return differs;
}

}  // namespace certune::linkage
