#include "linkage/following/proving.h"

#include <algorithm>
#include <cmath>

#include "linkage/finish/polish.h"
#include "linkage/following/doubts.h"
#include "numeric/simd8.h"

namespace certune::linkage {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

std::size_t at(int place) { return static_cast<std::size_t>(place); }

// Are two values of extremes those of the last change, in one order or the other?
bool same_codes(const RecordPair& pair, const std::array<Code, 4>& codes) {
    const Code near_low = code_at(pair.near, lane::code_min);
    const Code near_high = code_at(pair.near, lane::code_max);
    const Code rival_low = code_at(pair.rival, lane::code_min);
    const Code rival_high = code_at(pair.rival, lane::code_max);
    if (std::min({near_low, near_high, rival_low, rival_high}) == unknown_code) return false;
    const std::array<Code, 4> own{near_low, near_high, rival_low, rival_high};
    const std::array<Code, 4> mirrored{rival_low, rival_high, near_low, near_high};
    return own == codes || mirrored == codes;
}

}  // namespace

Prover::Prover(const Source& source, FollowedTree& tree, TreeRecords& records, Chords* chords,
               const Meetings& meetings, StopToken& stop)
    : proofs(at(tree.width)),
      roster(tree.width, chords),
      source_(source),
      tree_(tree),
      records_(records),
      chords_(chords),
      meetings_(meetings),
      stop_(stop),
      marks_(at(tree.n_points)) {}

void Prover::begin(const Panel& panel) {
    panel_ = panel;
    rest_.forget();
}

int Prover::version_of(const Rivals& nodes) const {
    return tree_.version[at(nodes.row)] + tree_.version[at(nodes.near)] +
           tree_.version[at(nodes.rival)];
}

void Prover::list_doubts(const Task& task) {
    const bool all = task.rivals == Rivalry::all_alive;
    const auto rivals = all ? roster.alive() : roster.fresh();
    if (panel_.dense) {
        const double share = panel_.part_of(task.t);
        if (all) {
            chords_->list_doubts(task.p, task.q, share, doubts_);
        } else {
            chords_->list_doubts(task.p, task.q, share, rivals, doubts_);
        }
    } else if (panel_.reading.form != Form::average) {
        const EndBars bars(panel_, records_.at(task.p, task.q));
        list_doubtful_extremes(panel_, records_, task.p, task.q, bars, rivals, doubts_);
    } else if (task.node >= 0) {
        unite_doubtful_averages(panel_, records_, tree_, task.node, rivals, doubts_);
    } else {
        list_doubtful_averages(panel_, records_, task.p, task.q, rivals, doubts_);
    }
}

// From where on a comparison is in question: behind its zone if it is the last change itself.
double Prover::settled_from(const Task& task, const Doubt& doubt, const RecordPair& pair) const {
    const Rivals nodes = rivals_of(task, doubt);
    const Rivals& change = last.nodes;
    if (nodes.row == change.row && ((nodes.near == change.near && nodes.rival == change.rival) ||
                                    (nodes.near == change.rival && nodes.rival == change.near))) {
        if (version_of(nodes) == last.version) return std::max(task.t, last.until);
    } else if (panel_.reading.form != Form::average && same_codes(pair, last.codes)) {
        return std::max(task.t, last.until);
    }
    return task.t;
}

// Keeps the earliest failure, and where the next one may begin.
void Prover::keep_earliest(const Judgement& judgement, const Doubt& doubt) {
    if (judgement.low < found.low) {
        found.second = found.low;
        found.low = judgement.low;
        found.high = judgement.high;
        found.outlook = judgement.outlook;
        found.row = doubt.row;
        found.rival = doubt.rival;
    } else if (judgement.low < found.second) {
        found.second = judgement.low;
    }
}

// Order of two pairs if they have the same function: 1, -1, or 0 if they have not.
int Prover::tied(const Rivals& nodes, const RecordPair& pair) const {
    const bool same = panel_.reading.form == Form::average
                          ? same_averages(tree_, nodes, source_.pairs.codes)
                          : same_extremes(panel_.reading, pair);
    if (!same) return 0;
    return tie_prefers(tree_, nodes) ? 1 : -1;
}

// Looks at one doubt: holds, wrong or unclear; failures go to `found` or to the candidates.
Outlook Prover::examine(const Task& task, const Doubt& doubt, const EndBars* bars) {
    const bool average = panel_.reading.form == Form::average;
    const bool by_chords = panel_.dense;
    const RecordPair pair{records_.at(task.p, task.q), records_.at(doubt.row, doubt.rival)};
    if (!by_chords && !records_.knows(doubt.row, doubt.rival)) {
        records_.ensure(panel_, tree_, doubt.row, doubt.rival);
        if (average &&
            !simd8::any_below_scaled(pair.rival, pair.near, panel_.factor, panel_.flip)) {
            return Outlook::holds;
        }
    }
    const double start = settled_from(task, doubt, pair);
    double until = -infinity;
    if (!average) {
        const double middle = start + 0.5 * (panel_.interval.high - start);
        const double reach = task.sharp ? found.high : std::min(found.high, middle);
        const int tries = !task.sharp ? finest : found.high < infinity ? 1 : 0;
        until = until_extremes(panel_, pair, start, reach, tries, *bars);
    } else if (start == task.t && by_chords) {
        const Doubt own{task.p, task.q};
        const double share = panel_.part_of(task.t);
        until = chords_->until(own, doubt, share);
        if (until < task.t && chords_->until(doubt, own, share) > task.t) {
            found.row = doubt.row;
            found.rival = doubt.rival;
            return Outlook::wrong;
        }
    } else if (start == task.t) {
        if (!rest_is_set_) {
            rest_is_set_ = true;
            rest_.set(panel_, task.t);
            rest_.set_own(pair.near);
        }
        until = rest_.until(panel_, pair.rival, found.high);
    }
    if (until >= found.high) return Outlook::holds;
    Judgement judgement{Outlook::again, until, until, 0};
    if (!(until > start)) {
        if (by_chords) {
            records_.ensure(panel_, tree_, task.p, task.q);
            records_.ensure(panel_, tree_, doubt.row, doubt.rival);
        }
        judgement = judge(panel_, pair, start);
        const Rivals nodes = rivals_of(task, doubt);
        const int order = judgement.outlook == Outlook::unclear ? tied(nodes, pair) : 0;
        if (order != 0) {
            judgement.outlook = order > 0 ? Outlook::holds : Outlook::wrong;
        } else {
            judgement =
                judge_meeting(panel_, meetings_, source_.pairs, tree_, nodes, start, judgement);
        }
    }
    if (judgement.outlook == Outlook::unclear) {
        unclear_until = judgement.high;
    } else if (judgement.outlook == Outlook::wrong) {
        found.row = doubt.row;
        found.rival = doubt.rival;
    } else if (judgement.outlook != Outlook::holds) {
        if (task.sharp && average) {
            candidates_.push_back({judgement.low, judgement.high, doubt, judgement.outlook,
                                   until > start ? Located::bounded : Located::found});
        } else {
            keep_earliest(judgement, doubt);
        }
        return Outlook::holds;
    }
    return judgement.outlook;
}

Outlook Prover::prove(const Task& task) {
    found.low = found.high = found.second = infinity;
    if (stop_.stop_requested()) return Outlook::unclear;
    list_doubts(task);
    candidates_.clear();
    rest_is_set_ = false;
    std::optional<EndBars> bars;
    if (panel_.reading.form != Form::average) bars.emplace(panel_, records_.at(task.p, task.q));
    for (const Doubt& doubt : doubts_) {
        const Outlook outlook = examine(task, doubt, bars ? &*bars : nullptr);
        if (outlook != Outlook::holds) return outlook;
    }
    if (!candidates_.empty()) {
        records_.ensure(panel_, tree_, task.p, task.q);
        sharpen(task);
    }
    return Outlook::holds;
}

std::size_t Prover::least_bound(std::size_t but) const {
    std::size_t least = none;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
        if (i != but && (least == none || candidates_[i].low < candidates_[least].low)) least = i;
    }
    return least;
}

Interval Prover::narrowed(const Rivals& nodes, Interval zone) {
    mark_members(tree_, nodes, marks_);
    const PolishedZone polished =
        polish(panel_.reading.kind, source_.pairs, marks_, zone, 1.0, stop_);
    return {polished.low, polished.high};
}

// Makes the zone of a failure as narrow as can be; false if it was so before or is not found.
bool Prover::polish_candidate(const Task& task, Candidate& candidate) {
    if (candidate.located == Located::polished || candidate.outlook != Outlook::fails) return false;
    candidate.located = Located::polished;
    const auto [low, high] =
        narrowed(rivals_of(task, candidate.doubt), {candidate.low, candidate.high});
    if (low < high) {
        candidate.outlook = Outlook::located;
        candidate.low = low;
        candidate.high = high;
    }
    return true;
}

void Prover::locate_candidate(const Task& task, Candidate& candidate) {
    const Rivals nodes = rivals_of(task, candidate.doubt);
    const RecordPair pair{records_.at(task.p, task.q),
                          records_.ensure(panel_, tree_, nodes.row, nodes.rival)};
    Judgement judgement = judge(panel_, pair, task.t);
    judgement = judge_meeting(panel_, meetings_, source_.pairs, tree_, nodes, task.t, judgement);
    candidate.located = Located::found;
    if (judgement.outlook == Outlook::unclear && candidate.low < judgement.high &&
        judgement.high < panel_.part.high && judgement.after < 0) {
        // It begins at t, but nothing fails before the bound, and the rival is nearer behind it.
        judgement.outlook = Outlook::fails;
        judgement.low = candidate.low;
    }
    if (judgement.outlook == Outlook::unclear || judgement.outlook == Outlook::wrong) {
        candidate.outlook = Outlook::again;
        candidate.high = candidate.low;
        return;
    }
    const bool holds = judgement.outlook == Outlook::holds;
    candidate.outlook = judgement.outlook;
    candidate.low = holds ? infinity : judgement.low;
    candidate.high = holds ? infinity : judgement.high;
}

// Locates the first failure among candidates of which lower bounds are known, in the order of these
// bounds, until the first failure is certain.
void Prover::sharpen(const Task& task) {
    std::size_t first, second;
    for (;;) {
        first = least_bound(none);
        second = least_bound(first);
        Candidate& own = candidates_[first];
        if (own.low == infinity || stop_.stop_requested()) break;
        std::size_t to_locate = first;
        if (own.located != Located::bounded) {
            if (second == none || candidates_[second].low > own.high) break;
            Candidate& next = candidates_[second];
            if (next.doubt.row == own.doubt.row) {
                // Two rivals with the same function fail together: the tie rule picks one.
                const int row = own.doubt.row;
                const RecordPair pair{records_.ensure(panel_, tree_, row, own.doubt.rival),
                                      records_.ensure(panel_, tree_, row, next.doubt.rival)};
                const int order = tied({row, own.doubt.rival, next.doubt.rival}, pair);
                if (order != 0) {
                    (order < 0 ? own : next).low = infinity;
                    continue;
                }
            }
            if (next.located != Located::bounded) {
                if (!(polish_candidate(task, own) || polish_candidate(task, next))) break;
                continue;
            }
            to_locate = second;
        }
        locate_candidate(task, candidates_[to_locate]);
    }
    const Candidate& earliest = candidates_[first];
    found.low = earliest.low;
    found.high = earliest.high;
    found.second = second == none ? infinity : candidates_[second].low;
    found.outlook = earliest.outlook;
    found.row = earliest.doubt.row;
    found.rival = earliest.doubt.rival;
}

void Prover::note(int node, bool anew) {
    Proof& proof = proofs[at(node)];
    if (anew || found.low < proof.low) {
        const double second = anew ? found.second : std::min(found.second, proof.low);
        proof = found;
        proof.second = second;
        if (found.rival >= 0) proof.rival_version = tree_.version[at(found.rival)];
    } else {
        proof.second = std::min(proof.second, found.low);
    }
}

Outlook Prover::prove_again(int node, double t) {
    const int stage = tree_.stage[at(node)];
    roster.clear();
    for (int x = 0; x < tree_.n_first; ++x) {
        if (tree_.until[at(x)] >= stage) roster.enter(x, false);
    }
    for (int i = 0; i < stage; ++i) {
        const int other = tree_.order[at(i)];
        if (tree_.until[at(other)] >= stage) roster.enter(other, false);
    }
    const Outlook outlook =
        prove({tree_.left[at(node)], tree_.right[at(node)], Rivalry::all_alive, t, true, -1});
    if (outlook == Outlook::holds) note(node, true);
    return outlook;
}

bool Prover::is_stale(int node) const {
    const Proof& proof = proofs[at(node)];
    const int stage = tree_.stage[at(node)];
    return tree_.stage[at(proof.rival)] >= stage || tree_.until[at(proof.rival)] < stage ||
           proof.rival_version != tree_.version[at(proof.rival)];
}

Prover::FirstFailure Prover::first_failure() const {
    FirstFailure failure;
    double low = infinity;
    for (const int node : tree_.order) {
        const Proof& proof = proofs[at(node)];
        if (proof.low < low) {
            failure.second = low;
            failure.other = failure.node;
            low = proof.low;
            failure.node = node;
        } else if (proof.low < failure.second) {
            failure.second = proof.low;
            failure.other = node;
        }
    }
    if (failure.node >= 0 && proofs[at(failure.node)].second < failure.second) {
        failure.second = proofs[at(failure.node)].second;
        failure.other = -1;
    }
    return failure;
}

Rivals Prover::failing(int node) const {
    const Proof& proof = proofs[at(node)];
    const int left = tree_.left[at(node)], right = tree_.right[at(node)];
    return {proof.row, right == proof.row ? left : right, proof.rival};
}

bool Prover::narrow(int node) {
    Proof& proof = proofs[at(node)];
    const auto [low, high] = narrowed(failing(node), {proof.low, proof.high});
    if (!(low < high && high < proof.second)) return false;
    proof.low = low;
    proof.high = high;
    proof.outlook = Outlook::located;
    return true;
}

void Prover::settle(int node) {
    last.nodes = failing(node);
    last.version = version_of(last.nodes);
    last.until = proofs[at(node)].high;
    if (panel_.reading.form != Form::average) {
        const double* near = records_.at(last.nodes.row, last.nodes.near);
        const double* rival = records_.at(last.nodes.row, last.nodes.rival);
        last.codes = {code_at(near, lane::code_min), code_at(near, lane::code_max),
                      code_at(rival, lane::code_min), code_at(rival, lane::code_max)};
    }
}

void Prover::settle_nothing() {
    last.nodes = {};
    last.codes.fill(unknown_code);
}

}  // namespace certune::linkage
