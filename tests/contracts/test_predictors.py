"""What every predictor must do."""

from itertools import product

import pytest
import torch
from contracts.predictors import PREDICTORS, SAMPLED
from torch.distributions import Distribution

from priorfit.data import Classes
from priorfit.network import PFN, Model, SolverSettings
from priorfit.network.storage import NETWORK_TYPES
from priorfit.predictor import Posterior, Predictor
from priorfit.seeding import seeded

every_predictor = pytest.mark.parametrize(("predictor", "prior"), PREDICTORS.values(), ids=PREDICTORS.keys())
WITHOUT_CHANCE = {name: case for name, case in PREDICTORS.items() if name not in SAMPLED}
every_predictor_without_chance = pytest.mark.parametrize(
    ("predictor", "prior"), WITHOUT_CHANCE.values(), ids=WITHOUT_CHANCE.keys()
)


def tasks(prior, num_context=6, dtype=torch.float32):
    with seeded(0):
        datasets = prior.draw(prior.inputs.sample(4, num_context + 5, prior.num_features).to(dtype))
    return datasets.split(num_context)


def log_density(predictor, context_x, context_y, query_x, query_y):
    return predictor.condition(context_x, context_y).predict(query_x).log_prob(query_y)


@every_predictor
def test_it_obeys_the_protocols(predictor, prior):
    batch = tasks(prior)
    assert isinstance(predictor, Predictor)
    posterior = predictor.condition(batch.context_x, batch.context_y)
    assert isinstance(posterior, Posterior)
    ppd = posterior.predict(batch.query_x)
    assert isinstance(ppd, Distribution)
    assert (ppd.batch_shape, ppd.event_shape) == ((4, 5), ())


def is_network_of_classes(predictor) -> bool:
    """Probabilities of classes have the dtype of a network's weights; a density of reals has that of y too."""
    return isinstance(predictor, Model) and isinstance(predictor.problem.outcome, Classes)


@every_predictor
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("num_context", [0, 1, 6])
def test_any_context_gives_finite_densities_in_the_dtype_of_the_inputs(predictor, prior, dtype, num_context):
    batch = tasks(prior, num_context, dtype)
    density = log_density(predictor, batch.context_x, batch.context_y, batch.query_x, batch.query_y)
    assert density.dtype == (torch.float32 if is_network_of_classes(predictor) else dtype)
    assert density.isfinite().all()


@every_predictor
@pytest.mark.parametrize("num_context", [0, 6])
def test_a_dataset_alone_is_answered_as_in_a_batch(predictor, prior, num_context):
    batch = tasks(prior, num_context)
    fields = batch.context_x, batch.context_y, batch.query_x, batch.query_y
    together = log_density(predictor, *fields)
    for i in range(4):
        torch.testing.assert_close(log_density(predictor, *(f[i] for f in fields)), together[i], rtol=0, atol=1e-4)
    nested = log_density(predictor, *(f.unflatten(0, (2, 2)) for f in fields))
    torch.testing.assert_close(nested.flatten(0, 1), together, rtol=0, atol=1e-4)


@every_predictor
def test_queries_in_chunks_are_answered_as_in_one_piece(predictor, prior):
    batch = tasks(prior)
    posterior = predictor.condition(batch.context_x, batch.context_y)
    whole = posterior.predict(batch.query_x).log_prob(batch.query_y)
    chunks = [
        posterior.predict(x).log_prob(y)
        for x, y in zip(batch.query_x.split(2, dim=1), batch.query_y.split(2, dim=1), strict=True)
    ]
    torch.testing.assert_close(torch.cat(chunks, dim=1), whole, rtol=0, atol=1e-4)


@every_predictor_without_chance
def test_the_order_of_the_context_does_not_matter(predictor, prior):
    batch = tasks(prior)
    shuffled = torch.tensor([3, 0, 5, 1, 4, 2])
    torch.testing.assert_close(
        log_density(
            predictor, batch.context_x[:, shuffled], batch.context_y[:, shuffled], batch.query_x, batch.query_y
        ),
        log_density(predictor, batch.context_x, batch.context_y, batch.query_x, batch.query_y),
        rtol=0,
        atol=1e-4,
    )


TAKES_ANY_FORM = {name: case for name, case in PREDICTORS.items() if name.startswith(("pfn", "exact", "attentive"))}


@pytest.mark.parametrize(("predictor", "prior"), TAKES_ANY_FORM.values(), ids=TAKES_ANY_FORM.keys())
@pytest.mark.parametrize("form", [torch.Tensor.numpy, torch.Tensor.tolist], ids=["arrays", "lists"])
def test_arrays_and_lists_are_answered_as_tensors_are(predictor, prior, form):
    batch = tasks(prior, dtype=torch.float64)
    fields = batch.context_x, batch.context_y, batch.query_x
    expected = log_density(predictor, *fields, batch.query_y)
    torch.testing.assert_close(log_density(predictor, *map(form, fields), batch.query_y), expected)


def test_every_solver_is_under_contract_with_layers_and_without():
    solvers = {kind for kind in NETWORK_TYPES.values() if issubclass(kind, SolverSettings)}
    networks = [network for network, _ in PREDICTORS.values() if isinstance(network, PFN)]
    found = {(type(each.settings.solver), each.settings.layers > 0) for each in networks if each.settings.solver}
    assert found == set(product(solvers, (True, False)))


def test_those_said_to_be_sampled_are_under_contract():
    assert SAMPLED.issubset(PREDICTORS)
