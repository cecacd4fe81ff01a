#include "bindings/calls.h"

#include <chrono>
#include <cmath>

#include "bindings/rooms.h"

namespace certune::bindings {

namespace {

bool in_main_thread() {
    const nb::object main = nb::module_::import_("threading").attr("main_thread")();
    return nb::cast<unsigned long>(main.attr("ident")) == PyThread_get_thread_ident();
}

// Seconds from now on as a time of the clock; infinite ones and those beyond its range as its ends.
Clock::time_point seconds_from_now(double seconds) {
    constexpr double a_century = 3.2e9;
    if (std::isnan(seconds)) throw nb::value_error("seconds must not be NaN.");
    if (seconds >= a_century) return Clock::time_point::max();
    if (seconds <= 0.0) return Clock::time_point::min();
    return WorkClock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

double seconds_left(const Stop& stop) {
    const Clock::time_point deadline = stop.deadline();
    if (deadline == Clock::time_point::max()) return HUGE_VAL;
    if (deadline == Clock::time_point::min()) return -HUGE_VAL;
    return std::chrono::duration<double>(deadline - WorkClock::now()).count();
}

}  // namespace

bool SignalAttendant::attend() noexcept {
    if (place_ == Place::elsewhere) return false;
    nb::gil_scoped_acquire lock;
    if (place_ == Place::unknown) {
        try {
            place_ = in_main_thread() ? Place::main_thread : Place::elsewhere;
        } catch (nb::python_error& error) {
            error.restore();
            return true;
        }
    }
    // A handler that raises leaves its exception set in this thread, for the door to raise.
    return place_ == Place::main_thread && PyErr_CheckSignals() != 0;
}

void bind_calls(nb::module_& core) {
    // Not an Exception: code that catches those must not take it for a failure of its own.
    nb::exception<TimeIsUp>(core, "TimeIsUp", PyExc_BaseException).attr("__doc__") =
        "The deadline has passed, or the stop is set; what was asked for is not there.";
    nb::class_<Stop>(core, "Stop", "A flag and a deadline that kernels ask while they run.")
        .def(
            "__init__",
            [](Stop* memory, double seconds, const Stop* parent) {
                new (memory) Stop(seconds_from_now(seconds), parent);
            },
            nb::arg("seconds") = HUGE_VAL, nb::arg("parent").none() = nb::none(),
            nb::keep_alive<1, 3>(),
            "Make a stop that is set by itself after so many seconds, or when its parent is.")
        .def("set", &Stop::set, "Let the time be up from now on; any thread may call it.")
        .def(
            "is_set", [](const Stop& stop) { return stop.is_set(WorkClock::now()); },
            "Tell whether the time is up.")
        .def_prop_ro("stated", &Stop::stated, "Whether somebody has set it, not the clock.")
        .def_prop_ro("seconds_left", &seconds_left,
                     "Seconds until the deadline, of this one or its parent; may be infinite.")
        .def_prop_ro("seen", &Stop::seen, "Whether anybody was told that the time is up.");
    core.def(
        "now",
        [] { return std::chrono::duration<double>(WorkClock::now().time_since_epoch()).count(); },
        "Return the seconds of the clock that stands still during preparations.");
    core.def("begin_preparation", &WorkClock::begin_preparation,
             "Let the clock stand still; preparations may be nested.");
    core.def("end_preparation", &WorkClock::end_preparation, "Let the clock go on.");
}

}  // namespace certune::bindings
