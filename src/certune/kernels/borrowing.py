"""Compilation of the innermost kernels: they borrow arrays instead of counting references.

numba counts references to every array that a function receives, views or takes out of a bundle,
with atomic instructions that cost more than the short loops of the sweep.  A *borrowing* kernel
is compiled without its memory manager: it cannot allocate or return arrays (numba refuses to
compile that), and whoever calls it owns the arrays.  A *lending* kernel allocates, and is called by
borrowing ones.  An *inlined* kernel becomes a part of its caller.

Arrays travel together as a named tuple.  Every word of a tuple would be an argument of its own, so
a tuple with many arrays is handed on as a `bundled` one: a pointer to it, with the same fields.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
)

from certune.kernels.linking import linked

_WITHOUT_COUNTS: dict[str, Any] = {"_nrt": False}
_WITH_COUNTS: dict[str, Any] = {"_nrt": True}

inlined = linked(inline="always", **_WITHOUT_COUNTS)


def borrowing(function: Any) -> Any:
    """Compile a kernel that only uses arrays it is given."""
    return linked(function, **_WITHOUT_COUNTS)


def lending(function: Any) -> Any:
    """Compile a kernel that makes arrays and is called by borrowing ones."""
    return linked(function, **_WITH_COUNTS)


class Bundle(types.Type):
    """Pointer to a named tuple."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        super().__init__(f"Bundle({inner})")


@register_model(Bundle)
class _BundleModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, cgutils.voidptr_t)


@intrinsic
def bundled(typing_context, fields):
    """Pointer to a copy of a named tuple, on the stack of the calling function.

    It is good until that function returns, and as long as something else owns the arrays: its
    arguments, or what it hands to `keep_alive` in the end.  The copy never changes, so that its
    fields need not be read again after every store; to that end it is written behind the back of
    the optimiser, which knows nothing about the pointer it gets.
    """

    def generate(context, builder, signature, arguments):
        place = cgutils.alloca_once_value(builder, arguments[0])
        pointer = builder.bitcast(place, cgutils.voidptr_t)
        kind = cgutils.ir.FunctionType(pointer.type, [pointer.type])
        return builder.asm(kind, "", "=r,0,~{memory}", [pointer], True)

    return Bundle(fields)(fields), generate


@linked(**_WITHOUT_COUNTS)
def keep_alive(owners):
    """Own arrays up to this call."""


@infer_getattr
class _BundleFields(AttributeTemplate):
    key = Bundle

    def generic_resolve(self, bundle: Any, name: str) -> Any:  # type: ignore[override]
        inner = bundle.inner
        return inner.types[inner.fields.index(name)] if name in inner.fields else None


@lower_getattr_generic(Bundle)
def _load_field(context, builder, bundle, value, name):
    inner = bundle.inner
    place = inner.fields.index(name)
    pointer = builder.bitcast(value, context.get_value_type(inner).as_pointer())
    at_field = cgutils.gep_inbounds(builder, pointer, 0, place)
    kind = at_field.type.pointee
    if not isinstance(kind, cgutils.ir.BaseStructType):
        return impl_ret_borrowed(context, builder, inner.types[place], _constant(builder, at_field))
    field = cgutils.ir.Constant(kind, cgutils.ir.Undefined)
    for i in range(len(kind.elements)):
        part = _constant(builder, cgutils.gep_inbounds(builder, at_field, 0, i))
        field = builder.insert_value(field, part, i)
    return impl_ret_borrowed(context, builder, inner.types[place], field)


def _constant(builder, pointer):
    """What a pointer into a bundle points to."""
    value = builder.load(pointer)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value
