"""Signs on intervals: proved where they are constant, never claimed where they are not."""

from flint import arb

from certune.exact import sign_on_interval


def polynomial(*coefficients):
    """Expansion of a polynomial given by its coefficients, exact, without tail."""

    def expand(centre, half, n_terms):
        shifted = [arb(c) for c in coefficients]
        for i in range(len(shifted)):
            for k in range(len(shifted) - 2, i - 1, -1):
                shifted[k] = shifted[k] + centre * shifted[k + 1]
        padded = shifted + [arb(0)] * (n_terms - len(shifted))
        return [c * half**k for k, c in enumerate(padded)], arb(0)

    return expand


def test_constant_signs_are_proved():
    assert sign_on_interval(polynomial(1, 0, 1), -3.0, 3.0) == 1
    assert sign_on_interval(polynomial(-1, 0, 1), 1.001, 3.0) == 1
    assert sign_on_interval(polynomial(-1, 0, 1), -0.999, 0.999) == -1


def test_a_change_of_sign_is_never_missed():
    assert sign_on_interval(polynomial(-1, 0, 1), 0.5, 3.0) is None
    assert sign_on_interval(polynomial(0, 0, 1), -1.0, 1.0) is None  # touches zero


def test_a_known_zero_at_an_end_is_divided_out():
    cubic = polynomial(0, 0, 1, 1)  # x^2 (1 + x): double zero at 0
    assert sign_on_interval(cubic, 0.0, 2.0, zeros_low=2) == 1
    assert sign_on_interval(cubic, -0.5, 0.0, zeros_high=2) == 1
    assert sign_on_interval(cubic, 0.0, 2.0) is None
    odd = polynomial(0, -1, 0, 1)  # x^3 - x
    assert sign_on_interval(odd, 0.0, 0.9, zeros_low=1) == -1
    assert sign_on_interval(odd, -0.9, 0.0, zeros_high=1) == 1
    assert sign_on_interval(odd, 0.0, 1.5, zeros_low=1) is None


def test_a_large_tail_prevents_a_claim():
    def vague(centre, half, n_terms):
        return [arb(1)] + [arb(0)] * (n_terms - 1), arb(2)

    assert sign_on_interval(vague, 0.0, 1.0) is None


def test_opposite_signs_at_the_ends_are_noticed_at_once():
    calls = []
    expand = polynomial(-1, 0, 1)

    def counted(centre, half, n_terms):
        calls.append(n_terms)
        return expand(centre, half, n_terms)

    assert sign_on_interval(counted, 0.999, 1.002) is None
    assert len(calls) == 1
