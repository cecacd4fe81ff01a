#pragma once

// How a kernel is called: without the interpreter lock, and with a stop token.

#include <nanobind/nanobind.h>

#include "stop_token.h"

namespace certune::bindings {

namespace nb = nanobind;

// Thrown by doors, seen by Python as certune.deadline.TimeIsUp.
struct TimeIsUp {
    const char* what() const noexcept { return ""; }
};

// Runs the handlers of pending signals, if the loop runs in the main thread.
class SignalAttendant final : public Attendant {
   public:
    bool attend() noexcept override;

   private:
    enum class Place { unknown, main_thread, elsewhere };
    Place place_ = Place::unknown;
};

// Runs `loop(token)` without the interpreter lock and returns what it returns, unless it was ended:
// then raises what a signal handler raised, or TimeIsUp.
template <class Loop>
auto unlocked(const Stop& stop, Loop&& loop) {
    SignalAttendant attendant;
    StopToken token(stop, &attendant);
    auto result = [&] {
        nb::gil_scoped_release release;
        return loop(token);
    }();
    if (token.ended()) {
        if (PyErr_Occurred() != nullptr) throw nb::python_error();
        throw TimeIsUp();
    }
    return result;
}

}  // namespace certune::bindings
