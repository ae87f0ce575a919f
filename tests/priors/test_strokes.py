import math
import random
from time import process_time

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw, ImageFilter
from scipy.stats import chisquare, ks_2samp
from torch.nn.functional import max_pool2d

from priorfit.errors import InputError, ShapeError
from priorfit.priors import Mixture
from priorfit.priors.line_drawing import lines_drawn
from priorfit.priors.strokes import Characters, Strokes
from priorfit.seeding import seeded

PAPER = Strokes()
STILL = Strokes(max_offset=0.0, max_end_offset=0.0, stroke_width=(2 / 28, 2 / 28), ink=(1.0, 1.0), blur=0.0)


def pil_character():
    """The strokes of one class, one at a time: starts, lengths, directions (appendix H)."""
    strokes = []
    for _ in range(random.randint(1, 3)):
        tried = 0
        while True:
            if tried % 3 == 0:
                x, y, length = random.randint(2, 25), random.randint(2, 25), random.randint(5, 20)
            angle = 2 * math.pi * random.random()
            tried += 1
            if 0 <= x + length * math.cos(angle) <= 27 and 0 <= y + length * math.sin(angle) <= 27:
                break
        strokes.append((x, y, length, angle))
    return strokes


def pil_image(character):
    """One image of it, drawn by PIL."""
    image = Image.new("L", (28, 28))
    pen = ImageDraw.Draw(image)
    width, right, down = random.randint(1, 4), random.randint(-4, 4), random.randint(-4, 4)
    for x, y, length, angle in character:
        end_x = x + right + length * math.cos(angle) + random.randint(-2, 2)
        end_y = y + down + length * math.sin(angle) + random.randint(-2, 2)
        pen.line([x + right, y + down, round(end_x), round(end_y)], fill=128, width=width)
    pixels = np.array(image)
    ink = np.random.randint(200, 255, size=pixels.shape, dtype=np.uint8)
    inked = Image.fromarray(np.where(pixels == 128, ink, 0).astype(np.uint8))
    return np.asarray(inked.filter(ImageFilter.GaussianBlur(0.2)))


def one_image_a_character(count):
    """Ours, then PIL's."""
    with seeded(0):
        characters = Characters(*(part[:, 0] for part in PAPER.characters(count)))
        ours = PAPER.images(characters)
        pils = torch.from_numpy(np.stack([pil_image(pil_character()) for _ in range(count)])) / 255
    return ours, pils


@pytest.fixture(scope="module")
def both():
    return one_image_a_character(3_000)


def centres(images):
    """Row and column of the centre of mass, of the images that have ink."""
    inked = images[images.sum((1, 2)) > 0]
    places = torch.arange(28.0)
    return [(inked.sum(axis) * places).sum(-1) / inked.sum((1, 2)) for axis in (2, 1)]


def survival(images):
    """The share of ink that is left after taking away a border, by squares of 2, 3, 4 and 5 pixels."""
    drawn = (images > 0.5).float()[:, None]
    left = [-max_pool2d(-drawn, size, stride=1) for size in (2, 3, 4, 5)]
    return torch.stack([kept.sum() / drawn.sum() for kept in left])


def test_lines_are_those_of_pil_pixel_by_pixel():
    with seeded(1):
        start = torch.randint(-3, 31, (2_000, 1, 2)).float()
        end = start + torch.randint(-20, 21, (2_000, 1, 2))
        width = torch.randint(1, 5, (2_000,)).float()
    ours = lines_drawn(start, end, width, torch.ones(2_000, 1, dtype=torch.bool), 28) > 0
    pils = []
    for (a,), (b,), thickness in zip(start.int().tolist(), end.int().tolist(), width.int().tolist(), strict=True):
        image = Image.new("L", (28, 28))
        ImageDraw.Draw(image).line([*a, *b], fill=255, width=thickness)
        pils.append(np.array(image) > 0)
    same = ours == torch.from_numpy(np.stack(pils))
    assert same.flatten(1).all(1).double().mean() > 0.97
    assert (~same).sum() < 2e-3 * ours.sum()


def test_several_lines_are_drawn_over_each_other_and_unused_ones_are_not():
    start, end = torch.tensor([[[0.0, 1], [2, 0], [0, 0]]]), torch.tensor([[[3.0, 1], [2, 3], [3, 3]]])
    drawn = lines_drawn(start, end, torch.ones(1), torch.tensor([[True, True, False]]), 4)
    assert drawn[0].tolist() == [[0, 0, 1, 0], [1, 1, 1, 1], [0, 0, 1, 0], [0, 0, 1, 0]]


def test_as_much_ink_as_with_pil(both):
    amounts = [images.mean((1, 2)).double() for images in both]
    deviation = (amounts[0].var() / 3_000 + amounts[1].var() / 3_000).sqrt()
    assert abs(float(amounts[0].mean() - amounts[1].mean())) < 4 * float(deviation)
    assert ks_2samp(*amounts).pvalue > 1e-3


def test_centres_of_mass_lie_as_with_pil(both):
    for ours, pils in zip(*map(centres, both), strict=True):
        assert ks_2samp(ours, pils).pvalue > 1e-3


def test_strokes_are_as_wide_as_with_pil(both):
    torch.testing.assert_close(*map(survival, both), rtol=0, atol=0.015)


def test_pixels_have_the_intensities_of_pil(both):
    borders = torch.tensor([-0.1, 0.002, 0.05, 0.5, 0.75, 0.8, 0.85, 0.9, 0.95, 1.1])
    shares = [torch.histogram(images, borders).hist / images.numel() for images in both]
    torch.testing.assert_close(*shares, rtol=0.06, atol=2e-3)


def test_strokes_start_run_and_end_as_with_the_rule_of_the_paper():
    with seeded(2):
        start, along = PAPER._strokes(4_000)
        expected = np.array([stroke for _ in range(2_000) for stroke in pil_character()])
    assert ((start + along >= 0) & (start + along <= 27)).all()
    length = along.norm(dim=-1).round()
    assert (length.min(), length.max(), start.min(), start.max()) == (5, 20, 2, 25)
    assert ks_2samp(length, expected[:, 2]).pvalue > 1e-3
    assert ks_2samp(start[:, 0], expected[:, 0]).pvalue > 1e-3
    assert ks_2samp(start.sum(1), expected[:, :2].sum(1)).pvalue > 1e-3


def test_every_number_of_strokes_is_as_likely():
    with seeded(3):
        counts = PAPER.characters(600).is_used.sum(-1).flatten().bincount(minlength=4)
    assert counts[0] == 0
    assert chisquare(counts[1:]).pvalue > 1e-3


def test_a_class_is_one_character_in_one_dataset():
    with seeded(4):
        datasets = STILL.sample(batch_size=20, num_points=30)
    for x, y in zip(datasets.x, datasets.y, strict=True):
        assert len(torch.cat([x, y[:, None]], dim=1).unique(dim=0)) == len(y.unique())
        assert len(x.unique(dim=0)) >= len(y.unique()) - 1  # two classes may look the same
    assert len(datasets.x.flatten(0, 1).unique(dim=0)) > 80


def test_images_of_one_class_differ_by_their_jitter():
    with seeded(5):
        datasets = PAPER.sample(batch_size=5, num_points=30)
    assert len(datasets.x.flatten(0, 1).unique(dim=0)) >= 145  # a few may have no ink


def test_a_character_moves_as_a_whole_by_up_to_the_largest_offset():
    prior = Strokes(
        num_strokes=(1, 1),
        stroke_start=(0.5, 0.5),
        stroke_length=(5 / 28, 5 / 28),
        stroke_width=(1 / 28, 1 / 28),
        max_end_offset=0.0,
        blur=0.0,
    )
    with seeded(6):
        one = Characters(*(part[0, :1].expand(900, *part.shape[2:]) for part in prior.characters(1)))
        rows, columns = centres((prior.images(one) > 0).float())
    for place in (rows, columns):
        assert torch.equal((place - place.min()).round().unique(), torch.arange(9.0))


def test_blur_spreads_ink_and_loses_none():
    blurred = Strokes(blur=1.0, ink=(1.0, 1.0))
    sharp = Strokes(blur=0.0, ink=(1.0, 1.0))
    images = []
    for prior in (blurred, sharp):
        with seeded(7):
            images.append(prior.sample(4, 10).x)
    torch.testing.assert_close(images[0].sum(-1), images[1].sum(-1), rtol=1e-4, atol=1e-3)
    assert (images[0] > 1e-3).sum() > (images[1] > 1e-3).sum()
    assert set(images[1].unique().tolist()) == {0.0, 1.0}


def test_the_first_points_hold_each_class_so_many_times_in_any_order():
    with seeded(8):
        y = Strokes(num_ways=4, num_shots=3, image_size=4).sample(batch_size=400, num_points=20).y.int()
    for labels in y[:, :12]:
        assert labels.bincount().tolist() == [3, 3, 3, 3]
    for point in (0, 5, 11, 12, 19):
        assert chisquare(y[:, point].bincount(minlength=4)).pvalue > 1e-3
    assert y[:, 12:].sum(1).unique().numel() > 4  # the queries are not balanced, so that none follows by counting


def test_a_short_dataset_of_shots_is_a_part_of_a_balanced_one():
    y = Strokes(num_ways=5, num_shots=2, image_size=4).sample(batch_size=50, num_points=7).y.int()
    assert y.shape == (50, 7)
    assert max(int(labels.bincount().max()) for labels in y) == 2


def test_draws_at_given_inputs_take_their_form_and_have_their_own_values():
    x = torch.full((2, 3, 784), 7.0, dtype=torch.float64)
    drawn = PAPER.draw(x)
    assert (drawn.x.dtype, drawn.x.shape) == (x.dtype, x.shape)
    assert drawn.x.max() <= 1
    with pytest.raises(ShapeError, match="x must have 784 features for this prior; got 3"):
        PAPER.draw(torch.rand(2, 3, 3))


def test_strokes_may_be_mixed():
    mixture = Mixture([Strokes(image_size=6), Strokes(image_size=6, num_strokes=(4, 5))])
    assert mixture.sample(batch_size=6, num_points=4).x.shape == (6, 4, 36)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"num_ways": 1}, "at least 2 classes"),
        ({"num_shots": 0}, "num_shots must be at least 1"),
        ({"image_size": 1}, "image_size must be at least 2; got 1"),
        ({"blur": -1.0}, "blur must be finite and at least 0; got -1.0"),
        ({"num_strokes": (3, 1)}, r"num_strokes must be low <= high, .* got \(3, 1\)"),
        ({"num_strokes": (0, 1)}, "num_strokes"),
        ({"ink": (0.5, 1.5)}, r"ink must be low <= high, both within \[0, 1\]"),
        ({"stroke_length": (1.4, 1.5)}, "stroke_length must allow strokes of less than"),
    ],
)
def test_fields_that_make_no_sense_are_refused(fields, words):
    with pytest.raises(InputError, match=words):
        Strokes(**fields)


@pytest.mark.slow
def test_an_image_costs_less_than_a_fifth_of_one_by_pil():
    def seconds(draw):
        times = []
        for _ in range(5):
            begin = process_time()
            draw()
            times.append(process_time() - begin)
        return min(times)

    characters = [pil_character() for _ in range(100)]
    ours = seconds(lambda: PAPER.sample(batch_size=64, num_points=30)) / 1920
    pils = seconds(lambda: [pil_image(characters[i % 100]) for i in range(500)]) / 500
    assert ours < pils / 5
