import numpy as np
import pytest
import torch
from estimators.tiny_models import PADDED_LABELS, PADDED_QUARTERS, PADDED_REALS, UNIT_SQUARE, random_model
from sklearn.multiclass import OneVsRestClassifier
from torch.distributions import Categorical

from priorfit.distributions.class_probabilities import class_probs
from priorfit.errors import InputError
from priorfit.estimators import PFNClassifier
from priorfit.network import SigmoidHead, SoftmaxHead
from priorfit.priors import Binarized

SQUARE_LABELS = Binarized(UNIT_SQUARE)


def table(classes: int = 2, features: int = 2) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.RandomState(0).rand(24, features)
    return x, np.arange(24) % classes


@pytest.mark.parametrize("head", [SigmoidHead(), SoftmaxHead()], ids=["sigmoid", "softmax"])
def test_fixed_units_give_the_answer_of_the_model_to_the_bit(head):
    x, y = table()
    model = random_model(SQUARE_LABELS, units="fixed", head=head)
    expected = model.condition(torch.tensor(x[:20]), torch.tensor(y[:20])).predict(torch.tensor(x))
    classifier = PFNClassifier(model).fit(x[:20], y[:20])
    np.testing.assert_array_equal(classifier.predict_proba(x), class_probs(expected).numpy())


def test_columns_of_a_model_with_free_units_are_in_units_of_the_training_rows():
    x, y = table()
    model = random_model(PADDED_LABELS)
    expected = PFNClassifier(model).fit(x[:20], y[:20]).predict_proba(x)
    moved = 1e5 + 1e3 * x
    np.testing.assert_allclose(
        PFNClassifier(model).fit(moved[:20], y[:20]).predict_proba(moved), expected, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(
    "labels", [["ham", "spam"], [-1, 1], [False, True], [3.0, 7.0]], ids=["text", "signs", "booleans", "floats"]
)
def test_labels_are_sorted_and_come_back_as_they_were(labels: list):
    x, y = table()
    classifier = PFNClassifier(random_model(PADDED_LABELS)).fit(x, np.take(labels, y))
    assert classifier.classes_.tolist() == labels
    assert set(classifier.predict(x).tolist()) <= set(labels)
    numbered = PFNClassifier(random_model(PADDED_LABELS)).fit(x, y)
    np.testing.assert_array_equal(classifier.predict_proba(x), numbered.predict_proba(x))


def test_the_predicted_class_is_the_most_probable():
    x, y = table(4)
    classifier = PFNClassifier(random_model(PADDED_QUARTERS)).fit(x, np.take(["a", "b", "c", "d"], y))
    probabilities = classifier.predict_proba(x)
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-6)
    assert (classifier.predict(x) == classifier.classes_[probabilities.argmax(1)]).all()


def test_fewer_classes_than_the_model_knows_share_all_the_probability():
    """p(class | it is one of those seen): all four divided by the sum of the two."""
    x, y = table(2)
    model = random_model(PADDED_QUARTERS, units="fixed")
    classifier = PFNClassifier(model).fit(x, y)
    shown = torch.nn.functional.pad(torch.tensor(x).float() * 3, (0, 4))
    four = class_probs(model.condition(shown, torch.tensor(y)).predict(shown))
    np.testing.assert_allclose(classifier.predict_proba(x), four[:, :2] / four[:, :2].sum(1, keepdim=True), rtol=1e-5)
    assert isinstance(classifier.predict_distribution(x), Categorical)


def test_the_distribution_is_over_the_places_of_the_classes():
    x, y = table()
    classifier = PFNClassifier(random_model(PADDED_LABELS)).fit(x, np.take(["no", "yes"], y))
    ppd = classifier.predict_distribution(x)
    assert isinstance(ppd, Categorical)
    assert ppd.batch_shape == (24,)
    np.testing.assert_array_equal(ppd.probs.numpy(), classifier.predict_proba(x))


@pytest.mark.parametrize("prior", [PADDED_LABELS, PADDED_QUARTERS], ids=["two", "four"])
def test_of_one_class_alone_it_is_certain(prior):
    x, _ = table()
    classifier = PFNClassifier(random_model(prior)).fit(x, ["only"] * 24)
    assert (classifier.predict(x) == "only").all()
    np.testing.assert_array_equal(classifier.predict_proba(x), np.ones((24, 1)))


def test_more_classes_than_the_model_knows_are_refused():
    with pytest.raises(InputError, match="Only binary classification is supported.* 2 classes; y has 3.*OneVsRest"):
        PFNClassifier(random_model(PADDED_LABELS)).fit(*table(3))
    with pytest.raises(InputError, match="^This model knows 4 classes; y has 5"):
        PFNClassifier(random_model(PADDED_QUARTERS)).fit(*table(5))


def test_one_against_the_rest_serves_more_classes():
    x, y = table(5)
    classifier = OneVsRestClassifier(PFNClassifier(random_model(PADDED_LABELS))).fit(x, y)
    assert classifier.predict_proba(x).shape == (24, 5)


def test_a_model_over_real_targets_is_refused():
    with pytest.raises(InputError, match=r"PFNClassifier needs a model over classes; .* Real\(\). Use PFNRegressor"):
        PFNClassifier(random_model(PADDED_REALS)).fit(*table())


def test_the_tags_say_whether_a_model_knows_more_than_two_classes(tmp_path):
    random_model(PADDED_LABELS).save(tmp_path / "two")
    models = (random_model(PADDED_LABELS), tmp_path / "two", random_model(PADDED_QUARTERS), "no such model")
    tags = [PFNClassifier(model).__sklearn_tags__().classifier_tags.multi_class for model in models]
    assert tags == [False, False, True, True]


def test_the_score_is_the_accuracy():
    x, y = table()
    classifier = PFNClassifier(random_model(PADDED_LABELS)).fit(x, y)
    assert classifier.score(x, y) == (classifier.predict(x) == y).mean()
