import json
from pathlib import Path

import pytest
import torch

from priorfit.data import Classes, Real
from priorfit.errors import CheckpointError
from priorfit.network import (
    PFN,
    LinearEncoder,
    ModelCard,
    NetworkSettings,
    NormalHead,
    NormalMixtureHead,
    Problem,
    RiemannHead,
    SigmoidHead,
    SoftmaxHead,
    load_pfn,
)
from priorfit.seeding import seeded

TASKS = {
    "riemann": (RiemannHead(num_buckets=30), Problem(1, Real(), (0.0, 1.0))),
    "plain bounded riemann": (RiemannHead(30, "plain", "none"), Problem(1, Real(), (0.0, 1.0))),
    "normal": (NormalHead(), Problem(2, Real())),
    "mixture": (NormalMixtureHead(4), Problem(2, Real())),
    "sigmoid": (SigmoidHead(), Problem(1, Classes(2))),
    "softmax": (SoftmaxHead(), Problem(3, Classes(5))),
}


@pytest.fixture(params=TASKS.values(), ids=TASKS.keys())
def model(request: pytest.FixtureRequest) -> PFN:
    head, problem = request.param
    settings = NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16, output=head)
    with seeded(0):
        return PFN(settings, problem, ModelCard(name="x", trained_context=(0, 9)), torch.randn(200, 10) ** 2).eval()


def test_a_saved_model_comes_back_with_everything_it_knows(model: PFN, tmp_path: Path):
    model.save(tmp_path / "model")
    loaded = load_pfn(tmp_path / "model")
    assert (loaded.settings, loaded.problem, loaded.card) == (model.settings, model.problem, model.card)
    for name, value in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], value)
    assert not any(weight.requires_grad for weight in loaded.parameters())


def test_half_precision_narrows_weights_but_not_borders_and_units(model: PFN, tmp_path: Path):
    model.save(tmp_path / "half", dtype=torch.float16)
    loaded = load_pfn(tmp_path / "half").state_dict()
    learned = dict(model.named_parameters())
    for name, value in model.state_dict().items():
        expected = value.half().float() if name in learned else value
        assert torch.equal(loaded[name], expected)


def test_a_checkpoint_of_something_else_is_refused(model: PFN, tmp_path: Path):
    folder = tmp_path / "model"
    model.save(folder)
    config = json.loads((folder / "config.json").read_text())
    config["network"]["type"] = "os.system"
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match="not one of a model that this version can build"):
        load_pfn(folder)


def test_weights_that_do_not_fit_their_config_are_refused(tmp_path: Path):
    settings = NetworkSettings(width=16, layers=1, attention_heads=2, encoder=LinearEncoder())
    PFN(settings, Problem(1, Real())).save(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    config["network"]["width"] = 32
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match="do not fit"):
        load_pfn(tmp_path / "model")
