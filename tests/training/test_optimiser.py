import re

import pytest
import torch
from torch import nn

from priorfit.data import Classes, Outcome, Real
from priorfit.errors import RecipeError
from priorfit.network import (
    ClassSolver,
    Harmonics,
    LatentSolver,
    LinearSolver,
    NetworkSettings,
    Problem,
    SolverSettings,
)
from priorfit.seeding import seeded
from priorfit.training.optimiser import Adam, Muon, Optimisers, OptimiserSettings, orthogonalised


def test_orthogonalised_keeps_the_singular_vectors():
    with seeded(0):
        tall = torch.randn(2, 12, 5, dtype=torch.float64)
    left, _, right = torch.linalg.svd(tall, full_matrices=False)
    values = left.mT @ orthogonalised(tall) @ right.mT
    diagonal = torch.diagonal(values, dim1=1, dim2=2)
    torch.testing.assert_close(values, torch.diag_embed(diagonal), atol=1e-8, rtol=0)
    assert (diagonal > 0.6).all() and (diagonal < 1.3).all()


def test_muon_in_one_batch_equals_muon_matrix_by_matrix():
    with seeded(1):
        weights = [nn.Parameter(torch.randn(6, 4)) for _ in range(3)]
        gradients = [torch.randn(6, 4) for _ in range(3)]
    alone = [nn.Parameter(weight.detach().clone()) for weight in weights]
    for weight, single, gradient in zip(weights, alone, gradients, strict=True):
        weight.grad, single.grad = gradient.clone(), gradient.clone()
    Muon(weights, lr=0.1).step()
    for single in alone:
        Muon([single], lr=0.1).step()
    for weight, single in zip(weights, alone, strict=True):
        torch.testing.assert_close(weight, single)


def test_adam_is_that_of_torch_to_the_bit():
    with seeded(4):
        own = [nn.Parameter(torch.randn(3, 2)), nn.Parameter(torch.randn(5)), nn.Parameter(torch.randn(2))]
        gradients = torch.randn(6, 13).split([6, 5, 2], dim=1)
    theirs = [nn.Parameter(weight.detach().clone()) for weight in own]
    one, other = Adam(own, lr=0.1), torch.optim.Adam(theirs, lr=0.1, betas=(0.9, 0.98), fused=True)
    for step in range(6):
        one.lr = other.param_groups[0]["lr"] = 0.1 / (1 + step)
        for index, values in enumerate(gradients):
            is_frozen = index == 2 and step % 2 == 0  # a weight may have no gradient in some steps
            for weight in (own[index], theirs[index]):
                weight.grad = None if is_frozen else values[step].reshape(weight.shape).clone()
        one.step()
        other.step()
    assert all(torch.equal(weight, expected) for weight, expected in zip(own, theirs, strict=True))
    state = other.state_dict()["state"]
    assert all(torch.equal(value, state[place][name]) for place in state for name, value in one.state[place].items())


class Blocks(nn.Module):
    """A network that names the matrix of its only block."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Module()
        self.inner.blocks = nn.ModuleList([nn.Linear(4, 4)])
        self.head = nn.Linear(4, 2)

    def matrices(self) -> list[nn.Parameter]:
        return [self.inner.blocks[0].weight]


def test_matrices_that_a_network_names_go_to_muon_and_everything_else_to_adam():
    network = Blocks()
    members = Optimisers(network, OptimiserSettings()).members
    assert members["muon"].parameters == [network.inner.blocks[0].weight]
    assert len(members["adam"].parameters) == 3
    assert list(Optimisers(network, OptimiserSettings(method="adam")).members) == ["adam"]


SOLVERS: dict[str, tuple[SolverSettings | None, Outcome]] = {
    "none": (None, Real()),
    "linear": (LinearSolver(6, 2, 16), Real()),
    "linear in the encoded inputs": (LinearSolver(6, 2, 0), Real()),
    "labels": (LinearSolver(6, 2, 16), Classes(2)),
    "latent": (LatentSolver(Harmonics(2)), Real()),
    "classes": (ClassSolver(6, 2, 16), Classes(5)),
}
OF_BLOCKS = re.compile(
    r"transformer\.blocks\.\d\.(attention\.projections\.(query|key|value|output)|expand|contract)\.weight"
)
"""The names that Muon's matrices had when they were found by parts of their names."""


@pytest.mark.parametrize(("solver", "outcome"), SOLVERS.values(), ids=SOLVERS.keys())
def test_muon_updates_the_matrices_of_blocks_and_of_learned_features(solver: SolverSettings | None, outcome: Outcome):
    network = NetworkSettings(16, 2, 2, 16, solver=solver).build(Problem(1, outcome, (0.0, 1.0)))
    named = {id(weight) for weight in network.matrices()}
    found = {name for name, weight in network.named_parameters() if id(weight) in named}
    of_blocks = {name for name in found if OF_BLOCKS.fullmatch(name)}
    assert len(of_blocks) == 2 * 6
    of_features = {"solver.features.encoder.linear.weight", "solver.features.output.weight"}
    if solver is None or isinstance(solver, LatentSolver):
        of_features = set()
    elif isinstance(solver, LinearSolver) and not solver.hidden:
        of_features = {"solver.features.encoder.linear.weight"}
    assert found - of_blocks == of_features


def test_a_saved_state_goes_on_to_the_bit():
    def after(steps: int, optimisers: Optimisers, network: nn.Module, first: int = 0) -> None:
        for step in range(first, steps):
            optimisers.zero_grad()
            with seeded(3, step):
                x = torch.randn(5, 4)
            network.head(network.inner.blocks[0](x)).square().sum().backward()
            optimisers.step(1.0)

    with seeded(2):
        whole, broken = Blocks(), Blocks()
    broken.load_state_dict(whole.state_dict())
    after(6, Optimisers(whole, OptimiserSettings()), whole)
    first = Optimisers(broken, OptimiserSettings())
    after(3, first, broken)
    second = Optimisers(broken, OptimiserSettings())
    second.load_tensors({name: value.clone() for name, value in first.tensors().items()})
    after(6, second, broken, first=3)
    for one, other in zip(whole.parameters(), broken.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_gradient_that_is_not_finite_changes_nothing():
    network = Blocks()
    before = [weight.detach().clone() for weight in network.parameters()]
    for weight in network.parameters():
        weight.grad = torch.full_like(weight, torch.nan)
    assert Optimisers(network, OptimiserSettings()).step(1.0) is None
    for weight, old in zip(network.parameters(), before, strict=True):
        assert torch.equal(weight, old)


@pytest.mark.parametrize("wrong", [{"learning_rate": 0.0}, {"warmup": 1.0}, {"averaging": 1.0}, {"clip": -1.0}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(RecipeError, match="must"):
        OptimiserSettings(**wrong)
