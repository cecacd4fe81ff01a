"""The certificate of a search over several parameters.

It says how the space was cut into boxes, and what is at most reached on each of them: of the mean
utility over the instances, or of what else was maximised. The
boxes follow from the cuts, so that they cover the space by construction; the bounds do not have to
be believed, :func:`certune.verify` proves them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from certune.aggregates import Criterion
from certune.box import Box
from certune.errors import CertificateError
from certune.families.base import Family
from certune.tuning.proof.sealed import SealedCertificate
from certune.tuning.schema import Fields, criterion_data, criterion_from, written
from certune.tuning.space.branching import Cover

LEAF = -1


@dataclass(frozen=True, kw_only=True, repr=False)
class BoxCertificate(SealedCertificate):
    """Claims about the optimum over several parameters, with their evidence.

    Attributes
    ----------
    family : dict
        What the family is, as `Family.description` says it.
    family_fingerprint : str
        Hash of the family.
    instance_fingerprints : tuple of str
        Hashes of all instances, in order.
    best_params : dict
        The best setting.
    best_value, upper_bound : Fraction
        Its mean utility, or what else `criterion` says, and a bound of it for all settings.
    cuts : tuple of int
        For every stratum of the space a binary tree of boxes, in preorder: the number of the edge
        at which a box was halved, or -1 for a box that was not. Empty if only lines were searched.
    uppers : tuple of Fraction
        For every box that was not halved a bound on it.
    criterion : Criterion
        What was maximised, with weights of all instances.
    checksum : str
        SHA-256 of everything else.
    """

    FORMAT_NAME: ClassVar[str] = "certune box certificate"
    OWN_FIELDS: ClassVar[tuple[str, ...]] = ("best_params", "cuts", "uppers")
    # Certificates about the mean without weights have neither.
    OPTIONAL_FIELDS: ClassVar[tuple[str, ...]] = ("aggregate", "weights")

    best_params: dict[str, Any]
    cuts: tuple[int, ...] = field(repr=False)
    uppers: tuple[Fraction, ...] = field(repr=False)
    criterion: Criterion = Criterion()

    def _own_content(self) -> dict[str, Any]:
        return {
            "best_params": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in self.best_params.items()
            },
            "cuts": list(self.cuts),
            "uppers": [written(upper) for upper in self.uppers],
            **criterion_data(self.criterion),
        }

    @classmethod
    def _own_fields(cls, stored: Fields) -> dict[str, Any]:
        return {
            "best_params": stored.point("best_params"),
            "cuts": stored.whole_numbers("cuts"),
            "uppers": stored.fractions("uppers"),
            "criterion": criterion_from(stored, len(stored.items("instance_fingerprints"))),
        }

    def leaves(self, family: Family) -> Iterator[tuple[Box, Fraction]]:
        """Yield the boxes that were not halved, with their bounds; see `leaves_within`."""
        for (*_, box), upper in self.leaves_within(family):
            yield box, upper

    def leaves_within(self, family: Family) -> Iterator[tuple[tuple[Box, ...], Fraction]]:
        """Yield the boxes that were not halved, behind those that they are parts of, with bounds.

        Raises
        ------
        CertificateError
            If the cuts are not those of the strata of the family's space.
        """
        cuts, uppers = iter(self.cuts), iter(self.uppers)
        for stratum in family.strata():
            pending: list[tuple[Box, ...]] = [(stratum,)]
            while pending:
                boxes = pending.pop()
                box = boxes[-1]
                cut = next(cuts, None)
                if cut == LEAF:
                    upper = next(uppers, None)
                    if upper is None:
                        raise CertificateError("The certificate has fewer bounds than boxes.")
                    yield boxes, upper
                elif (
                    cut is None
                    or not 0 <= cut < len(box.edges)
                    or not box.can_split(box.edges[cut])
                ):
                    raise CertificateError(
                        f"The cuts of the certificate do not fit the space: {cut!r} for {box!r}."
                    )
                else:
                    pending += [(*boxes, half) for half in reversed(box.split(box.edges[cut]))]
        if next(cuts, None) is not None or next(uppers, None) is not None:
            raise CertificateError("The certificate has more cuts or bounds than boxes.")


def make_box_certificate(
    family: Family,
    instance_fingerprints: Sequence[str],
    best_params: Mapping[str, Any],
    best_value: Fraction,
    upper_bound: Fraction,
    cover: Cover | None,
    criterion: Criterion,
) -> BoxCertificate:
    """Return the certificate of a search, with its checksum."""
    cuts: list[int] = []
    uppers: list[Fraction] = []
    if cover is not None:
        pending = list(reversed(range(len(family.strata()))))
        while pending:
            number = pending.pop()
            if number in cover.halves:
                edge, first, second = cover.halves[number]
                cuts.append(edge)
                pending += [second, first]
            else:
                cuts.append(LEAF)
                uppers.append(cover.uppers[number])
    return BoxCertificate(
        family=family.description,
        family_fingerprint=family.fingerprint,
        instance_fingerprints=tuple(instance_fingerprints),
        best_params=dict(best_params),
        best_value=best_value,
        upper_bound=upper_bound,
        cuts=tuple(cuts),
        uppers=tuple(uppers),
        criterion=criterion,
    ).sealed()
