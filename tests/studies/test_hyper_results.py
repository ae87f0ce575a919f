import pytest


def rows_of(method: str, first: int, values: list[float], seconds: float = 1.0) -> dict:
    return {
        "method": method,
        "n": 5,
        "first": first,
        "count": len(values),
        "nll": values,
        "expected_nll": values,
        "seconds": seconds,
    }


def test_methods_are_paired_on_the_datasets_that_both_have_seen():
    from hyper_results import results  # pyright: ignore[reportMissingImports]

    found = results(
        [
            rows_of("oracle", 0, [1.0, 2.0]),
            rows_of("oracle", 2, [3.0, 40.0]),
            rows_of("costly", 0, [1.5, 2.5, 3.9]),
        ]
    )
    gap = found["costly"][5].above(found["oracle"][5])
    assert gap.count == 3
    assert gap.mean == pytest.approx((0.5 + 0.5 + 0.9) / 3)
    assert found["oracle"][5].mean_nll().mean == pytest.approx(11.5)


def test_seconds_are_per_dataset_whatever_the_size_of_the_rows():
    from hyper_results import Answers  # pyright: ignore[reportMissingImports]

    rows = [rows_of("oracle", 0, [1.0] * 3, seconds=1.0), rows_of("oracle", 3, [1.0], seconds=5.0)]
    assert Answers.of(rows).seconds == pytest.approx(2.0)


def test_a_dataset_is_the_same_alone_and_among_others():
    import torch
    from gp_hyper_priors import HYPER_GP, drawn  # pyright: ignore[reportMissingImports]

    some, alone = drawn(HYPER_GP, 4, range(3), seed=0), drawn(HYPER_GP, 4, range(2, 3), seed=0)
    assert torch.equal(some.context_y[2:], alone.context_y)
    assert torch.equal(some.query_law.loc[2:], alone.query_law.loc)
    assert some.query_y.shape == (3, 1)
