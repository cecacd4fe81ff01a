"""Certified algorithm configuration: exact tuning with a proof of optimality.

This module is the front door. The public names are listed in ``__init__.pyi``; what is behind a
name is imported when the name is first used, so that ``import certune`` does not wait for a
solver or a plotting library.

Examples
--------
>>> import certune as ct
>>> ct.Real("alpha", -10, 10).name
'alpha'
"""

import lazy_loader

_lazy_attribute, _, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = sorted([*_names, "__version__"])


def __getattr__(name):
    if name == "__version__":
        from importlib.metadata import version

        return version("certune")
    if name not in __all__ and not name.startswith("_"):
        import difflib

        close = difflib.get_close_matches(name, __all__, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "dir(certune) lists the names there are"
        raise AttributeError(f"certune has no {name!r}; {hint}")
    return _lazy_attribute(name)


def __dir__():
    return sorted({*globals(), *__all__})
