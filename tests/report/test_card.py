"""Cards of results in notebooks."""

from fractions import Fraction

import certune as ct
from certune.report.card import card, rows_of
from certune.testing import StepFamily, StepInstance


def test_a_result_and_an_evaluation_have_cards():
    instances = [StepInstance((0.5,), (Fraction(0), Fraction(1)), name="a")]
    result = ct.tune(StepFamily(), instances)
    text = result._repr_html_()
    assert "StepFamily: OPTIMAL" in text and "x in [0.5, 1]" in text
    others = [StepInstance((0.25,), (Fraction(0), Fraction(1)), name="b")]
    assert "mean utility over 1 instances" in result.evaluate(others)._repr_html_()


def test_text_cannot_break_a_card():
    assert "<b>" not in card("<b>", [("<b>", "<b>")])


def test_rows_are_cut_at_two_spaces():
    assert rows_of("status    OPTIMAL: nothing\nnote: one line") == [
        ("status", "OPTIMAL: nothing"),
        ("", "note: one line"),
    ]
