"""Cards of results in notebooks."""

from fractions import Fraction

import certune as ct
from certune.cards import card, curve, rows_of
from certune.testing import StepFamily, StepInstance


def test_a_result_and_an_evaluation_have_cards():
    instances = [StepInstance((0.5,), (Fraction(0), Fraction(1)), name="a")]
    result = ct.tune(StepFamily(), instances)
    text = result._repr_html_()
    assert "StepFamily: OPTIMAL" in text and "x in [0.5, 1]" in text
    others = [StepInstance((0.25,), (Fraction(0), Fraction(1)), name="b")]
    assert "mean utility over 1 instance:" in result.evaluate(others)._repr_html_()


def test_values_are_a_line_in_a_shell_and_a_card_in_a_notebook():
    instances = ct.datasets.random_clustering(5, n_clusters=2, n_per_cluster=4)
    result = ct.tune(ct.Linkage(alpha=(-1, 1)), instances[:4])
    a, f = ct.pfaffian.parameters("a f")
    structure = ct.Linkage().structure(8)
    shown = (
        result.guarantee(),
        result.guarantee().tightest,
        result.evaluation,
        result.evaluate(instances[4:]),
        result.cross_validate(),
        result.learning_curve(),
        result.bootstrap(n_resamples=20),
        result.instances_needed(0.1)[0],
        ct.pdim_bound(structure),
        ct.sample_size(structure, epsilon=0.1, delta=0.05),
        ct.pfaffian.Chain({"f": ct.pfaffian.exp(a)}, {"f": {"a": f}}),
    )
    tuner = ct.OnlineTuner(result.family, random_state=0)
    blank = repr(tuner)
    for instance in instances:
        tuner.update(instance)
    spread = ct.dispersion(result.duals)
    halves = [[0, 1, 0, 1], [1, 2, 0, 1]]
    cells = ct.CellMap(("x", "y"), halves, [Fraction(0), Fraction(1, 2)], [Fraction(0), 1])
    assert "no round yet" in blank and "best 0" in repr(cells)
    assert repr(tuner).startswith(f"<OnlineTuner: rounds {len(instances)} of")
    sliver = [[0, 1, 0, 1], [1, 1.00001, 0, 1]]
    nearly = ct.CellMap(("x", "y"), sliver, [Fraction(1), Fraction(0)], [Fraction(1), 1])
    assert "99.99% of the plane proved" in str(nearly)
    assert nearly.plot().axes[0].get_title() == "1 value, proved on 99.99%"
    shown += (
        result.certificate,
        ct.verify(result.certificate, result.family, instances[:4]),
        ct.tune_stream(result.family, iter(instances)),
        tuner,
        tuner.regret(),
        spread,
        spread.compare(lambda size, width: size),
        cells,
    )
    for value in shown:
        assert len(repr(value)) < 250 and "\n" not in repr(value), repr(value)
        markup = value._repr_html_()
        assert markup.startswith("<div") and markup.endswith("</div>")
        assert "object at" not in markup
    for function in (result.landscape, *result.duals):
        assert "polyline" in function._repr_html_() and "undecided" in function._repr_html_()


def test_a_curve_has_gaps_where_nothing_is_known():
    drawn = curve([0.0, 1.0, float("nan"), 0.5, 0.5])
    assert drawn.count("<polyline") == 2 and 'aria-label="from 0 to 1"' in drawn
    assert curve([float("nan")]) == ""


def test_text_cannot_break_a_card():
    assert "<b>" not in card("<b>", [("<b>", "<b>")])


def test_rows_are_cut_at_two_spaces():
    assert rows_of("status    OPTIMAL: nothing\nnote: one line") == [
        ["status", "OPTIMAL: nothing"],
        ["note: one line"],
    ]


def test_tables_in_a_summary_keep_their_columns_and_sentences_stand_alone():
    text = "a sentence\nbound  optimism  from\nMassart  1.5  12 instances\nbest  0.5"
    assert rows_of(text)[1:3] == [["bound", "optimism", "from"], ["Massart", "1.5", "12 instances"]]
    markup = card("Title", rows_of(text))
    assert markup.count("<tr><td") == 1 and "colspan=3>a sentence</td>" in markup
    assert markup.count("<th ") == 3 and "colspan=2>0.5</td>" in markup
