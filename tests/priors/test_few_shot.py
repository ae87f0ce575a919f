import pytest
import torch

import priorfit as pf
from priorfit.errors import InputError
from priorfit.priors.few_shot import FewShot
from priorfit.seeding import seeded
from priorfit.training.batches import draw_batch

EXAMPLES = torch.arange(30.0)[None, :, None, None] + torch.zeros(1, 30, 9, 2)  # the input names the class
PRIOR = pf.Empirical(EXAMPLES, num_ways=10)


def test_every_class_is_in_the_context_equally_often():
    tasks = FewShot(PRIOR, count=20)
    with seeded(0):
        for size in (2, 7, 20, 31):
            batch = tasks.sample_split(50, size, 40)
            for known, asked in zip(batch.context_y.long(), batch.query_y.long(), strict=True):
                ways = int(max(known.max(), asked.max())) + 1
                counts = known.bincount(minlength=ways)
                assert counts.min() >= size // ways >= 1 or ways > size


def test_the_number_of_classes_is_uniform_over_what_the_context_allows():
    with seeded(0):
        labels = FewShot(PRIOR, fewest_ways=2, most_shots=8).sample_split(3000, 24, 1).context_y
    ways = labels.amax(1) + 1
    assert ways.unique().tolist() == [3, 4, 5, 6, 7, 8, 9, 10]  # 24 points, at most 8 of a class
    assert float((ways == 3).float().mean()) == pytest.approx(1 / 8, abs=0.02)


def test_a_class_has_one_input_and_labels_of_queries_cannot_be_counted():
    with seeded(1):
        batch = FewShot(PRIOR, fewest_ways=3).sample_split(4000, 3, 1)
    for x, y, query, label in zip(
        batch.context_x[:50], batch.context_y[:50], batch.query_x[:50], batch.query_y[:50], strict=True
    ):
        assert torch.equal(x[y == label][0], query[0])
    shares = batch.query_y[:, 0].long().bincount().double() / 4000
    torch.testing.assert_close(shares, torch.full((3,), 1 / 3, dtype=torch.float64), atol=0.03, rtol=0)


def test_training_draws_such_tasks_also_from_a_mixture():
    parts = [FewShot(PRIOR, count=20), FewShot(pf.Empirical(EXAMPLES, num_ways=4), count=20)]
    prior = pf.Mixture(parts)
    assert prior.fewest_classes == 2 and prior.outcome == pf.Classes(20)
    data = pf.DataSettings(batch_size=64, num_queries=5, context_sizes=pf.UniformSizes(10))
    recipe = pf.Recipe(prior=prior, num_points=11, budget=pf.Budget(steps=1), data=data)
    known = draw_batch(recipe, 0, 0).context_y.long()
    ways = known.amax(1) + 1
    assert all(int(y.bincount().min()) >= 10 // int(k) for y, k in zip(known, ways, strict=True))
    assert len(ways.unique()) > 2


def test_a_trained_problem_knows_the_fewest_classes():
    network = pf.NetworkSettings(width=8, layers=1, attention_heads=1, feedforward=8)
    model = pf.fit(FewShot(PRIOR, count=12), num_points=12, steps=1, network=network, progress=False)
    assert model.problem.min_classes == 2 and model.problem.outcome == pf.Classes(12)


@pytest.mark.parametrize("wrong", [{"fewest_ways": 1}, {"fewest_ways": 11}, {"count": 9}, {"most_shots": 0}])
def test_wrong_sizes_are_refused(wrong: dict[str, int]):
    with pytest.raises(InputError, match="FewShot needs"):
        FewShot(PRIOR, **wrong)
