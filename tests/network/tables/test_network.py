"""What changes nothing changes nothing: order, units, company. All in float64, where rounding cannot hide a fault."""

import pytest
import torch
from network.tables.tiny_tables import OUTCOMES, labels_of, numbers_of, shaken, table, targets_for

from priorfit.data import Classes, Datasets, Real
from priorfit.network import TableNetwork, posterior
from priorfit.network.tables import network
from priorfit.seeding import seeded

CLOSE = {"rtol": 0, "atol": 1e-8}


@pytest.fixture(scope="module", params=OUTCOMES.values(), ids=OUTCOMES.keys())
def model(request: pytest.FixtureRequest) -> TableNetwork:
    return shaken(request.param).double()


def answered(model: TableNetwork, x: torch.Tensor, y: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
    return numbers_of(model.condition(x, y), queries)


def order_of(count: int, seed: int) -> torch.Tensor:
    with seeded(seed, count):
        return torch.randperm(count)


@pytest.mark.parametrize("seed", range(5))
def test_answers_differ_between_queries_and_contexts(model, seed):
    """Without this, all that follows would hold for a constant."""
    x, y, queries = table(seed)
    first = answered(model, x, targets_for(model, y), queries)
    assert (first[:-1] - first[1:]).abs().amax() > 1e-3
    assert (first - answered(model, x, targets_for(model, -y), queries)).abs().amax() > 1e-3


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_columns_does_not_matter(model, seed):
    x, y, queries = table(seed)
    order, y = order_of(5, seed), targets_for(model, y)
    permuted = answered(model, x[:, order], y, queries[:, order])
    torch.testing.assert_close(permuted, answered(model, x, y, queries), **CLOSE)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_rows_does_not_matter(model, seed):
    x, y, queries = table(seed)
    order, y = order_of(24, seed), targets_for(model, y)
    permuted = answered(model, x[order], y[order], queries)
    torch.testing.assert_close(permuted, answered(model, x, y, queries), **CLOSE)


@pytest.mark.parametrize("seed", range(5))
def test_a_query_does_not_see_other_queries(model, seed):
    x, y, queries = table(seed)
    conditioned, order = model.condition(x, targets_for(model, y)), order_of(9, seed)
    together = numbers_of(conditioned, queries)
    torch.testing.assert_close(numbers_of(conditioned, queries[order]), together[order], **CLOSE)
    for i in range(9):
        torch.testing.assert_close(numbers_of(conditioned, queries[i : i + 1]), together[i : i + 1], **CLOSE)


@pytest.mark.parametrize("count", range(2, 11))
def test_permuted_classes_get_permuted_probabilities(count):
    model = shaken(Classes(10)).double()
    x, y, queries = table(count)
    labels, order = labels_of(y, count), order_of(count, 0)
    found = answered(model, x, labels, queries)
    assert found.shape == (9, count)
    torch.testing.assert_close(found.sum(-1), torch.ones(9, dtype=torch.float64))
    torch.testing.assert_close(answered(model, x, order[labels], queries)[:, order], found, **CLOSE)


@pytest.mark.parametrize("offset", [0.0, -3.0, 1e6])
@pytest.mark.parametrize("seed", range(3))
def test_the_units_of_columns_do_not_matter(model, seed, offset):
    x, y, queries = table(seed)
    y = targets_for(model, y)
    with seeded(seed):
        scale = torch.exp(3 * torch.randn(5, dtype=torch.float64))
    other = answered(model, scale * x + offset, y, scale * queries + offset)
    torch.testing.assert_close(other, answered(model, x, y, queries), rtol=0, atol=1e-5 if offset > 1 else 1e-8)


@pytest.mark.parametrize(("scale", "shift"), [(3.0, 0.0), (1e-5, 7.0), (1e4, -1e6)])
def test_answers_are_in_the_units_of_real_targets(scale, shift):
    model = shaken(Real()).double()
    x, y, queries = table(0)
    plain, other = model.condition(x, y).predict(queries), model.condition(x, scale * y + shift).predict(queries)
    torch.testing.assert_close((other.mean - shift) / scale, plain.mean, rtol=0, atol=1e-5)
    torch.testing.assert_close(other.stddev / scale, plain.stddev, rtol=0, atol=1e-5)
    places = torch.randn(9, dtype=torch.float64)
    torch.testing.assert_close(other.cdf(scale * places + shift), plain.cdf(places), rtol=0, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_one_pass_gives_what_conditioning_and_predicting_give(model, seed, monkeypatch):
    """The loss takes one pass; of classes it has the log odds of one coding, those of the first row's class."""
    x, y, queries = table(seed, batch=(2,))
    y = targets_for(model, y).double()
    with seeded(seed):
        asked = torch.randn(2, 9, dtype=torch.float64) if model.head else torch.randint(3, (2, 9)).double()
    loss = model.loss(Datasets(torch.cat([x, queries], 1), torch.cat([y, asked], 1)).split(24))
    seen = []
    real = network.class_probabilities
    monkeypatch.setattr(network, "class_probabilities", lambda odds, count: seen.append(odds) or real(odds, count))
    monkeypatch.setattr(posterior, "CHUNK_BYTES", 1)
    ppd = model.condition(x, y).predict(queries)
    if model.head:
        torch.testing.assert_close(loss, -ppd.log_prob(asked), **CLOSE)
        return
    assert len(seen) == 9, "queries go one by one"
    odds = torch.cat(seen, dim=1).unflatten(0, (2, 3))  # (tables, classes, queries)
    chosen = y[:, :1].long()
    coded = odds.gather(1, chosen[..., None].expand(-1, 1, 9))[:, 0]
    sign = torch.where(asked == chosen, 1.0, -1.0)
    torch.testing.assert_close(loss, -torch.nn.functional.logsigmoid(sign * coded), **CLOSE)


@pytest.mark.parametrize("seed", range(3))
def test_a_batch_gets_what_each_table_gets_alone(model, seed):
    x, y, queries = table(seed, batch=(3, 2))
    y = targets_for(model, y)
    together = answered(model, x, y, queries)
    for i in range(3):
        for j in range(2):
            torch.testing.assert_close(answered(model, x[i, j], y[i, j], queries[i, j]), together[i, j], **CLOSE)


def test_contexts_that_go_through_the_layers_a_part_at_a_time_are_kept_alike(model, monkeypatch):
    x, y, queries = table(1, batch=(3,))
    y = targets_for(model, y)
    whole = answered(model, x, y, queries)
    monkeypatch.setattr(network, "MOST_TOKENS", 1)
    torch.testing.assert_close(answered(model, x, y, queries), whole, **CLOSE)


def test_float32_is_close_to_float64(model):
    x, y, queries = table(0)
    y = targets_for(model, y)
    single = answered(shaken(model.problem.outcome), x, y, queries)
    torch.testing.assert_close(single.double(), answered(model, x, y, queries), rtol=0, atol=2e-4)


@pytest.mark.parametrize("seed", range(3))
def test_gradients_reach_queries_and_are_those_of_finite_differences(model, seed):
    x, y, queries = table(seed)
    conditioned = model.condition(x, targets_for(model, y))
    queries = (queries.nan_to_num(0.1) + 0.0137).requires_grad_()  # no query is equal to a value of the context
    (gradient,) = torch.autograd.grad(numbers_of(conditioned, queries).square().sum(), queries)
    assert gradient.isfinite().all() and gradient.abs().max() > 1e-4
    step = 1e-6
    for i, j in ((0, 0), (3, 1), (8, 4)):
        moved = torch.zeros_like(queries)
        moved[i, j] = step
        up, down = (numbers_of(conditioned, queries.detach() + sign * moved).square().sum() for sign in (1, -1))
        assert float(gradient[i, j]) == pytest.approx(float((up - down) / (2 * step)), rel=1e-4, abs=1e-6)


def test_no_gradient_reaches_the_context(model):
    x, y, queries = table(0)
    x = x.requires_grad_()
    assert not numbers_of(model.condition(x, targets_for(model, y)), queries).requires_grad


@pytest.mark.parametrize("seed", range(2))
def test_a_table_is_described_the_same_in_any_order_and_company(model, seed):
    x, y, _ = table(seed)
    y = targets_for(model, y)
    found = model.described(x[None], y[None])
    assert found.shape == (1, 2 * model.settings.width)
    rows = torch.cat([torch.zeros(1, dtype=torch.long), 1 + order_of(len(x) - 1, seed)])  # the first row stays first
    columns = order_of(x.shape[1], seed)
    torch.testing.assert_close(found, model.described(x[rows][:, columns][None], y[rows][None]), **CLOSE)
    other = model.described(torch.stack([x.flip(0), x]), torch.stack([y, y]))
    torch.testing.assert_close(found[0], other[1], **CLOSE)
    assert (found[0] - other[0]).abs().amax() > 1e-4
