import json
from pathlib import Path
from typing import Any

import pytest
import torch
from web.node import needs_node, run_script

from priorfit.baselines.exact import exact
from priorfit.baselines.exact.hyper_gp_oracle import HyperGPOracle
from priorfit.description import describe
from priorfit.priors import GaussianProcess, HyperGaussianProcess, LinearRegression, Mixture, Prior

pytestmark = needs_node

X = torch.tensor([0.1, 0.35, 0.4, 0.8, 0.95], dtype=torch.float64)
Y = torch.tensor([0.3, -0.2, -0.4, 0.9, 0.5], dtype=torch.float64)
QUERIES = torch.linspace(0, 1, 7, dtype=torch.float64)


def answers(tmp_path: Path, *priors: Prior) -> list[dict[str, Any]]:
    """What the page's references say for some priors."""
    asked = [
        {"prior": describe(prior), "x": X.tolist(), "y": Y.tolist(), "query_x": QUERIES.tolist()} for prior in priors
    ]
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    return run_script("exact.mjs", tmp_path / "asked.json")


def test_exact_posteriors_are_those_of_python(tmp_path: Path) -> None:
    kernels = [GaussianProcess(kernel=name, lengthscale=0.2) for name in ("rbf", "matern12", "matern32", "matern52")]
    mixture = Mixture(kernels[:2], weights=[0.3, 0.7])
    priors = [*kernels, GaussianProcess(outputscale=4.0, noise=0.0), LinearRegression(noise=0.2), mixture]
    for prior, found in zip(priors, answers(tmp_path, *priors), strict=True):
        ppd = exact(prior).condition(X[:, None], Y).predict(QUERIES[:, None])
        assert found["name"] == "exact posterior"
        assert found["mean"] == pytest.approx(ppd.mean.tolist(), abs=1e-8)
        assert found["stddev"] == pytest.approx(ppd.stddev.tolist(), rel=1e-6)


def test_the_oracle_agrees_with_python_s_up_to_its_own_error(tmp_path: Path) -> None:
    prior = HyperGaussianProcess()
    (found,) = answers(tmp_path, prior)
    ppd = HyperGPOracle(prior, num_samples=4_000).condition(X[:, None], Y).predict(QUERIES[:, None])
    assert found["name"] == "oracle (importance sampling)"
    assert found["mean"] == pytest.approx(ppd.mean.tolist(), abs=0.1 * float(ppd.stddev.max()))
    assert found["stddev"] == pytest.approx(ppd.stddev.tolist(), rel=0.15)


def test_a_prior_without_an_exact_posterior_has_no_reference(tmp_path: Path) -> None:
    other = Mixture([GaussianProcess(), HyperGaussianProcess()])
    assert answers(tmp_path, other) == [None]
