import torch
from torch.distributions import Categorical, Gamma, LogNormal, Normal, Uniform

import priorfit as pf
from priorfit.importance.cells import SMOOTH, cells_of, linearised
from priorfit.importance.coordinated import Program, has_cells
from priorfit.importance.moments import pairs
from priorfit.seeding import seeded


@pf.prior(num_features=1, level=Normal(1.0, 2.0), slope=Normal(0.0, 3.0))
def lines(x, level, slope):
    return Normal(level + slope * x[..., 0], 0.5)


@pf.prior(num_features=1, level=Normal(0.0, 1.0), frequency=Uniform(2.0, 10.0))
def waves(x, level, frequency):
    return Normal(level + torch.sin(frequency * x[..., 0]), 0.1)


@pf.prior(num_features=2, root=Normal(0.5, 1.0), weight=Normal(0.0, 1.0))
def bowls(x, root, weight):
    return Normal(x[..., 0] * root**2 + x[..., 1] * root * weight, 0.1)


@pf.prior(num_features=1, rate=Gamma(3.0, 2.0), noise=LogNormal(-1.0, 0.3))
def decays(x, rate, noise):
    return Normal(torch.exp(-rate * x[..., 0]), noise)


def encode(latents):
    return torch.cat(list(latents.values()), dim=-1)


def test_a_linear_program_has_one_width_and_needs_no_split():
    cells = cells_of(lines, (64,))
    assert cells.bend < 1e-4
    assert cells_of(lines, (1, 64)).widths.tolist() == [1.0, 1.0]


def test_only_curved_latents_are_split():
    widths = cells_of(waves, (256,)).widths
    assert widths[0] == 1.0 and widths[1] < 0.1


@pf.prior(num_features=1, before=Normal(0.0, 1.0), after=Normal(0.0, 1.0), change=Uniform(0.1, 0.9))
def jumps(x, before, after, change):
    return Normal(torch.where(x[..., 0] < change, before, after), 0.1)


@pf.prior(num_features=1, slope=Normal(0.0, 2.0), place=Uniform(0.1, 0.9))
def kinks(x, slope, place):
    return Normal(slope * (x[..., 0] - place).clamp_min(0.0), 0.1)


def test_a_law_is_taken_at_the_centre_of_a_cell_along_a_latent_in_which_it_jumps():
    cells = cells_of(jumps, (256,))
    assert cells.jumps.tolist() == [False, False, True] and cells.steps[2] == 0.0 < cells.widths[2]
    for smooth in (lines, waves, bowls, decays, kinks):
        assert not cells_of(smooth, (256,)).jumps.any()
    x = torch.linspace(0, 1, 64)[:, None]
    laws = linearised(Program(jumps), cells, x, encode)
    step = laws.curves[:, 0, 2]  # the slope along the level after the change, which is 0 before it
    sizes = step.abs() / step.abs().amax(1, keepdim=True)
    assert ((sizes < 1e-6) | (sizes > 1 - 1e-6)).all()  # no cell has a ramp


def test_cells_together_are_the_prior_of_the_coordinates():
    cells = cells_of(waves, (1024,))
    weights = cells.log_weights.exp()[:, None]
    mean = (weights * cells.centres).sum(0)
    variance = (weights * cells.centres.square()).sum(0) + cells.widths.square()
    torch.testing.assert_close(mean, torch.zeros_like(mean), atol=0.01, rtol=0)
    torch.testing.assert_close(variance, torch.ones_like(variance), atol=0.02, rtol=0)


def test_more_cells_leave_less_that_is_not_linear():
    bends = [cells_of(waves, (count,)).bend for count in (128, 512, 2048)]
    assert bends[0] > 2 * bends[1] > 4 * bends[2]
    counts = (128, 256, 512, 1024, 2048)
    smooth = [count for count in counts if cells_of(waves, (count,)).bend <= SMOOTH]
    assert len(cells_of(waves, counts).centres) == smooth[0] < 2048  # the first that is smooth enough


def test_second_order_terms_are_those_of_a_quadratic_program():
    """In `bowls` root is 0.5 + u: all terms are known, and nothing is left of higher order."""
    program, cells = Program(bowls), cells_of(bowls, (16,))
    with seeded(0):
        x = torch.rand(5, 2)
    laws = linearised(program, cells, x, encode)
    (u, v), (h, k) = cells.centres.T[..., None], cells.widths
    first, second = x.double().T
    root = 0.5 + u
    expected = {
        0: first * (root**2 + h**2) + second * root * v,
        1: h * (2 * first * root + second * v),
        2: k * second * root,
        3: h**2 * first.expand(16, 5),
        4: h * k * second.expand(16, 5),
        5: torch.zeros(16, 5, dtype=torch.float64),
    }
    assert pairs(2) == [(0, 0), (1, 0), (1, 1)]
    for term, value in expected.items():
        torch.testing.assert_close(laws.curves[:, 0, term], value, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(laws.log_rest[:, 0], torch.full((16, 5), 0.01).double().log(), atol=1e-3, rtol=0)
    missed = 0.01 + 2 * (h**2 * first).square() + (h * k * second).square()
    torch.testing.assert_close(laws.log_variance[:, 0], missed.expand(16, 5).log(), atol=1e-3, rtol=1e-3)


def test_a_latent_without_quantiles_gets_those_of_its_draws():
    u = torch.tensor([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    rate = Program(decays).latents(u)["rate"][:, 0]
    with seeded(3):
        drawn = Gamma(3.0, 2.0).sample((100_000,))
    expected = drawn.quantile(torch.special.ndtr(u[:, 0]))
    torch.testing.assert_close(rate, expected, atol=0.02, rtol=0)


def test_programs_without_real_latents_or_a_law_have_no_cells():
    @pf.prior(num_features=1, kind=Categorical(torch.ones(2)))
    def steps(x, kind):
        return Normal(kind + 0.0 * x[..., 0], 0.1)

    @pf.prior(num_features=1, slope=Normal(0.0, 1.0))
    def labels(x, slope):
        return Categorical(logits=torch.stack([slope * x[..., 0], 0 * x[..., 0]], dim=-1))

    @pf.prior(num_features=1, slope=Normal(0.0, 1.0))
    def drawn(x, slope):
        return slope * x[..., 0]

    @pf.prior(num_features=1, scale=LogNormal(0.0, 1.0), level=lambda scale: Gamma(2.0 * torch.ones_like(scale), scale))
    def nested(x, scale, level):
        return Normal(level + 0.0 * x[..., 0], 0.1)

    assert has_cells(lines) and has_cells(decays) and has_cells(labels)
    for prior in (steps, drawn, nested, pf.GaussianProcess()):
        assert not has_cells(prior)


@pf.prior(num_features=1, level=Normal(0.0, 1.0), noise=LogNormal(-1.0, 0.5))
def noisy(x, level, noise):
    return Normal(level.expand(x.shape[:2]), noise)


def test_a_cell_is_narrower_than_what_thirty_points_tell_of_a_scale():
    cells = cells_of(noisy, (64, 128, 256))
    assert cells.widths[0] == 1.0
    assert 0.5 * float(cells.widths[1]) < 60**-0.5  # 0.5: log scales for each standard deviation of the latent
