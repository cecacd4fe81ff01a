#include "linkage/following/following.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "linkage/following/mending.h"
#include "linkage/following/proving.h"
#include "linkage/models/fixed_extremes.h"
#include "numeric/simd8.h"

namespace certune::linkage {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr double margin_share = 1e-3;  // of a panel, on both sides of a window left to the search
constexpr int most_windows = 3;        // in one panel; then its rest is left to the search
constexpr int most_steps = 64;         // per cluster in one panel; then as well
// Panels are cut so that about this many changes per cluster, and no fewer, fall into one ...
constexpr double changes_per_cluster = 0.25;
constexpr int fewest_changes = 8;
constexpr double finest_cut = 0x1p-8;  // ... but into parts of this size at least
// Where more than this share of a panel is unclear, narrower and more accurate ones are tried.
constexpr double wide_share = 0x1p-6, narrower_share = 0x1p-4;
constexpr double largest_key = 0x1p120;
constexpr double largest_exponent = 1.25;  // of values on a panel, beyond which chords are useless

class Follower {
   public:
    Follower(const Problem& problem, const Panels& panels, const Meetings& meetings,
             StopToken& stop)
        : problem_(problem),
          source_(problem.source),
          panels_(panels),
          meetings_(meetings),
          stop_(stop),
          average_(form_of(source_.kind, source_.pairs.mode) == Form::average),
          sharing_(source_.pairs.mode == Mode::affine && average_),
          tree_(problem.first),
          costs_(problem.pruning, tree_),
          records_(tree_.width, average_, source_.pairs.ordered),
          chords_(average_ ? std::make_unique<Chords>(tree_.width) : nullptr),
          prover_(source_, tree_, records_, chords_.get(), meetings, stop),
          mender_(source_, tree_, records_, chords_.get(), prover_, costs_),
          labels_(static_cast<std::size_t>(tree_.n_points)),
          result_{LeafStore(tree_.n_points), {}, 1} {
        if (!average_) {
            const auto slots = static_cast<std::size_t>(tree_.n_first);
            frame_room_.reserve(degree * slots * slots);
            frame_ = {frame_room_.data(), tree_.n_first, degree};
            build_logs(frame_, source_, problem.first.labels, stop);
        }
        wanted_ = std::max(fewest_changes, static_cast<int>(changes_per_cluster * tree_.n_first));
    }

    Followed run() {
        start_ = low_ = panels_.interval(0).low;
        // Along product segments changes may be dense from the start.
        reach_ = sharing_ ? panels_.interval(0).width() / 16.0 : infinity;
        while (which_ < panels_.count() && !stop_.stop_requested()) {
            if (!average_) which_ = panels_.last_joint(source_, which_);
            open_part();
            follow_part();
            low_ = high_;
            if (high_ >= panels_.interval(which_).high) ++which_;
        }
        if (current_ >= 0) {
            result_.found.add(Leaf{{start_, panels_.interval(panels_.count() - 1).high},
                                   from_split_,
                                   no_split,
                                   current_});
        }
        return std::move(result_);
    }

   private:
    // ---- Parts of panels ----

    // Builds the records of the first clusters on an interval; those of others are not known.
    void build_records(Interval interval) {
        model_.interval = interval;
        if (average_) {
            model_.reading = build_average_records({records_.all(), tree_.n_first, false}, source_,
                                                   problem_.first.labels, interval, stop_);
        } else {
            model_.reading = fill_both_ends(frame_, source_, interval, stop_);
        }
        if (!(model_.reading.error < 1e-2)) {
            model_.reading.error = infinity;
            return;
        }
        records_.begin(tree_.n_first);
        if (average_) return;
        for (int x = 0; x < tree_.n_first && !stop_.stop_requested(); ++x) {
            for (int z = 0; z < x; ++z) simd8::copy(frame_.record(x, z), records_.at(x, z));
        }
    }

    // How far exponents of values may move on an interval, but for what is common to them.
    double exponent_on(Interval interval) const {
        if (source_.pairs.mode == Mode::moving || model_.reading.box_cox) return infinity;
        double rate = 0.5 * (source_.extent.largest - source_.extent.smallest);
        if (source_.pairs.mode == Mode::power) rate *= std::abs(source_.pairs.power.slope);
        return rate * interval.width() * (1.0 + 0x1p-40);
    }

    // Looks at a part of the interval of the records; in dense panels chords are set, if that is
    // possible.
    Panel panel_on(Interval part, bool dense) {
        Panel panel;
        panel.reading = model_.reading;
        panel.interval = model_.interval;
        panel.part = part;
        const double error = model_.reading.error;
        const bool ascending = model_.reading.sign > 0;
        const auto factor_of = [](double e) { return (1.0 + e) / (1.0 - e) * (1.0 + 16.0 * unit); };
        const double factor = factor_of(error);
        const double inner = factor_of(error + 8.0 * (degree + 1) * unit);
        panel.flip = ascending ? 0 : -1;
        panel.factor = ascending ? factor : 1.0 / factor;
        panel.inner_factor = ascending ? inner : 1.0 / inner;
        const double exponent = exponent_on(part);
        if (!dense || !average_ || !(error < infinity && exponent < largest_exponent)) return panel;
        const auto [base, largest] = chords_->evaluate_first(records_, model_, tree_.n_first, part);
        if (!(largest - base < largest_key)) return panel;
        panel.dense = true;
        // Hoeffding's lemma: (1 - s) + s exp(y) <= exp(s y + y^2 / 8). A value is between its chord
        // and the chord times exp(-y^2 / 8), and so are averages of values.
        const double slack = inner * std::exp(0.125 * exponent * exponent) * (1.0 + 32.0 * unit);
        chords_->place_nodes(tree_.until);
        chords_->set_first(tree_.n_first, base, stop_);
        // Beyond slack times a value, in terms of keys.
        panel.key_factor = ascending ? slack : 1.0 / slack;
        panel.key_offset = std::abs(base * (panel.key_factor - 1.0));
        return panel;
    }

    void open_part() {
        const Interval whole = panels_.interval(which_);
        high_ = whole.high;
        finest_ = finest_cut * whole.width();
        const double step = std::max(reach_, finest_);
        dense_ = low_ < low_ + step && (low_ + 1.25 * step < high_ || built_ == which_);
        if (dense_ && low_ + 1.25 * step < high_) high_ = low_ + step;
        if (!(dense_ && sharing_) || alone_) {
            built_ = -1;
            build_records({low_, high_});
        } else if (built_ != which_) {
            built_ = which_;
            build_records(whole);
        }
        alone_ = false;
        Panel panel = panel_on({low_, high_}, dense_);
        if (built_ == which_ && !panel.dense) {
            // Chords are of no use: this part needs records of its own.
            built_ = -1;
            build_records({low_, high_});
            panel = panel_on({low_, high_}, false);
        }
        prover_.begin(panel);
        if (chords_) chords_->set_panel(panel);
    }

    // ---- Along one part ----

    struct Stuck {
        bool is_stuck = false;
        double from = 0.0;
        double to = 0.0;
    };
    enum class Next { go_on, repaired, stuck, end_of_part };

    void follow_part() {
        t_ = low_;
        stuck_ = {prover_.panel().reading.error == infinity, low_, high_};
        n_here_ = n_steps_ = n_changes_ = 0;
        begin_ = !stuck_.is_stuck;
        settled_ = -infinity;
        bool too_wide = false;
        while (!stop_.stop_requested()) {
            const Next next = step();
            if (next == Next::go_on) continue;
            if (next == Next::end_of_part) break;
            if (next == Next::repaired) {
                write_change();
                continue;
            }
            if (prefers_narrower()) {
                too_wide = true;
                break;
            }
            if (leave_window()) break;
        }
        if (average_ && !too_wide && (dense_ || n_changes_ > wanted_)) {
            reach_ = (high_ - low_) *
                     std::min(4.0, wanted_ / static_cast<double>(std::max(1, n_changes_)));
        }
    }

    Next stuck_at(double from, double to) {
        stuck_ = {true, from, to};
        return Next::stuck;
    }

    Next step() {
        marked_ = no_split;
        zone_ = {t_, t_};
        ++n_steps_;
        if (stuck_.is_stuck) return Next::stuck;
        if (begin_) {
            begin_ = false;
            settled_ = -infinity;
            repaired_from_ = 0;
            if (!mender_.build(t_, meetings_)) {
                return stuck_at(t_, std::max(t_, prover_.unclear_until));
            }
            return n_steps_ > most_steps * tree_.n_first ? stuck_at(t_, high_) : Next::repaired;
        }
        if (n_steps_ > most_steps * tree_.n_first) return stuck_at(t_, high_);
        return next_failure();
    }

    // Goes on to where the first proof fails, and mends the tree there.
    Next next_failure() {
        const auto [node, other, following] = prover_.first_failure();
        if (node < 0) {
            mender_.sort_by_height(1.0);
            return Next::end_of_part;
        }
        const Proof& proof = proof_of(node);
        zone_ = {proof.low, proof.high};
        if (average_ && n_changes_ >= 2 * wanted_ && settled_ < zone_.low &&
            settled_ > low_ + finest_) {
            // Too many changes for such a wide panel: it ends here.
            high_ = settled_;
            mender_.sort_by_height(prover_.panel().part_of(high_));
            return Next::end_of_part;
        }
        const bool crowded = following <= zone_.high || zone_.low <= settled_;
        int looked_at = node;
        if (following <= zone_.high && proof.outlook == Outlook::located && other >= 0) {
            looked_at = other;
        }
        const bool stale = prover_.is_stale(looked_at);
        if (stale || proof_of(looked_at).outlook == Outlook::again) {
            return look_again(looked_at, stale || looked_at == other ? t_ : zone_.low);
        }
        if (crowded) {
            if (average_ && proof_of(looked_at).outlook == Outlook::fails &&
                prover_.narrow(looked_at)) {
                return Next::go_on;
            }
            return stuck_at(zone_.low, zone_.high);
        }
        return mend(node);
    }

    const Proof& proof_of(int node) const { return prover_.proofs[static_cast<std::size_t>(node)]; }

    Next look_again(int node, double from) {
        const double low = zone_.low;
        Outlook outlook = prover_.prove_again(node, from);
        if (outlook == Outlook::unclear && from > t_) {
            // The bound lies in the zone of the failure: look from farther off.
            outlook = prover_.prove_again(node, t_);
            if (outlook == Outlook::holds && proof_of(node).outlook == Outlook::again) {
                outlook = Outlook::unclear;
            }
        }
        if (outlook == Outlook::holds) return Next::go_on;
        return stuck_at(low,
                        outlook == Outlook::unclear ? std::max(low, prover_.unclear_until) : low);
    }

    Next mend(int node) {
        const std::int64_t split = result_.found.add(Split{});
        mark_members(tree_, prover_.failing(node), result_.found.marks_of(split));
        prover_.settle(node);
        const int stage = tree_.stage[static_cast<std::size_t>(node)];
        const Interval zone = zone_;
        if (!mender_.mend(node, zone.low, zone.high)) {
            result_.found.keep_splits(split);
            return stuck_at(zone.low, std::max(zone.high, prover_.unclear_until));
        }
        repaired_from_ = stage;
        marked_ = split;
        t_ = zone.low;
        settled_ = zone.high;
        ++n_changes_;
        return Next::repaired;
    }

    // Writes the leaf that ends, if the partition has changed.
    void write_change() {
        const bool differs = mender_.refresh(repaired_from_);
        if (marked_ != no_split) {
            result_.found.set_split(marked_,
                                    Split{{zone_.low, zone_.high, 1, -1}, from_split_, no_split});
            // The tree at a tie may be another one than on both sides of it.
            is_kept_ = holds_coarse(zone_);
            if (!differs) {
                drop_split();
                return;
            }
            ++result_.n_trees;
        }
        costs_.cut(tree_, tree_.root(), labels_);
        if (current_ >= 0) {
            if (result_.found.is_partition(current_, labels_)) {
                drop_split();
                return;
            }
            result_.found.add(Leaf{{start_, zone_.high}, from_split_, marked_, current_});
        }
        start_ = t_;
        from_split_ = marked_;
        current_ = result_.found.number_of(labels_);
    }

    // A change that does not change the partition is forgotten, unless it may be a tie.
    void drop_split() {
        if (marked_ != no_split && !is_kept_) result_.found.keep_splits(marked_);
    }

    // Is the rest of this panel better looked at on narrower ones? Their records may tell apart
    // what those of a wide one do not.
    bool prefers_narrower() {
        const double narrower = narrower_share * (high_ - low_);
        const bool wide =
            stuck_.to - stuck_.from > wide_share * (high_ - low_) && narrower > finest_;
        const bool inaccurate = built_ == which_ && settled_ < stuck_.from;
        if (!(average_ && (wide || inaccurate) && low_ < low_ + narrower)) return false;
        tree_.forget();
        reach_ = narrower;
        alone_ = true;
        high_ = t_ < settled_ && settled_ < stuck_.from ? settled_ : t_;
        return true;
    }

    // Leaves a window around the place to the search; true if that is the rest of the part.
    bool leave_window() {
        ++n_here_;
        const double margin = margin_share * (high_ - low_) + 4.0 * (stuck_.to - stuck_.from);
        double window_low = std::max(low_, stuck_.from - margin);
        double window_high = std::min(high_, stuck_.to + margin);
        if (n_here_ > most_windows || window_high > high_ - margin) window_high = high_;
        if (current_ >= 0) {
            window_low = std::max(window_low, start_);
            result_.found.add(Leaf{{start_, window_low}, from_split_, no_split, current_});
        }
        auto& windows = result_.windows;
        if (n_here_ > 1 && windows.back().high >= window_low) {
            windows.back().high = window_high;
        } else {
            windows.push_back({window_low, window_high});
        }
        current_ = no_partition;
        from_split_ = no_split;
        stuck_.is_stuck = false;
        begin_ = true;
        tree_.forget();
        start_ = t_ = window_high;
        return window_high >= high_;
    }

    const Problem& problem_;
    const Source& source_;
    const Panels& panels_;
    const Meetings& meetings_;
    StopToken& stop_;
    bool average_;
    bool sharing_;  // do parts of a panel share its records?
    FollowedTree tree_;
    Costs costs_;
    TreeRecords records_;
    std::unique_ptr<Chords> chords_;
    Prover prover_;
    Mender mender_;
    std::vector<std::int64_t> labels_;
    Followed result_;
    Buffer<double> frame_room_;
    Frame frame_;  // of extremes: logarithms of the first clusters, and values at both ends

    int which_ = 0;                  // panel
    double low_ = 0.0, high_ = 0.0;  // the part of it
    double finest_ = 0.0, reach_ = 0.0;
    int wanted_ = 0;      // changes in a part
    int built_ = -1;      // the panel whose records parts share, -1: none
    bool alone_ = false;  // does the next part need records of its own?
    bool dense_ = false;
    RecordModel model_;

    double t_ = 0.0;
    bool begin_ = false;  // is the tree to be built from t on?
    Stuck stuck_;
    double settled_ = 0.0;  // end of the zone of the last change
    int n_here_ = 0, n_steps_ = 0, n_changes_ = 0;
    Interval zone_;
    int repaired_from_ = 0;
    std::int64_t marked_ = no_split;  // the split of the change under way
    bool is_kept_ = false;

    double start_ = 0.0;  // of the leaf under way
    std::int64_t from_split_ = no_split;
    std::int64_t current_ = no_partition;  // its partition; none: there is no leaf under way
};

}  // namespace

bool holds_coarse(Interval interval) {
    return std::ceil(std::ldexp(interval.low, 24)) <= std::ldexp(interval.high, 24);
}

Followed follow(const Problem& problem, const Panels& panels, const Meetings& meetings,
                StopToken& stop) {
    return Follower(problem, panels, meetings, stop).run();
}

}  // namespace certune::linkage
