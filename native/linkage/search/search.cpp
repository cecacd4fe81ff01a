#include "linkage/search/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "linkage/models/fixed_extremes.h"
#include "linkage/search/cutting.h"
#include "linkage/search/merging.h"
#include "linkage/search/point_chain.h"

namespace certune::linkage {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr std::size_t most_levels = 256;
constexpr int most_plain_cuts = 500;       // beyond four per split: intervals stay undecided
constexpr int most_unknown_leaves = 4000;  // then no interval is split any more
constexpr int most_in_narrow = 1;   // zones that fill much of an interval too narrow to be cut
constexpr int most_at_end = 3;      // splits at an end, after which the next zone is cut off there
constexpr double accurate = 1e-13;  // models at least so accurate are not rebuilt to gain accuracy
constexpr double shared = 0.25;     // of the frame's interval that a part has to fill to share it
constexpr double finer = 1e-4;      // intervals narrower than this have models built anew
constexpr double growth = 1.25;     // what makes an undecided place so much longer joins it

// Where leaves are undecided already. Inside of it nothing is gained by a decision, since all
// leaves of a point count.
struct UndecidedPlace {
    double low = infinity;
    double high = -infinity;

    bool joins(Interval interval) const {
        return interval.low <= high && low <= interval.high &&
               std::max(interval.high, high) - std::min(interval.low, low) <= growth * (high - low);
    }
    void add(Interval interval) {
        if (interval.high < low || high < interval.low) {
            low = interval.low;
            high = interval.high;
        }
        low = std::min(low, interval.low);
        high = std::max(high, interval.high);
    }
};

class Search {
   public:
    Search(const Problem& problem, double wide_zone, ExactLayer& exact, StopToken& stop)
        : problem_(problem),
          source_(problem.source),
          wide_zone_(wide_zone),
          stop_(stop),
          form_(form_of(source_.kind, source_.pairs.mode)),
          width_(record_width(source_.kind, form_)),
          tree(problem.first, std::max(1, 2 * problem.first.n_clusters() - 1)),
          costs(problem.pruning, tree),
          decider_(source_, tree, exact, stop),
          trail_(tree.n_first),
          merging_(source_, tree, costs, decider_, trail_, stop),
          cutting_(is_plain_cut(problem.pruning.objective)
                       ? std::make_unique<Cutting>(source_, tree, decider_, problem.pruning, stop)
                       : nullptr),
          labels_(static_cast<std::size_t>(tree.n_points)),
          found(tree.n_points) {}

    void run(const Panels& panels) {
        for (int panel = 0; panel < panels.count() && !stop_.stop_requested(); ++panel) {
            const auto first = static_cast<std::size_t>(panel);
            if (form_ == Form::fixed_extremes) panel = panels.last_joint(source_, panel);
            const auto last = static_cast<std::size_t>(panel);
            enter({panels.bounds(first, 0), panels.bounds(last, 1)},
                  {panels.may_tie(first, 0), panels.may_tie(last, 1)});
            build(level(0), problem_.first.labels);
            begin_heights(level(0));
            descend(false);
        }
    }

    bool run_at(const PointValues& point) {
        enter({point.t, point.t}, {false, false});
        level(0).reading = build_point_frame(frame_of(level(0)), source_, problem_.first.labels,
                                             point.values, point.error, point.t, stop_);
        begin_heights(level(0));
        descend(true);
        return !found.leaves().empty() && found.leaves()[0].partition != no_partition;
    }

   private:
    Level& level(std::size_t depth) {
        while (levels_.size() <= depth) levels_.push_back(std::make_unique<Level>());
        return *levels_[depth];
    }

    Frame frame_of(const Level& at) {
        const auto slots = static_cast<std::size_t>(at.n_slots);
        pool_.reserve(at.offset + static_cast<std::size_t>(width_) * slots * slots);
        return {pool_.data() + at.offset, at.n_slots, width_};
    }

    // Begins the first level: a panel, and the first clusters.
    void enter(Interval interval, std::array<bool, 2> may_tie) {
        Level& first = level(0);
        first.interval = first.frame_interval = interval;
        first.built = interval.width();
        first.offset = 0;
        first.n_slots = tree.n_first;
        first.n_nodes = tree.n_first;
        first.n_settled = 0;
        first.may_tie = may_tie;
        first.splits = {no_split, no_split};
        first.stage = Level::Stage::merging;
        first.at_end = first.in_narrow = 0;
        first.choice = 0;
        const auto count = static_cast<std::size_t>(tree.n_first);
        first.slots.resize(count);
        first.slots.active.resize(count);
        for (int x = 0; x < tree.n_first; ++x) {
            const auto slot = static_cast<std::size_t>(x);
            first.slots.active[slot] = first.slots.node[slot] = x;
            first.slots.nearest[slot] = -1;
            first.slots.resolved[slot] = 0;
            first.slots.blocked[slot] = Obstacle::Kind::none;
        }
    }

    void build(Level& at, std::span<const std::int64_t> labels) {
        at.reading = build_frame(frame_of(at), source_, labels, at.interval, stop_);
    }

    // Heights are needed by plain cuts only; those of nodes made on this level are on its frame.
    void begin_heights(Level& at) const {
        if (!cutting_) return;
        Heights& heights = at.heights;
        heights.width = (form_ == Form::energy ? 3 : 1) * width_;
        heights.records.resize(tree.left.size() * static_cast<std::size_t>(heights.width));
        heights.known.assign(tree.left.size(), 0);
        heights.reading = at.reading;
        heights.interval = at.frame_interval;
    }

    void descend(bool is_point) {
        std::size_t depth = 0;
        while (!stop_.stop_requested()) {
            Level& here = level(depth);
            if (here.stage == Level::Stage::merging && !merge(here, depth, is_point)) {
                if (depth-- == 0) return;
                continue;
            }
            if (here.stage == Level::Stage::right) {
                if (depth-- == 0) return;
                continue;
            }
            open_part(here, level(depth + 1));
            ++depth;
        }
    }

    // Merges on a level; true if its parts are to be searched, false if it ends here.
    bool merge(Level& here, std::size_t depth, bool is_point) {
        decider_.settled.take_back(here.n_settled);
        const View view(here, frame_of(here), is_point);
        Progress status = Progress::plain;
        const bool is_merged = here.slots.active.size() == 1;
        if (here.reading.error < infinity || is_merged) status = merging_.run(here, view);
        if (cutting_ && status == Progress::done) status = cutting_->run(here, is_point);
        if (stop_.ended() || status == Progress::impossible) return false;
        here.n_settled = decider_.settled.count();
        n_plain_ += status == Progress::plain;
        OpenChange change;
        if (status == Progress::zone) change = open_change(here, view);
        if (status != Progress::done) status = way_on(here, depth, status, change.zone);
        if (status == Progress::done || status == Progress::unknown) {
            add_leaf(here, status == Progress::done);
            return false;
        }
        here.trail_mark = trail_.size();
        here.cut = status == Progress::zone ? add_split(here, change) : no_split;
        return true;
    }

    // The change at which a level is split: of a row, or of two heights if all is merged.
    OpenChange open_change(const Level& here, const View& view) const {
        if (here.slots.active.size() == 1) return cutting_->change();
        const int row = Merging::row_to_split(here);
        return {here.slots.obstacle[Slots::at(row)].zone,
                merging_.open_comparison(here, view, row)};
    }

    // Where merges stopped: split at a zone, cut at a position (plain), or unknown.
    //
    // A zone that reaches an end says nothing about the order there. If it is wide, the order may
    // change more than once in it. If there is one after the other, many comparisons tie at that
    // end: beside it they are decided without a split.
    Progress way_on(Level& here, std::size_t depth, Progress status, const Zone& zone) {
        const auto [low, high] = here.interval;
        const double extent = high - low;
        if (n_unknown_ > most_unknown_leaves || undecided_.joins(here.interval) ||
            (status == Progress::plain && n_plain_ > most_plain_cuts + 4 * found.n_splits()) ||
            status == Progress::unknown || depth + 2 >= most_levels) {
            return Progress::unknown;
        }
        here.position = low + 0.5 * extent;
        if (status == Progress::plain) {
            return is_narrow(here.interval) ? Progress::unknown : Progress::plain;
        }
        const bool wide = zone.high - zone.low >= wide_zone_ * extent;
        if (is_narrow(here.interval)) {
            // Both orders count in all of it; the next one there, in four trees, and so on.
            here.in_narrow += wide;
            const bool ends = extent == 0.0 || here.in_narrow > most_in_narrow;
            return ends ? Progress::unknown : Progress::zone;
        }
        const bool at_end = zone.low <= low || zone.high >= high;
        here.at_end = at_end ? here.at_end + 1 : 0;
        if (wide) {
            return at_end || here.reading.error > accurate ? Progress::plain : Progress::zone;
        }
        if (here.at_end <= most_at_end) return Progress::zone;
        const double beside = zone.low <= low ? 2.0 * zone.high - low : 2.0 * zone.low - high;
        if (low < beside && beside < high) here.position = beside;
        return Progress::plain;
    }

    void add_leaf(const Level& here, bool is_decided) {
        Leaf leaf{here.interval, here.splits[0], here.splits[1], no_partition};
        if (is_decided) {
            if (cutting_) {
                cutting_->write_labels(labels_);
            } else {
                costs.cut(tree, here.n_nodes - 1, labels_);
            }
            leaf.partition = found.number_of(labels_);
        } else {
            ++n_unknown_;
            undecided_.add(here.interval);
        }
        found.add(leaf);
    }

    // Writes where an order changes, and between which clusters. On both sides of it the comparison
    // is settled; which way is said when a side is searched.
    std::int64_t add_split(const Level& here, const OpenChange& change) {
        const auto& [records, nodes] = change.comparison;
        const std::int64_t split = found.add(Split{change.zone, here.splits[0], here.splits[1]});
        mark_members(tree, nodes, found.marks_of(split));
        const bool by_height = here.slots.active.size() == 1;
        decider_.settled.prepare(by_height ? here.heights.reading : here.reading, records, nodes);
        return split;
    }

    // Begins the next part of a level: first the left one, then the right one.
    void open_part(Level& here, Level& part) {
        const bool to_left = here.stage == Level::Stage::merging;
        here.stage = to_left ? Level::Stage::left : Level::Stage::right;
        if (!to_left) trail_.rewind(here.trail_mark, frame_of(here));
        part.begin_part(here, to_left, found);
        if (here.cut != no_split) {
            const Zone& zone = found.split(here.cut).zone;
            decider_.settled.set_order(here.n_settled, to_left ? zone.before : zone.after);
        }
        const bool anew = gains_by_building(here, part);
        const bool is_merged = here.slots.active.size() == 1;
        if (is_merged || (!anew && may_share(here, part))) {
            n_choices_ += to_left;
            part.share_frame(here, to_left ? n_choices_ : here.choice);
            // Only heights are left to be compared, and they are made anew when they are asked for.
            if (is_merged && anew) part.heights.forget();
            return;
        }
        part.renumber_slots(here, width_);
        if (anew) {
            for (int i = 0; i < part.n_slots; ++i) {
                for (const int point : tree.members(part.slots.node[Slots::at(i)])) {
                    labels_[static_cast<std::size_t>(point)] = i;
                }
            }
            part.built = part.interval.width();
            build(part, labels_);
            begin_heights(part);
        } else {
            frame_of(part);  // makes room, which may move the frame above
            cut_frame(here, part);
        }
    }

    bool gains_by_building(const Level& here, const Level& part) const {
        if (form_ == Form::moving_extremes) return true;
        return is_polynomial(form_) && here.reading.error > accurate &&
               (here.cut == no_split || part.interval.width() < finer * here.built);
    }

    static bool may_share(const Level& here, const Level& part) {
        return here.cut != no_split &&
               part.interval.width() >= shared * here.frame_interval.width();
    }

    // Cuts the frame of a level to the interval and the slots of a part.
    void cut_frame(const Level& here, Level& part) {
        const Frame own = frame_of(here), target = frame_of(part);
        if (form_ == Form::fixed_extremes) {
            const Affine& power = source_.pairs.power;
            fill_end(own, here.slots.active, part.reading, power.at(part.interval.low), false,
                     target, stop_);
            fill_end(target, part.slots.active, part.reading, power.at(part.interval.high), true,
                     target, stop_);
            begin_heights(part);
            return;
        }
        if (cutting_) part.heights.restrict_to(part.interval);
        const Interval& whole = here.frame_interval;
        restrict_averages(own, here.slots.active,
                          std::max(0.0, (part.interval.low - whole.low) / whole.width()),
                          std::min(1.0, (part.interval.high - whole.low) / whole.width()), target);
        part.reading.error += restriction_error;
    }

    const Problem& problem_;
    const Source& source_;
    double wide_zone_;
    StopToken& stop_;
    Form form_;
    int width_;

   public:
    Tree tree;
    Costs costs;

   private:
    Decider decider_;
    Trail trail_;
    Merging merging_;
    std::unique_ptr<Cutting> cutting_;
    Buffer<double> pool_;
    std::vector<std::unique_ptr<Level>> levels_;
    std::vector<std::int64_t> labels_;
    UndecidedPlace undecided_;
    int n_plain_ = 0, n_unknown_ = 0;
    std::int64_t n_choices_ = 0;

   public:
    LeafStore found;
};

}  // namespace

void Problem::complete() {
    if (source.pairs.mode == Mode::moving) return;
    // Energies and plain cuts look inside the first clusters.
    const bool inside = source.kind == Kind::energy || is_plain_cut(pruning.objective);
    source.extent =
        extent_of_pairs(source.pairs, inside ? source.pairs.twins : first.labels, {0.0, 0.0});
    source.extent.smallest = std::min(source.extent.smallest, source.extent.largest);
}

LeafStore search(const Problem& problem, const Panels& panels, double wide_zone, ExactLayer& exact,
                 StopToken& stop) {
    Search run(problem, wide_zone, exact, stop);
    run.run(panels);
    return std::move(run.found);
}

PointResult solve_at(const Problem& problem, const PointValues& point, ExactLayer& exact,
                     StopToken& stop) {
    Search run(problem, 0.0, exact, stop);
    PointResult result;
    result.left.assign(problem.first.left.begin(), problem.first.left.end());
    result.right.assign(problem.first.right.begin(), problem.first.right.end());
    const Tree& tree = run.tree;
    if (tree.n_first == 1 && !is_plain_cut(problem.pruning.objective)) {
        result.decided = true;
        result.labels.resize(static_cast<std::size_t>(tree.n_points));
        run.costs.cut(run.tree, 0, result.labels);
        return result;
    }
    if (auto labels = chained_at(problem, point, run.tree, run.costs, exact, stop)) {
        result.labels = std::move(*labels);
    } else if (!stop.ended() && run.run_at(point)) {
        result.labels = run.found.take_partitions();
    } else {
        return result;
    }
    result.decided = true;
    // Back to the numbers that nodes have among the first merges.
    const int n_before = tree.n_points + problem.first.n_made;
    const auto number = [&](int node) {
        return node < tree.n_first ? tree.tops[static_cast<std::size_t>(node)]
                                   : n_before + node - tree.n_first;
    };
    for (int node = tree.n_first; node < 2 * tree.n_first - 1; ++node) {
        const auto place = static_cast<std::size_t>(number(node));
        result.left[place] = number(tree.left[static_cast<std::size_t>(node)]);
        result.right[place] = number(tree.right[static_cast<std::size_t>(node)]);
    }
    return result;
}

}  // namespace certune::linkage
