#pragma once

#include <atomic>
#include <chrono>

namespace certune {

using Clock = std::chrono::steady_clock;

// A wish to end, shared by whoever may state it and whoever works: a flag and a deadline.
class Stop {
   public:
    explicit Stop(Clock::time_point deadline = Clock::time_point::max()) : deadline_(deadline) {}

    void set() noexcept { set_.store(true, std::memory_order_relaxed); }
    bool is_set(Clock::time_point now) const noexcept {
        return set_.load(std::memory_order_relaxed) || now >= deadline_;
    }

   private:
    std::atomic<bool> set_{false};
    Clock::time_point deadline_;
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
// Every loop that can take more than a millisecond calls stop_requested() in a step of at least a
// microsecond (it reads the clock, some 20 ns) and at most a few milliseconds, and returns when the
// answer is yes; its results are then not looked at. Once the answer is yes it stays so, so that
// nested loops need not hand it through.
class StopToken {
   public:
    explicit StopToken(const Stop& stop, Attendant* attendant = nullptr) noexcept
        : stop_(stop), attendant_(attendant) {}
    StopToken(const StopToken&) = delete;
    StopToken& operator=(const StopToken&) = delete;

    bool stop_requested() noexcept {
        if (ended_) return true;
        const Clock::time_point now = Clock::now();
        if (attendant_ != nullptr && now >= next_visit_) {
            // The first visit is due one period after the first question: short calls pay nothing.
            if (visited_) ended_ = attendant_->attend();
            visited_ = true;
            next_visit_ = now + visiting_period;
        }
        ended_ = ended_ || stop_.is_set(now);
        return ended_;
    }
    // What the last answer was, without asking again.
    bool ended() const noexcept { return ended_; }

   private:
    static constexpr auto visiting_period = std::chrono::milliseconds(30);

    const Stop& stop_;
    Attendant* attendant_;
    Clock::time_point next_visit_ = Clock::time_point::min();
    bool visited_ = false;
    bool ended_ = false;
};

}  // namespace certune
