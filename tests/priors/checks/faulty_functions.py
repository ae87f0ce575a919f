"""Functions with a fault each, by the words that `check_prior` has for it."""

import torch

from priorfit.data import Classes
from priorfit.priors.function import prior


def noise(x, scale=0.1):
    return scale * torch.randn(x.shape[:2])


def lines(x):
    return torch.randn(len(x), 1) * x[..., 0] + torch.randn(len(x), 1) + noise(x)


def waves(x):
    return torch.sin(2 + 8 * torch.rand(len(x), 1) * x[..., 0] + 6 * torch.rand(len(x), 1))


def indices(x):
    return torch.arange(x.shape[1]).float()


def moved_by_one(x):
    return lines(x.roll(1, dims=1))


def as_if_inputs_were_sorted(x):
    return lines(x.sort(dim=1).values)


def first_point_exact(x):
    y = lines(x)
    y[:, 0] = 0
    return y


def autoregression(x):
    y = torch.randn(x.shape[:2])
    for point in range(1, x.shape[1]):
        y[:, point] += 0.5 * y[:, point - 1]
    return y + x[..., 0]


ORDER = {
    "a walk over the index": lambda x: torch.randn(x.shape[:2]).cumsum(1),
    "a small walk over the index": lambda x: 10 * waves(x) + noise(x, 0.1).cumsum(1),
    "arange": lambda x: lines(x) + indices(x),
    "a little of arange": lambda x: lines(x) + 0.01 * indices(x),
    "a slope over the index for each dataset": lambda x: waves(x) + torch.randn(len(x), 1) * indices(x) / x.shape[1],
    "noise that grows": lambda x: waves(x) + noise(x) * indices(x),
    "alternating signs": lambda x: lines(x) * (1 - 2 * (indices(x) % 2)),
    "a period of the index": lambda x: waves(x) + torch.sin(indices(x) + 6 * torch.rand(len(x), 1)),
    "a first point that is exact": first_point_exact,
    "an autoregression": autoregression,
    "the input of the previous point": moved_by_one,
    "inputs that were sorted": as_if_inputs_were_sorted,
}


def centred(y):
    return y - y.mean(1, keepdim=True)


def scaled_to_extremes(y):
    low, high = y.amin(1, keepdim=True), y.amax(1, keepdim=True)
    return (y - low) / (high - low)


WHOLE_DATASET = {
    "centred": lambda x: centred(lines(x)),
    "standardised": lambda x: centred(lines(x)) / lines(x).std(1, keepdim=True),
    "standardised waves": lambda x: (y := centred(waves(x))) / y.std(1, keepdim=True),
    "standardised noise": lambda x: (y := centred(noise(x))) / y.std(1, keepdim=True),
    "of unit spread": lambda x: (y := lines(x)) / y.std(1, keepdim=True),
    "of unit length": lambda x: torch.nn.functional.normalize(waves(x), dim=1),
    "of a largest size of 1": lambda x: (y := lines(x)) / y.abs().amax(1, keepdim=True),
    "between 0 and 1": lambda x: scaled_to_extremes(lines(x)),
    "without their median": lambda x: (y := waves(x) + noise(x)) - y.median(1, keepdim=True).values,
    "without their largest": lambda x: (y := lines(x)) - y.amax(1, keepdim=True),
    "ranks": lambda x: lines(x).argsort(1).argsort(1) / x.shape[1] + 0.0 * x[..., 0],
    "shares": lambda x: lines(x).softmax(1),
}
WHOLE_DATASET_OF_LABELS = {
    "cut at the median": lambda x: (y := lines(x)) > y.median(1, keepdim=True).values,
    "cut at the mean": lambda x: (y := waves(x)) > y.mean(1, keepdim=True),
    "balanced in random order": lambda x: torch.rand(x.shape[:2]).argsort(1) % 2,
    "one of them": lambda x: (y := lines(x)) == y.amax(1, keepdim=True),
    "the upper quarter": lambda x: (y := lines(x)) > y.quantile(0.75, dim=1, keepdim=True),
}

OTHER_INPUTS = {
    "standardised inputs": lambda x: lines(centred(x) / x.std(1, keepdim=True)),
    "centred inputs": lambda x: torch.randn(len(x), 1) * centred(x[..., 0]) + noise(x),
    "inputs between their extremes": lambda x: waves(scaled_to_extremes(x)),
    "inputs between 0 and 1": lambda x: lines(x / x.amax(1, keepdim=True)),
    "ranks of inputs": lambda x: lines(x.argsort(1).argsort(1).to(x.dtype) / x.shape[1]),
}

BATCH = {
    "divided by the size of the batch": lambda x: lines(x) / len(x),
    "noise of the size of the batch": lambda x: lines(x) + noise(x, len(x) / 100),
}
BATCH_STATISTICS = {
    "centred over the batch": lambda x: (y := lines(x)) - y.mean(0),
    "centred over everything": lambda x: (y := lines(x)) - y.mean(),
    "standardised over everything": lambda x: ((y := lines(x)) - y.mean()) / y.std(),
}


def changed(change):
    def function(x):
        change(x)
        return lines(x)

    return function


IN_PLACE = {
    "multiplied": changed(lambda x: x.mul_(2)),
    "a column set": changed(lambda x: x[..., 0].zero_()),
    "sorted": changed(lambda x: x.copy_(x.sort(1).values)),
    "clamped": changed(lambda x: x.clamp_(0.2, 0.8)),
}

LABELS_AS_REALS = {
    "two labels": lambda x: (lines(x) > 0).float(),
    "signs": lambda x: lines(x).sign(),
    "three labels": lambda x: (3 * lines(x).sigmoid()).floor(),
    "halves": lambda x: (4 * lines(x).sigmoid()).round() / 2,
}
REALS_AS_LABELS = {
    "reals": lines,
    "probabilities": lambda x: lines(x).sigmoid(),
    "logits": lambda x: 5 * lines(x),
}

SOUND = {
    "lines": lines,
    "waves": waves,
    "heavy tails": lambda x: lines(x) / torch.randn(x.shape[:2]),
    "heavy tails of datasets": lambda x: lines(x) / torch.randn(len(x), 1),
    "rare jumps": lambda x: lines(x) + 100 * (torch.rand(x.shape[:2]) < 0.002),
    "rare datasets": lambda x: lines(x) + 100 * (torch.rand(len(x), 1) < 0.02),
    "clamped": lambda x: lines(x).clamp(-1, 1),
    "zeros and more": lambda x: lines(x).relu(),
    "noise alone": lambda x: torch.randn(x.shape[:2]),
    "uniform noise": lambda x: torch.rand(x.shape[:2]),
    "counts": lambda x: torch.poisson(30 * torch.rand(len(x), 1).expand(x.shape[:2])),
    "Brownian motion": lambda x: brownian(x),
    "large numbers": lambda x: 1e6 + lines(x),
}
SOUND_LABELS = {
    "coins": lambda x: torch.rand(x.shape[:2]) < 0.5,
    "rare labels": lambda x: torch.rand(x.shape[:2]) < 0.005,
    "rare and common": lambda x: torch.rand(x.shape[:2]) < torch.rand(len(x), 1) ** 8,
    "a line": lambda x: lines(x) > 0,
}


def brownian(x):
    """A walk in time: sorted by the input, and put back in the order of the points."""
    time, order = x[..., 0].sort(1)
    steps = torch.randn(time.shape) * time.diff(dim=1, prepend=torch.zeros(len(x), 1)).sqrt()
    return steps.cumsum(1).gather(1, order.argsort(1))


def made(function, outcome=None):
    return prior(num_features=1, outcome=outcome, name="faulty")(function)


def made_of_labels(function):
    return made(function, Classes(2))
