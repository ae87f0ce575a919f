"""A prototype network that is trained on the training alphabets: what is learned from tasks alone, with no prior."""

from itertools import product
from pathlib import Path

import torch
from jaxtyping import Float, UInt8
from omniglot_data import Tasks
from omniglot_methods import SIDE, Scores
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import priorfit as pf
from priorfit.network.encoders.images import Normalisation
from priorfit.priors.distortion import Distortion, turns_and_mirrors

WAYS, SHOTS, NUM_QUERIES, BATCH = 5, (1, 5), 25, 8
LEARNING_RATE = 1e-3


class PrototypeNetwork(nn.Module):
    """Prototypical networks (Snell et al., 2017) with a convolution of normalised pixels: 1-32-64-64, halved thrice."""

    def __init__(self, channels: int = 32) -> None:
        super().__init__()
        sizes = (1, channels, 2 * channels, 2 * channels)
        self.normalise = Normalisation(SIDE, 7.0)
        self.convolution = nn.Sequential(
            *(
                part
                for before, after in zip(sizes, sizes[1:], strict=False)
                for part in (nn.Conv2d(before, after, 3, stride=2, padding=1), nn.GroupNorm(4, after), nn.GELU())
            ),
            nn.Flatten(),
        )
        self.log_scale = nn.Parameter(torch.tensor(-2.0))

    def embedded(self, x: Float[Tensor, "tasks points pixels"]) -> Float[Tensor, "tasks points numbers"]:
        """The numbers whose distances count."""
        images = self.normalise(x).flatten(0, 1).unflatten(1, (1, SIDE, SIDE))
        return self.convolution(images).unflatten(0, x.shape[:2])

    def forward(self, tasks: Tasks) -> Scores:
        """Minus the squared distances to the mean of each class, scaled."""
        one_hot = nn.functional.one_hot(tasks.context_y, tasks.ways).to(tasks.context_x.dtype)
        means = one_hot.mT @ self.embedded(tasks.context_x) / one_hot.sum(1)[..., None]  # (tasks, ways, numbers)
        distances = torch.cdist(self.embedded(tasks.query_x), means).square()
        return -self.log_scale.exp() * distances / means.shape[-1] ** 0.5


def trained_prototypes(
    drawings: UInt8[Tensor, "alphabets characters drawers height width"], file: Path, steps: int, seed: int
) -> PrototypeNetwork:
    """The network of a file, or one trained on tasks of these drawings and kept there.

    Turns and mirror images are new classes. Tasks are of one alphabet or of all, with one or five shots, in turn; every
    image is distorted.
    """
    with pf.seeded(seed):
        network = PrototypeNetwork()
    if file.exists():
        network.load_state_dict(load_file(file))
        return network.eval()
    turned = turns_and_mirrors(drawings)
    groups = turned.flatten(0, 1), turned.flatten(0, 2)[None]
    priors = [(pf.Empirical(each, WAYS, shots), WAYS * shots) for each, shots in product(groups, SHOTS)]
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = LEARNING_RATE * (1 - step / steps)
        prior, num_context = priors[step % len(priors)]
        with pf.seeded(seed, 1, step):
            tasks = distorted_tasks(prior, num_context)
        loss = nn.functional.cross_entropy(network(tasks).flatten(0, 1), tasks.query_y.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    file.parent.mkdir(parents=True, exist_ok=True)
    save_file(network.state_dict(), file)
    return network.eval()


def distorted_tasks(prior: pf.Empirical, num_context: int) -> Tasks:
    """Some tasks whose images are all distorted."""
    drawn = prior.sample(BATCH, num_context + NUM_QUERIES)
    x = Distortion()(drawn.x.flatten(0, 1).unflatten(1, (SIDE, SIDE))).flatten(1).unflatten(0, drawn.x.shape[:2])
    y = drawn.y.long()
    return Tasks(x[:, :num_context], y[:, :num_context], x[:, num_context:], y[:, num_context:], torch.arange(BATCH))
