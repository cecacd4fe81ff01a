"""Expressions in real parameters: an immutable graph in which equal subexpressions are one object.

An expression is a parameter, an exact constant, or an operator of
`certune.pfaffian.expressions.operations` applied to expressions.  Numbers are exact: a float is the
dyadic rational that it is.  Building the same expression twice gives the same object, so that
shared subexpressions count once on a chain and are evaluated once.

Comparing expressions (``v >= 0``, ``u < v``, ``u == v``) is the conditional statement of
``def:paffian-gj-algorithm``: it is decided at once, by whoever runs the program, and gives a bool.

Inside of a running program an expression stands for the float that the same program would have on
plain numbers.  Every special method of a float either does what the float would do, with branches
where the answer depends on the parameters, or raises `SymbolicValueError`; nothing answers with
another meaning.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from certune.errors import InputError, ParameterError
from certune.pfaffian.expressions.arrays import elementwise
from certune.pfaffian.expressions.definedness import GUARDS
from certune.pfaffian.expressions.operations import (
    ADD,
    ATAN,
    DIVIDE,
    EXP,
    LOG,
    MULTIPLY,
    POWER,
    SQRT,
    SUBTRACT,
    TANH,
    Operation,
)
from certune.pfaffian.expressions.plain import PlainFloat
from certune.pfaffian.expressions.rounding import floor_of, nearest_to
from certune.pfaffian.expressions.simplification import RULES
from certune.pfaffian.programs.decisions import (
    Relation,
    SymbolicValueError,
    compared,
    current_oracle,
    outside_programs,
)

_NODES: WeakValueDictionary[Any, Expression] = WeakValueDictionary()

Point = Mapping[str, Any]

# Numbers that have another arithmetic, or none with floats.
_OTHER_ARITHMETIC = (PlainFloat, Decimal)

# Equal numbers of these types are the same constant, and have the same hash.
_QUICK_NUMBERS = frozenset((int, float))


class Expression:
    """A function of real parameters, built from operators.

    Expressions are made by `parameter`, `constant`, the functions of `certune.pfaffian`, and
    arithmetic; never by calling the class. ``==`` compares values, as ``<`` does, and inside of a
    program is a branch; for sameness of formulas use ``is``: they are the same object.

    Attributes
    ----------
    operation : Operation or None
        The outermost operator; None for parameters and constants.
    arguments : tuple of Expression
        What it is applied to.
    name : str or None
        Name of a parameter.
    value : Fraction or None
        Value of a constant.
    parameters : tuple of str
        Names of the parameters that occur, sorted.
    least : int
        1 if the structure shows that it is positive wherever defined, 0 if not negative, else -1.

    Examples
    --------
    >>> from certune.pfaffian import exp, parameter
    >>> a = parameter("a")
    >>> f = exp(a) ** 2 + a**3
    >>> f is exp(a) ** 2 + a**3
    True
    >>> print(f.derivative("a"))
    2*exp(a)*exp(a) + 3*a**2
    >>> f.complexity
    Complexity(chain_length=1, chain_degree=1, function_degree=3)
    """

    __slots__ = (
        "__weakref__",
        "arguments",
        "key",
        "least",
        "memory",
        "name",
        "operation",
        "parameters",
        "value",
    )

    operation: Operation | None
    arguments: tuple[Expression, ...]
    name: str | None
    value: Fraction | None
    parameters: tuple[str, ...]
    least: int
    memory: Any
    key: tuple[int, str] | None

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return elementwise(ufunc, method, inputs, options)

    def __new__(cls) -> Expression:
        """Refuse: expressions are built, see the class."""
        raise TypeError(
            "an Expression is made by parameter(...), constant(...) and operators, not by calling "
            "the class"
        )

    def __reduce__(self) -> Any:
        if self.operation is None:
            return (parameter, (self.name,)) if self.name else (constant, (self.value,))
        return _node, (self.operation, self.arguments)

    # Arithmetic

    def __add__(self, other: Any) -> Expression:
        return _binary(ADD, self, other)

    def __radd__(self, other: Any) -> Expression:
        return _binary(ADD, other, self)

    def __sub__(self, other: Any) -> Expression:
        return _binary(SUBTRACT, self, other)

    def __rsub__(self, other: Any) -> Expression:
        return _binary(SUBTRACT, other, self)

    def __mul__(self, other: Any) -> Expression:
        return _binary(MULTIPLY, self, other)

    def __rmul__(self, other: Any) -> Expression:
        return _binary(MULTIPLY, other, self)

    def __truediv__(self, other: Any) -> Expression:
        return _binary(DIVIDE, self, other)

    def __rtruediv__(self, other: Any) -> Expression:
        return _binary(DIVIDE, other, self)

    def __pow__(self, other: Any) -> Expression:
        return _binary(POWER, self, other)

    def __rpow__(self, other: Any) -> Expression:
        return _binary(POWER, other, self)

    def __floordiv__(self, other: Any) -> Expression:
        return _rounded_quotient(self, other)

    def __rfloordiv__(self, other: Any) -> Expression:
        return _rounded_quotient(other, self)

    def __mod__(self, other: Any) -> Expression:
        return _remainder(self, other)

    def __rmod__(self, other: Any) -> Expression:
        return _remainder(other, self)

    def __divmod__(self, other: Any) -> tuple[Expression, Expression]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Expression, Expression]:
        return other // self, other % self

    def __neg__(self) -> Expression:
        return apply(MULTIPLY, -1, self)

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        return self if self >= 0 else -self

    # Conditions

    def __ge__(self, other: Any) -> bool:
        return _compare(self, Relation.AT_LEAST, other)

    def __gt__(self, other: Any) -> bool:
        return _compare(self, Relation.MORE, other)

    def __le__(self, other: Any) -> bool:
        return _compare(self, Relation.AT_MOST, other)

    def __lt__(self, other: Any) -> bool:
        return _compare(self, Relation.LESS, other)

    def __eq__(self, other: object) -> bool:
        return _compare(self, Relation.EQUAL, other)

    def __ne__(self, other: object) -> bool:
        return _compare(self, Relation.DIFFERENT, other)

    def __bool__(self) -> bool:
        return self != 0

    # Numbers that are equal have the same hash. What a program hashes is a number, so that an
    # expression which is not known to be a rational one is refused there.
    def __hash__(self) -> int:
        if self.value is not None:
            return hash(self.value)
        if current_oracle() is not None:
            raise self.refusal("has no hash", "keep it in a list in place of a set or dictionary")
        return object.__hash__(self)

    # Whole numbers

    def __floor__(self) -> int:
        return floor_of(self)

    def __ceil__(self) -> int:
        return -floor_of(-self)

    def __trunc__(self) -> int:
        return floor_of(self) if self >= 0 else -floor_of(-self)

    __int__ = __trunc__

    def __round__(self, ndigits: int | None = None) -> Any:
        if ndigits is None:
            return nearest_to(self)
        scale = Fraction(10) ** operator.index(ndigits)
        # The float next to a decimal fraction, as Python's round returns: it equals ``0.3``.
        return float(nearest_to(self * scale) / scale)

    def is_integer(self) -> bool:
        """Tell whether the value is a whole number."""
        return self == floor_of(self)

    def as_integer_ratio(self) -> tuple[int, int]:
        """Return numerator and denominator of a number that is known to be rational."""
        if self.value is None:
            raise self.refusal("has no numerator here", "compute with it as it is")
        return self.value.as_integer_ratio()

    # Functions, under the names by which numpy calls them on the elements of its arrays

    def exp(self) -> Expression:
        """Return the exponential."""
        return apply(EXP, self)

    def log(self) -> Expression:
        """Return the natural logarithm."""
        return apply(LOG, self)

    def sqrt(self) -> Expression:
        """Return the square root."""
        return apply(SQRT, self)

    def arctan(self) -> Expression:
        """Return the inverse tangent."""
        return apply(ATAN, self)

    def tanh(self) -> Expression:
        """Return the hyperbolic tangent."""
        return apply(TANH, self)

    # The rest of what a float has

    @property
    def real(self) -> Expression:
        """The number itself."""
        return self

    @property
    def imag(self) -> int:
        """Zero: expressions are real."""
        return 0

    def conjugate(self) -> Expression:
        """Return the number itself."""
        return self

    def hex(self) -> str:
        """Return the hexadecimal form of the nearest float."""
        return float(self).hex()

    def refusal(self, what: str, remedy: str) -> SymbolicValueError:
        """Return the error of a question that only a known number can answer."""
        if self.name is not None:
            subject = f"the parameter {self.name}"
        elif self.parameters:
            subject = f"{self.to_text()} depends on {', '.join(self.parameters)} and"
        else:
            subject = f"{self.to_text()} is not known as a rational number and"
        return SymbolicValueError(f"{subject} {what}; {remedy}")

    # Interpreters

    @outside_programs()
    def __float__(self) -> float:
        from certune.pfaffian.expressions.evaluation import nearest_float

        return nearest_float(self)

    def __call__(self, **point: Any) -> float:
        """Evaluate in floats, ``f(alpha=0.5)``."""
        return self.evaluate(point)

    @outside_programs()
    def evaluate(self, point: Point) -> float:
        """Evaluate in floats, operator by operator.

        Parameters
        ----------
        point : mapping of name to number
            A value for each parameter.

        Returns
        -------
        float
            The rounded value; `enclose` says how far off it can be.
        """
        from certune.pfaffian.expressions.evaluation import evaluate

        return evaluate(self, point)

    @outside_programs()
    def enclose(self, point: Point, precision: int = 64) -> Any:
        """Return a ball that contains the value, or all values over a box.

        Parameters
        ----------
        point : mapping of name to number, pair or arb
            A number, an interval (low, high) or a ball for each parameter.
        precision : int
            Working precision in bits.

        Returns
        -------
        flint.arb
            A ball; it is not finite where the expression is not known to be defined.
        """
        from certune.pfaffian.expressions.evaluation import enclose

        return enclose(self, point, precision)

    @outside_programs()
    def sign(self, point: Point | None = None) -> int | None:
        """Return the sign -1, 0 or 1 at a point or on a box, None if it is not proved."""
        from certune.pfaffian.expressions.evaluation import sign_at

        return sign_at(self, {} if point is None else point)

    @outside_programs()
    def derivative(self, name: str) -> Expression:
        """Return the partial derivative with respect to a parameter."""
        from certune.pfaffian.expressions.calculus import derivative

        return derivative(self, name)

    @outside_programs()
    def substitute(self, values: Mapping[str, Any]) -> Expression:
        """Return the composition with expressions or numbers in place of some parameters."""
        from certune.pfaffian.expressions.calculus import substitute

        return substitute(self, values)

    @property
    @outside_programs()
    def chain(self) -> Any:
        """A Pfaffian chain on which this function is a polynomial (``def:pfaffian-chain``)."""
        from certune.pfaffian.chains.construction import chain_of

        return chain_of([self]).chain

    @property
    @outside_programs()
    def complexity(self) -> Any:
        """Chain length q, Pfaffian degree M and degree Delta on the automatic chain."""
        from certune.pfaffian.chains.construction import chain_of

        return chain_of([self]).complexity

    @outside_programs()
    def to_latex(self) -> str:
        """Return the LaTeX form."""
        from certune.pfaffian.expressions.printing import latex

        return latex(self)

    @outside_programs()
    def to_text(self) -> str:
        """Return the formula as text, also inside of a program."""
        from certune.pfaffian.expressions.printing import text

        return text(self)

    def _repr_latex_(self) -> str:
        return f"${self.to_latex()}$"

    def __str__(self) -> str:
        return self.to_text() if current_oracle() is None else repr(self._printed())

    def __repr__(self) -> str:
        if current_oracle() is None:
            return f"Expression({self.to_text()})"
        return repr(self._printed())

    def __format__(self, specification: str) -> str:
        if current_oracle() is None and (self.parameters or not specification):
            return format(self.to_text(), specification)
        return format(self._printed(), specification)

    def _printed(self) -> float:
        """The float that a program prints, whose digits may not depend on parameters."""
        if self.parameters:
            raise self.refusal("has no digits", "to look at it, print value.to_text()")
        return float(self)


def _make(
    key: Any,
    operation: Operation | None,
    arguments: tuple[Expression, ...],
    parameters: tuple[str, ...],
) -> Expression:
    node: Expression = object.__new__(Expression)
    node.operation, node.arguments, node.parameters = operation, arguments, parameters
    node.name = node.value = node.memory = node.key = None
    node.least = -1 if operation is None else operation.least(*arguments)
    _NODES[key] = node
    return node


def _node(operation: Operation, arguments: tuple[Expression, ...]) -> Expression:
    # An expression keeps its arguments alive, so that their addresses name them.
    key = (operation, *map(id, arguments))
    node = _NODES.get(key)
    if node is None:
        names = arguments[0].parameters
        for argument in arguments[1:]:
            if argument.parameters is not names and argument.parameters:
                names = tuple(sorted({*names, *argument.parameters}))
        node = _make(key, operation, arguments, names)
    return node


def parameter(name: str) -> Expression:
    """Return the expression that is a real parameter.

    Parameters
    ----------
    name : str
        A non-empty name without spaces.
    """
    if not isinstance(name, str) or not name or len(name.split()) != 1:
        raise ParameterError(f"a parameter needs a name without spaces, got {name!r}")
    node = _NODES.get(name)
    if node is None:
        node = _make(name, None, (), (name,))
        node.name = name
    return node


def parameters(names: str) -> tuple[Expression, ...]:
    """Return several parameters, as in ``alpha, beta = parameters("alpha beta")``."""
    return tuple(parameter(name) for name in names.replace(",", " ").split())


def constant(value: Any) -> Expression:
    """Return the expression that is an exact number.

    Parameters
    ----------
    value : int, Fraction, float, or a number of numpy
        A finite number; a float is taken as the dyadic rational that it is.
    """
    # Numbers of different types are equal as keys if they are equal.
    if type(value) in (int, float, Fraction):
        node = _NODES.get(value)
        if node is not None:
            return node
    exact = _exact(value)
    if exact is None:
        raise InputError(
            f"a constant must be a finite int, Fraction or float, got {value!r} of type "
            f"{type(value).__name__}"
        )
    node = _NODES.get(exact)
    if node is None:
        node = _make(exact, None, (), ())
        node.value = exact
        node.least = 1 if exact > 0 else 0 if exact == 0 else -1
    return node


def _exact(value: Any) -> Fraction | None:
    try:
        if isinstance(value, np.bool_):
            return Fraction(bool(value))
        if hasattr(value, "__index__"):
            return Fraction(operator.index(value))
        return Fraction(*value.as_integer_ratio())
    except (AttributeError, TypeError, ValueError, OverflowError):
        return None


def _is_number(value: Any) -> bool:
    # Arrays answer for themselves, element by element.
    return (hasattr(value, "as_integer_ratio") or hasattr(value, "__index__")) and not isinstance(
        value, np.ndarray
    )


def as_expression(value: Any) -> Expression:
    """Return an expression as it is, and a number as a constant."""
    return value if isinstance(value, Expression) else constant(value)


def _binary(operation: Operation, first: Any, second: Any) -> Expression:
    oracle = current_oracle()
    made = None if oracle is None else oracle.made
    if oracle is None or made is None:
        return _converted(operation, first, second)
    # By numbers and addresses, told apart by their places.
    key: tuple[Any, ...]
    if type(first) is not Expression:
        if type(first) not in _QUICK_NUMBERS:
            return _converted(operation, first, second)
        key = (operation, first, id(second), 1)
    elif type(second) is not Expression:
        if type(second) not in _QUICK_NUMBERS:
            return _converted(operation, first, second)
        key = (operation, id(first), second, 2)
    else:
        key = (operation, id(first), id(second))
    known = made.get(key)
    if known is None:
        n_decisions = oracle.n_decisions
        found = _converted(operation, first, second)
        if oracle.n_decisions != n_decisions:
            return found  # whether it has a value was decided, and may be decided otherwise
        # With its arguments, so that their addresses name no others.
        known = made[key] = (found, first, second)
    result: Expression = known[0]
    return result


def _converted(operation: Operation, first: Any, second: Any) -> Expression:
    if not isinstance(first, Expression):
        if not _is_number(first) or isinstance(first, _OTHER_ARITHMETIC):
            return NotImplemented  # type: ignore[no-any-return]
        first = constant(first)
    elif not isinstance(second, Expression):
        if not _is_number(second) or isinstance(second, _OTHER_ARITHMETIC):
            return NotImplemented  # type: ignore[no-any-return]
        second = constant(second)
    return _applied(operation, (first, second))


def _rounded_quotient(first: Any, second: Any) -> Expression:
    quotient = _binary(DIVIDE, first, second)
    return quotient if quotient is NotImplemented else constant(floor_of(quotient))


def _remainder(first: Any, second: Any) -> Expression:
    whole = _rounded_quotient(first, second)
    return whole if whole is NotImplemented else first - second * whole


def _compare(first: Expression, relation: Relation, second: Any) -> bool:
    if not isinstance(second, Expression):
        if isinstance(second, complex) and relation in (Relation.EQUAL, Relation.DIFFERENT):
            if second.imag:
                return relation is Relation.DIFFERENT
            second = second.real
        if not _is_number(second) or isinstance(second, PlainFloat):
            return NotImplemented  # type: ignore[no-any-return]
        if isinstance(second, (float, np.floating)) and not math.isfinite(second):
            # Every value is finite, and compares with these as 0 does.
            return bool(relation.of_numbers(0.0, second))
        second = constant(second)
    return compared(first, relation, second)


def apply(operation: Operation, *arguments: Any) -> Expression:
    """Apply an operator to expressions and numbers; constants are folded where they stay rational.

    Parameters
    ----------
    operation : Operation
        A row of `certune.pfaffian.expressions.operations`.
    *arguments : Expression or number
        Its arguments.
    """
    return _applied(operation, tuple(as_expression(argument) for argument in arguments))


def _applied(operation: Operation, arguments: tuple[Expression, ...]) -> Expression:
    guard = GUARDS.get(operation)
    if guard is not None and current_oracle() is not None:
        special = guard(*arguments)
        if special is not None:
            return constant(special)
    rule = RULES.get(operation)
    if rule is None:
        return _node(operation, arguments)
    outcome = rule(*arguments)
    if outcome is None:
        return _node(operation, arguments)
    if isinstance(outcome, Expression):
        return outcome
    if isinstance(outcome, Fraction):
        return constant(outcome)
    return apply(*outcome)
