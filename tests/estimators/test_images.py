import warnings

import numpy as np
import pytest
import torch

import priorfit as pf
from priorfit.errors import InputError
from priorfit.estimators import PFNClassifier

SIDE = 12


@pytest.fixture(scope="module")
def model() -> pf.PFN:
    solver = pf.ClassRegression(32, pf.ImageEncoder(stride=3, radius=3.0))
    network = pf.NetworkSettings(
        width=8, layers=1, attention_heads=1, feedforward=8, encoder=pf.NoEncoder(), solver=solver
    )
    prior = pf.FewShot(pf.Curves(num_ways=6, image_size=SIDE), count=20)
    return pf.fit(prior, num_points=13, steps=2, network=network, progress=False)


def drawings(ways: int) -> tuple[np.ndarray, np.ndarray]:
    with pf.seeded(0):
        labels = torch.arange(ways).repeat_interleave(4)[None]
        x = pf.Curves(num_ways=ways, image_size=SIDE, alike=0.0).features(labels)[0]
    return x.numpy().reshape(-1, SIDE, SIDE), labels[0].numpy()


def test_images_rows_of_pixels_and_bytes_get_one_answer(model: pf.PFN):
    images, labels = drawings(3)
    names = np.array(["a", "b", "c"])[labels]
    by_image = PFNClassifier(model).fit(images, names).predict_proba(images)
    by_row = PFNClassifier(model).fit(images.reshape(12, -1), names).predict_proba(images.reshape(12, -1))
    np.testing.assert_allclose(by_image, by_row, atol=1e-6)
    whole = (255 * images).round().astype(np.uint8)
    np.testing.assert_allclose(PFNClassifier(model).fit(whole, names).predict_proba(whole), by_image, atol=0.05)
    assert by_image.shape == (12, 3)
    np.testing.assert_allclose(by_image.sum(1), 1, atol=1e-5)


@pytest.mark.parametrize("ways", [2, 5, 20])
def test_any_number_of_classes_is_answered(model: pf.PFN, ways: int):
    images, labels = drawings(ways)
    classifier = PFNClassifier(model, too_many_rows="use_all")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # more images than in the short training
        found = classifier.fit(images, labels).predict_proba(images)
    assert found.shape == (len(images), ways)
    assert (found.argmax(1) == labels).mean() > 0.8  # images of the context themselves


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x, y: (x[:, :10, :10], y), "images of 12 x 12 pixels.*got 100"),
        (lambda x, y: (255 * x, y), "between 0 .none. and 1.*Divide by 255"),
        (lambda x, y: (1 - x, y), "ink must be 1 on a ground of 0"),
        (lambda x, y: (x, np.zeros(len(x), dtype=int)), "at least 2 classes; got 1"),
        (lambda x, y: (x[:0], y[:0]), "sample|row"),
        (lambda x, y: (np.full(x.shape, "ink"), y), "must hold numbers; got <U3"),
        (lambda x, y: (np.tile(x, (4, 1, 1))[:42], np.arange(42) % 21), "classes"),
    ],
)
def test_what_is_no_task_of_images_is_refused(model: pf.PFN, change, words: str):
    images, labels = drawings(3)
    with pytest.raises((InputError, ValueError), match=words):
        x, y = change(images, labels)
        PFNClassifier(model, too_many_rows="use_all").fit(x, y)


def test_the_released_model_tells_drawn_characters_apart():
    with pf.seeded(0):
        labels = torch.arange(5).repeat_interleave(7)[None]
        images = pf.Curves(num_ways=5, alike=0.0).features(labels)[0].reshape(5, 7, 28, 28).numpy()
    names = np.array(list("abcde"))
    classifier = PFNClassifier("omniglot").fit(images[:, :3].reshape(-1, 28, 28), names.repeat(3))
    assert classifier.score(images[:, 3:].reshape(-1, 784), names.repeat(4)) >= 0.9
