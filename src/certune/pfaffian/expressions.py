"""Expressions in real parameters: an immutable graph in which equal subexpressions are one object.

An expression is a parameter, an exact constant, or an operator of `certune.pfaffian.operations`
applied to expressions.  Numbers are exact: a float is the dyadic rational that it is.  Building
the same expression twice gives the same object, so that shared subexpressions count once on a
chain and are evaluated once.

Comparing expressions (``v >= 0``, ``u < v``, ``u == v``) gives a `Comparison`; taking it as a
truth value is the conditional statement of ``def:paffian-gj-algorithm``.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from fractions import Fraction
from typing import Any
from weakref import WeakValueDictionary

from certune.errors import InputError, ParameterError
from certune.pfaffian.decisions import Comparison, Relation
from certune.pfaffian.operations import ADD, DIVIDE, MULTIPLY, POWER, SUBTRACT, Operation
from certune.pfaffian.simplification import RULES

_NODES: WeakValueDictionary[Any, Expression] = WeakValueDictionary()

Point = Mapping[str, Any]


class Expression:
    """A function of real parameters, built from operators.

    Expressions are made by `parameter`, `constant`, the functions of `certune.pfaffian`, and
    arithmetic; never by calling the class. ``==`` is a condition of a program, as ``<`` is; for
    sameness use ``is``: equal expressions are the same object.

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
        "memory",
        "name",
        "operation",
        "parameters",
        "value",
    )

    # numpy scalars hand `x * expression` over to this class.
    __array_ufunc__ = None

    operation: Operation | None
    arguments: tuple[Expression, ...]
    name: str | None
    value: Fraction | None
    parameters: tuple[str, ...]
    memory: Any
    key: tuple[int, str] | None

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

    def __neg__(self) -> Expression:
        return apply(MULTIPLY, -1, self)

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        return self if self >= 0 else -self

    # Conditions

    def __ge__(self, other: Any) -> Comparison:
        return _compare(self, Relation.AT_LEAST, other)

    def __gt__(self, other: Any) -> Comparison:
        return _compare(self, Relation.MORE, other)

    def __le__(self, other: Any) -> Comparison:
        return _compare(self, Relation.AT_MOST, other)

    def __lt__(self, other: Any) -> Comparison:
        return _compare(self, Relation.LESS, other)

    def __eq__(self, other: Any) -> Any:
        return _compare(self, Relation.EQUAL, other)

    def __ne__(self, other: Any) -> Any:
        return _compare(self, Relation.DIFFERENT, other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError(
            f"the truth value of the expression {self} is not defined; compare it, as in "
            "`if v >= 0`"
        )

    # Interpreters

    def __float__(self) -> float:
        from certune.pfaffian.evaluation import nearest_float

        return nearest_float(self)

    def __call__(self, **point: Any) -> float:
        """Evaluate in floats, ``f(alpha=0.5)``."""
        return self.evaluate(point)

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
        from certune.pfaffian.evaluation import evaluate

        return evaluate(self, point)

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
        from certune.pfaffian.evaluation import enclose

        return enclose(self, point, precision)

    def sign(self, point: Point | None = None) -> int | None:
        """Return the sign -1, 0 or 1 at a point or on a box, None if it is not proved."""
        from certune.pfaffian.evaluation import sign_at

        return sign_at(self, {} if point is None else point)

    def derivative(self, name: str) -> Expression:
        """Return the partial derivative with respect to a parameter."""
        from certune.pfaffian.calculus import derivative

        return derivative(self, name)

    def substitute(self, values: Mapping[str, Any]) -> Expression:
        """Return the composition with expressions or numbers in place of some parameters."""
        from certune.pfaffian.calculus import substitute

        return substitute(self, values)

    @property
    def chain(self) -> Any:
        """A Pfaffian chain on which this function is a polynomial (``def:pfaffian-chain``)."""
        from certune.pfaffian.construction import chain_of

        return chain_of([self]).chain

    @property
    def complexity(self) -> Any:
        """Chain length q, Pfaffian degree M and degree Delta on the automatic chain."""
        from certune.pfaffian.construction import chain_of

        return chain_of([self]).complexity

    def to_latex(self) -> str:
        """Return the LaTeX form."""
        from certune.pfaffian.printing import latex

        return latex(self)

    def _repr_latex_(self) -> str:
        return f"${self.to_latex()}$"

    def __str__(self) -> str:
        from certune.pfaffian.printing import text

        return text(self)

    def __repr__(self) -> str:
        return f"Expression({self})"


def _make(
    key: Any,
    operation: Operation | None,
    arguments: tuple[Expression, ...],
    parameters: tuple[str, ...],
) -> Expression:
    node: Expression = object.__new__(Expression)
    node.operation, node.arguments, node.parameters = operation, arguments, parameters
    node.name = node.value = node.memory = node.key = None
    _NODES[key] = node
    return node


def _node(operation: Operation, arguments: tuple[Expression, ...]) -> Expression:
    key = (operation, arguments)
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
    return node


def _exact(value: Any) -> Fraction | None:
    try:
        if hasattr(value, "__index__"):
            return Fraction(operator.index(value))
        return Fraction(*value.as_integer_ratio())
    except (AttributeError, TypeError, ValueError, OverflowError):
        return None


def _is_number(value: Any) -> bool:
    return hasattr(value, "as_integer_ratio") or hasattr(value, "__index__")


def as_expression(value: Any) -> Expression:
    """Return an expression as it is, and a number as a constant."""
    return value if isinstance(value, Expression) else constant(value)


def _binary(operation: Operation, first: Any, second: Any) -> Expression:
    if not isinstance(first, Expression):
        if not _is_number(first):
            return NotImplemented  # type: ignore[no-any-return]
        first = constant(first)
    elif not isinstance(second, Expression):
        if not _is_number(second):
            return NotImplemented  # type: ignore[no-any-return]
        second = constant(second)
    return _applied(operation, (first, second))


def _compare(first: Expression, relation: Relation, second: Any) -> Comparison:
    if not isinstance(second, Expression):
        if not _is_number(second):
            return NotImplemented  # type: ignore[no-any-return]
        second = constant(second)
    return Comparison(first, relation, second)


def apply(operation: Operation, *arguments: Any) -> Expression:
    """Apply an operator to expressions and numbers; constants are folded where they stay rational.

    Parameters
    ----------
    operation : Operation
        A row of `certune.pfaffian.operations`.
    *arguments : Expression or number
        Its arguments.
    """
    return _applied(operation, tuple(as_expression(argument) for argument in arguments))


def _applied(operation: Operation, arguments: tuple[Expression, ...]) -> Expression:
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
