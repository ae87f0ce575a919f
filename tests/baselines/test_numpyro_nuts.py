import jax
import numpy as np

from priorfit.baselines.deadline import Deadline
from priorfit.baselines.numpyro_nuts import STEPS_AT_ONCE, Program, compiled, run


def counting_program():
    """Chains of one coordinate that counts their steps; each step on a multiple of 5 diverges."""

    def advance(state, count, data):
        positions = np.zeros((STEPS_AT_ONCE, 1))
        positions[:count, 0] = state + np.arange(1, count + 1)
        return state + count, positions, int((positions[:count] % 5 == 0).sum())

    return Program(start=lambda key, position, data: position, advance=advance)


def test_steps_of_the_warm_up_are_left_out_and_all_others_kept():
    visited = run(counting_program(), [0, 100], (11, 21), (), Deadline(None))
    expected = np.arange(12, 33)
    np.testing.assert_array_equal(visited.positions[..., 0], [expected, expected + 100])
    assert visited.num_divergences == 8  # at 15, 20, 25 and 30 of both


def test_the_clock_is_looked_at_between_turns(monkeypatch):
    for looks, num_samples in (([True], None), ([False, True], None), ([False, False, False, True], 16)):
        answers = iter(looks)
        monkeypatch.setattr(Deadline, "is_past", property(lambda _, answers=answers: next(answers)))
        visited = run(counting_program(), [0], (11, 21), (), Deadline(None))
        assert (None if visited is None else visited.positions.shape[1]) == num_samples


def test_a_compiled_program_samples_the_density_of_its_data():
    def potential(z, mean, scale):
        return (((z - mean) / scale) ** 2).sum() / 2

    mean, scale = np.array([1.0, -2.0], np.float32), np.array([0.5, 3.0], np.float32)
    program = compiled(potential, 200, np.zeros(2, np.float32), (mean, scale))
    for data in ((mean, scale), (mean + 5, 2 * scale)):
        states = [program.start(jax.random.key(i), np.zeros(2, np.float32), data) for i in range(2)]
        visited = run(program, states, (200, 1000), data, Deadline(None)).positions
        assert visited.shape == (2, 1000, 2)
        np.testing.assert_allclose(visited.mean((0, 1)), data[0], atol=0.15 * data[1].max())
        np.testing.assert_allclose(visited.std((0, 1)), data[1], rtol=0.15)
