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
    return Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
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
    nb::exception<TimeIsUp>(core, "TimeIsUp").attr("__doc__") =
        "The deadline has passed; what was asked for is not there.";
    nb::class_<Stop>(core, "Stop", "A flag and a deadline that kernels ask while they run.")
        .def(
            "__init__",
            [](Stop* memory, double seconds) { new (memory) Stop(seconds_from_now(seconds)); },
            nb::arg("seconds") = HUGE_VAL,
            "Make a stop that is set by itself after so many seconds.")
        .def("set", &Stop::set, "Let the time be up from now on; any thread may call it.")
        .def(
            "is_set", [](const Stop& stop) { return stop.is_set(Clock::now()); },
            "Tell whether the time is up.");
}

}  // namespace certune::bindings
