import pytest


def rows_of(method: str, budget: int, kl: list[float], seconds: float, first: int = 0, shift: float = 0.0) -> dict:
    return {
        "case": "small",
        "method": method,
        "budget": budget,
        "first": first,
        "count": len(kl),
        "nll": [0.25 + shift * (first + i) + value for i, value in enumerate(kl)],
        "accuracy": [0.9] * len(kl),
        "kl": kl,
        "seconds": seconds,
        "seconds_alone": 2 * seconds,
        "version": "",
    }


PFN = rows_of("PFN", 0, [0.002] * 4, 0.001)
TRUTH = rows_of("CollapsedBNN", 8, [0.0] * 4, 0.1)


def curves(*rows: dict) -> dict:
    from bnn_results import results  # pyright: ignore[reportMissingImports]

    return results([PFN, TRUTH, *rows])["small"]


def test_rows_of_a_budget_are_one_and_budgets_are_sorted():
    some = curves(
        rows_of("SVI", 16, [0.01], 4.0),
        rows_of("SVI", 4, [0.1, 0.2], 1.0),
        rows_of("SVI", 4, [0.3], 4.0, first=2),
    )["SVI"]
    assert [each.budget for each in some] == [4, 16]
    assert some[0].kl == {0: 0.1, 1: 0.2, 2: 0.3}
    assert some[0].seconds == pytest.approx(2.0)


def test_the_time_to_come_close_lies_between_the_budgets_around_it():
    from bnn_results import CLOSE, reached_at  # pyright: ignore[reportMissingImports]

    def of(*budgets):
        return curves(*(rows_of("SVI", budget, [0.5], 1.0) for budget in budgets))["SVI"]

    # from 0.1 above the PFN to 0.001 above it in two powers of ten: 0.01 is half-way
    assert CLOSE == 0.01
    assert reached_at(of(4, 8), [0.1, 0.001], [1.0, 100.0]) == pytest.approx(10.0)
    assert reached_at(of(4, 5), [0.1, 0.001], [1.0, 100.0]) == 100.0  # there is none between
    assert reached_at(of(4), [0.1], [1.0]) is None
    assert reached_at(of(4), [0.001], [100.0]) == 100.0


def test_a_baseline_overtakes_only_beyond_its_interval():
    from bnn_results import overtakes  # pyright: ignore[reportMissingImports]

    pfn = curves()["PFN"][0]
    unsure = rows_of("SVI", 4, [0.0, 0.0039, 0.0, 0.0039], 1.0)
    sure = rows_of("SVI", 16, [0.001, 0.0011, 0.0009, 0.001], 8.0)
    assert overtakes(curves(unsure)["SVI"], pfn) is None
    assert overtakes(curves(unsure, sure)["SVI"], pfn) == 8.0


def test_an_nll_of_few_datasets_is_told_at_the_level_of_all():
    from bnn_results import results  # pyright: ignore[reportMissingImports]

    truth = rows_of("CollapsedBNN", 8, [0.0] * 4, 0.1, shift=0.1)
    few = rows_of("SVI", 4, [0.05, 0.05], 1.0, shift=0.1)
    some = results([truth, few])["small"]
    level = some["CollapsedBNN"][0].mean_nll(some["CollapsedBNN"][0])
    estimate = some["SVI"][0].mean_nll(some["CollapsedBNN"][0])
    assert estimate.mean == pytest.approx(level.mean + 0.05)
    assert estimate.half_width == pytest.approx(level.half_width)


def test_the_time_to_come_close_has_an_interval_over_datasets():
    from bnn_results import times_interval  # pyright: ignore[reportMissingImports]

    def of(first, second):
        some = curves(rows_of("SVI", 4, first, 1.0), rows_of("SVI", 8, second, 10.0))
        return times_interval(some["SVI"], some["PFN"][0], 0)

    low, high = of([0.102] * 4, [0.0021] * 4)
    assert low == pytest.approx(high) and 1_000 < low < 10_000
    low, high = of([0.05, 0.1, 0.2, 0.4], [0.001, 0.002, 0.003, 0.004])
    assert 1_000 < low < high < 10_000
    assert of([0.1] * 4, [0.001, 0.001, 0.001, 0.05])[1] == float("inf")  # without the lucky ones it never comes


def test_a_ratio_is_to_the_pfn_timed_beside_unless_that_was_another():
    from bnn_results import spelled_times  # pyright: ignore[reportMissingImports]

    def of(version):
        beside = {"version": version, "seconds": 0.002, "seconds_alone": 0.01}
        some = curves(rows_of("SVI", 4, [0.005] * 4, 1.0) | {"beside": beside})
        return [spelled_times(some["SVI"], some["PFN"][0], which) for which in range(2)]

    assert of("") == ["500 [500, 500]", "100 [100, 100]"]
    assert of("another") == ["1,000 [1,000, 1,000]", "500 [500, 500]"]


def test_what_was_never_reached_is_told_so():
    from bnn_results import tell  # pyright: ignore[reportMissingImports]

    told = tell([PFN, TRUTH, rows_of("SVI", 4, [0.5] * 4, 3.0)])
    (line,) = [line for line in told.splitlines() if line.startswith("| SVI") and "never" in line]
    assert "never in 3" in line and "over 3,000" in line and "over 1,500" in line
    assert "0.2507" in told  # the paper's


def test_a_dataset_is_the_same_alone_and_among_others():
    import torch
    from bnn_time_vs_nll import CASES, drawn  # pyright: ignore[reportMissingImports]

    some, alone = (drawn(CASES[0].prior, indices, seed=0) for indices in (range(3), range(2, 3)))
    assert torch.equal(some.context_x[2:], alone.context_x)
    assert torch.equal(some.query_y[2:], alone.query_y)
    assert some.context_y.shape == (3, 100) and some.query_y.shape == (3, 200)


def test_all_methods_go_on_at_one_pace_and_costly_ones_come_late(tmp_path):
    import bnn_time_vs_nll  # pyright: ignore[reportMissingImports]
    from study import Rows, Setup  # pyright: ignore[reportMissingImports]

    jobs = bnn_time_vs_nll.jobs(Setup(Rows(tmp_path / "rows.jsonl", 0), tmp_path))
    keys = [(job.key["method"], job.key["budget"], job.key["case"], job.key["first"]) for job in jobs]
    assert keys.index(("NUTS, NumPyro", 4, "large", 5)) < keys.index(("NUTS, Pyro", 64, "small", 0))
    assert keys.index(("NUTS, Pyro", 64, "small", 0)) < keys.index(("NUTS, NumPyro", 4, "large", 95))
    assert len(set(keys)) == len(keys)


def test_the_collapsed_answer_of_another_seed_is_the_truth(tmp_path):
    import bnn_time_vs_nll  # pyright: ignore[reportMissingImports]
    from study import Rows, Setup  # pyright: ignore[reportMissingImports]

    rows = bnn_time_vs_nll.run(Setup(Rows(tmp_path / "rows.jsonl", 0), tmp_path, quick=True))
    assert {row["case"] for row in rows} == {"small", "small-tanh"}
    (collapsed,) = [row for row in rows if row["method"] == "CollapsedBNN"]
    assert 0 < max(collapsed["kl"]) < 0.01
    assert all(row["kl"] == [0.0] for row in rows if row["method"] == "long run of NUTS")
    versions = {row["case"]: row["version"] for row in rows if row["method"] == "PFN"}
    beside = [row for row in rows if row["method"] not in ("PFN", "long run of NUTS")]
    assert {row["method"] for row in beside} == {"CollapsedBNN", "SVI, learning rate 0.001", "NUTS, Pyro"}
    assert all(row["beside"]["version"] == versions[row["case"]] for row in beside)
    assert all(min(row["beside"]["seconds"], row["beside"]["seconds_alone"]) > 0 for row in beside)


def test_what_has_been_kept_is_told_and_drawn_before_the_end(tmp_path, monkeypatch, capsys):
    import sys

    import bnn_time_vs_nll  # pyright: ignore[reportMissingImports]
    import study  # pyright: ignore[reportMissingImports]

    setup = study.Setup(study.Rows(tmp_path / "quick" / "results" / "bnn_time_vs_nll.jsonl", 0), tmp_path, quick=True)
    first = [job for job in bnn_time_vs_nll.jobs(setup) if job.key["case"] == "small" and job.key["budget"] in (4, 512)]
    for job in first[:2]:  # CollapsedBNN on both datasets, SVI on one
        setup.rows.add(job.key, job.find_out())
    monkeypatch.setattr(study, "BUILD", tmp_path)
    monkeypatch.setattr(sys, "argv", ["study", "--quick", "--kept", "--threads=1"])
    monkeypatch.setattr(study.Rows, "add", lambda *_: pytest.fail("this computes"))
    bnn_time_vs_nll.STUDY.main()
    told = capsys.readouterr().out
    assert "| CollapsedBNN" in told and "| SVI" in told and "NUTS," not in told
    assert (tmp_path / "quick" / "figures" / "bnn_time_vs_nll.png").exists()


def test_no_two_entries_of_the_legend_look_alike():
    from bnn_results import draw  # pyright: ignore[reportMissingImports]
    from matplotlib import pyplot as plt
    from matplotlib.lines import Line2D

    figure = draw([PFN, TRUTH, rows_of("SVI", 16, [0.01, 0.02], 4.0)])
    lines = [each for ax in figure.axes for each in ax.get_lines() if not each.get_label().startswith("_")]
    looks = {line.get_label(): (line.get_color(), line.get_linestyle(), line.get_marker()) for line in lines}
    assert {"NLL of the truth", "0.005 nats: what is claimed"} <= set(looks)
    assert len(set(looks.values())) == len(looks) and all(isinstance(line, Line2D) for line in lines)
    plt.close(figure)
