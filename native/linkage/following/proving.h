#pragma once

// Proofs that two clusters are nearest to each other, from one point of the panel on.
//
// Every proof knows until where it holds: a lower bound first, the zone of the failure when the
// bound is reached.

#include <array>
#include <limits>
#include <vector>

#include "linkage/compare/identities.h"
#include "linkage/following/chords.h"
#include "linkage/following/followed_tree.h"
#include "linkage/following/meetings.h"
#include "linkage/following/outlook.h"
#include "linkage/following/roster.h"
#include "linkage/following/tree_records.h"
#include "stop_token.h"

namespace certune::linkage {

// Until when the merge that makes a node is proved.
struct Proof {
    static constexpr double never = std::numeric_limits<double>::infinity();

    double low = never;  // zone of the first failure, infinite if there is none
    double high = never;
    double second = never;  // where the next failure may begin
    Outlook outlook = Outlook::holds;
    int row = -1;  // the cluster whose nearest changes
    int rival = -1;
    int rival_version = 0;
};

// The last change of order: behind its zone it is settled.
struct LastChange {
    Rivals nodes;
    int version = -1;  // sum of the versions of the three nodes
    double until = 0.0;
    std::array<Code, 4> codes{};  // for extremes, of both pairs
};

class Prover {
   public:
    Prover(const Source& source, FollowedTree& tree, TreeRecords& records, Chords* chords,
           const Meetings& meetings, StopToken& stop);

    // Begins a panel.
    void begin(const Panel& panel);
    const Panel& panel() const { return panel_; }
    StopToken& stop() const { return stop_; }

    enum class Rivalry { all_alive, fresh_only };
    struct Task {
        int p, q;
        Rivalry rivals;
        double t;
        bool sharp;  // else the proof has to be looked at again before it fails
        int node;    // all records are known, and those of this union are filled; -1: no
    };
    // Returns holds, with the first failure in `found`, or wrong, with the row and the rival that
    // is nearer there, or unclear, with the end of what is unclear in `unclear_until`.
    Outlook prove(const Task& task);
    // Keeps what was found: the whole proof of a merge, or an addition to it.
    void note(int node, bool anew);
    // Proves one merge anew from t on, against all that is left at its stage.
    Outlook prove_again(int node, double t);
    // Is the rival of the first failure not there any more at the stage of the merge?
    bool is_stale(int node) const;

    // Node whose proof ends first (-1: none), the one that may be next (-1: the same), and where.
    struct FirstFailure {
        int node = -1;
        int other = -1;
        double second = Proof::never;
    };
    FirstFailure first_failure() const;
    // The row, its nearest and its rival of the first failure of a merge.
    Rivals failing(int node) const;
    // Makes the zone of a failure as narrow as can be; false, and leaves it, if that does not
    // succeed or the same merge may fail otherwise before the end of the narrow zone.
    bool narrow(int node);
    // Lets the change of order that breaks a merge be settled behind its zone; or nothing.
    void settle(int node);
    void settle_nothing();

    std::vector<Proof> proofs;
    Roster roster;
    Proof found;
    LastChange last;
    double unclear_until = 0.0;

   private:
    enum class Located { bounded, found, polished };
    struct Candidate {
        double low, high;
        Doubt doubt;
        Outlook outlook;
        Located located;
    };

    void list_doubts(const Task& task);
    double settled_from(const Task& task, const Doubt& doubt, const RecordPair& pair) const;
    Outlook examine(const Task& task, const Doubt& doubt, const EndBars* bars);
    void keep_earliest(const Judgement& judgement, const Doubt& doubt);
    int tied(const Rivals& nodes, const RecordPair& pair) const;
    void sharpen(const Task& task);
    bool polish_candidate(const Task& task, Candidate& candidate);
    Interval narrowed(const Rivals& nodes, Interval zone);
    void locate_candidate(const Task& task, Candidate& candidate);
    std::size_t least_bound(std::size_t but) const;
    static Rivals rivals_of(const Task& task, const Doubt& doubt) {
        return {doubt.row, doubt.row == task.q ? task.p : task.q, doubt.rival};
    }
    int version_of(const Rivals& nodes) const;

    const Source& source_;
    FollowedTree& tree_;
    TreeRecords& records_;
    Chords* chords_;
    const Meetings& meetings_;
    StopToken& stop_;
    Panel panel_;
    RestOfPanel rest_;
    bool rest_is_set_ = false;  // for the proof under way
    std::vector<Doubt> doubts_;
    std::vector<Candidate> candidates_;
    std::vector<std::uint8_t> marks_;
};

}  // namespace certune::linkage
