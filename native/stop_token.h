#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

namespace certune {

using Clock = std::chrono::steady_clock;

// The steady clock without the time of preparations: it stands still while something is made ready
// for first use, so that this never counts against a limit.
class WorkClock {
   public:
    static Clock::time_point now() noexcept {
        const Clock::rep since = since_.load(std::memory_order_relaxed);
        const Clock::duration reading =
            since != none ? Clock::duration(since) : Clock::now().time_since_epoch();
        return Clock::time_point(reading - Clock::duration(left_out_.load()));
    }
    // Preparations may be nested or run side by side; callers hold the interpreter lock.
    static void begin_preparation() noexcept {
        if (preparations_++ == 0) since_ = Clock::now().time_since_epoch().count();
    }
    static void end_preparation() noexcept {
        if (--preparations_ != 0) return;
        left_out_ += Clock::now().time_since_epoch().count() - since_;
        since_ = none;
    }

   private:
    static constexpr Clock::rep none = -1;
    static inline std::atomic<Clock::rep> since_{none};
    static inline std::atomic<Clock::rep> left_out_{0};
    static inline int preparations_ = 0;
};

// A wish to end, shared by whoever may state it and whoever works: a flag and a deadline of the
// work clock. One with a parent is set as soon as the parent is.
class Stop {
   public:
    explicit Stop(Clock::time_point deadline = Clock::time_point::max(),
                  const Stop* parent = nullptr)
        : deadline_(deadline), parent_(parent) {}

    void set() noexcept { set_.store(true, std::memory_order_relaxed); }
    // Was the wish stated by somebody, not by the clock?
    bool stated() const noexcept {
        return set_.load(std::memory_order_relaxed) || (parent_ != nullptr && parent_->stated());
    }
    bool is_set(Clock::time_point now) const noexcept {
        const bool answer = set_.load(std::memory_order_relaxed) || now >= deadline_ ||
                            (parent_ != nullptr && parent_->is_set(now));
        if (answer) seen_.store(true, std::memory_order_relaxed);
        return answer;
    }
    Clock::time_point deadline() const noexcept {
        return parent_ == nullptr ? deadline_ : std::min(deadline_, parent_->deadline());
    }
    // Did anybody get the answer that it is set?
    bool seen() const noexcept { return seen_.load(std::memory_order_relaxed); }

   private:
    std::atomic<bool> set_{false};
    mutable std::atomic<bool> seen_{false};
    Clock::time_point deadline_;
    const Stop* parent_;
};

// Looks after the outside world while a loop runs (in Python: pending signals).
class Attendant {
   public:
    virtual ~Attendant() = default;
    // Returns whether the loop shall end.
    virtual bool attend() noexcept = 0;
};

// What a loop asks: one for each call of a kernel, used by one thread.
//
// Every loop that can take more than a millisecond calls stop_requested() in a step of at most a
// few milliseconds, and returns when the answer is yes; its results are then not looked at. Once
// the answer is yes it stays so, so that nested loops need not hand it through. Reading the clock
// takes some 20 ns, which short steps would feel: after one of them the next few questions are
// free.
class StopToken {
   public:
    explicit StopToken(const Stop& stop, Attendant* attendant = nullptr) noexcept
        : stop_(stop), attendant_(attendant) {}
    StopToken(const StopToken&) = delete;
    StopToken& operator=(const StopToken&) = delete;

    bool stop_requested() noexcept {
        if (ended_) return true;
        if (free_questions_ > 0) {
            --free_questions_;
            return false;
        }
        const Clock::time_point now = WorkClock::now();
        free_questions_ = now - asked_ < short_time ? most_free_questions : 0;
        asked_ = now;
        if (attendant_ != nullptr && now >= next_visit_) {
            // The first visit is due one period after the first question: short calls pay nothing.
            if (visited_) ended_ = attendant_->attend();
            visited_ = true;
            next_visit_ = now + visiting_period;
        }
        ended_ = ended_ || stop_.is_set(now);
        return ended_;
    }
    // Lets the loop end for a reason of its own: a question to the outside world failed.
    void end() noexcept { ended_ = true; }
    // What the last answer was, without asking again.
    bool ended() const noexcept { return ended_; }

   private:
    static constexpr auto visiting_period = std::chrono::milliseconds(30);
    static constexpr auto short_time = std::chrono::microseconds(50);
    static constexpr int most_free_questions = 15;

    const Stop& stop_;
    Attendant* attendant_;
    Clock::time_point next_visit_ = Clock::time_point::min();
    Clock::time_point asked_{};
    int free_questions_ = 0;
    bool visited_ = false;
    bool ended_ = false;
};

}  // namespace certune
