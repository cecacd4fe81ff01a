"""Compilation of kernels that only other kernels call.

numba optimises and assembles every function that a kernel calls, with wrappers for calls from
elsewhere, and then links it to the caller and optimises it there again.  A *linked* kernel is
translated alone: it is optimised and assembled in the kernels that Python calls, as a part of
them.  That halves the time until a kernel has been compiled.  Linked kernels are not cached, since
the machine code of their callers contains them.

Indices of linked kernels count from the start of an array: numba's test whether each of them is
negative, and then counts from the end, is left out there, and nowhere else.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from numba import njit, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher
from numba.np import arrayobj

_ALWAYS: dict[str, Any] = {
    "nopython": True,
    "nogil": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


_fixed_index = arrayobj.fix_integer_index


def _index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """Index of an array axis: in linked kernels as it is, elsewhere as numba has it."""
    if getattr(builder.module, "counts_from_start", False):
        return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)
    return _fixed_index(context, builder, kind, index, size)


arrayobj.fix_integer_index = _index


class _Draft(JITCodeLibrary):
    """Code to be linked to other libraries, which optimise and assemble it."""

    def create_ir_module(self, name: str) -> Any:
        module = super().create_ir_module(name)
        module.counts_from_start = True
        return module

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _Translation(Compiler):
    """The pipeline of numba, without an executable in the end."""

    def compile_extra(self, function: Any) -> Any:
        context = self.state.targetctx
        self.state.flags.no_compile = True
        self.state.library = _Draft(context.codegen(), function.__qualname__)
        result = super().compile_extra(function)
        result = result._replace(entry_point=object())  # the name under which callers find it
        context.insert_user_function(result.entry_point, result.fndesc, [result.library])
        return result


class _Linked(CPUDispatcher):
    """Kernel that is compiled for its callers; a call from Python compiles it alone.

    It is compiled for types: numba would make a copy for every constant argument.
    """

    def __init__(self, py_func: Any, targetoptions: dict[str, Any]) -> None:
        super().__init__(py_func, {}, targetoptions, pipeline_class=_Translation)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template(
            tuple(types.unliteral(kind) for kind in args),
            {name: types.unliteral(kind) for name, kind in kws.items()},
        )

    def add_overload(self, cres: Any) -> None:
        self.overloads[tuple(cres.signature.args)] = cres

    @cached_property
    def _alone(self) -> Any:
        own = {key: self.targetoptions[key] for key in self.targetoptions.keys() - _ALWAYS.keys()}
        return njit(cache=True, nogil=True, **own)(self.py_func)

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        return self._alone  # which is then called


def linked(function: Any = None, /, **options: Any) -> Any:
    """Compile a kernel as a part of those that call it; ``options`` are those of `numba.njit`."""
    if function is None:
        return lambda function: linked(function, **options)
    return _Linked(function, targetoptions=_ALWAYS | options)
