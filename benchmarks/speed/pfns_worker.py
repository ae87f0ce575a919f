"""Takes training steps of the published `pfns` package on request; `pfns_peer` starts it in an environment of its own.

One line of JSON in, one out: first the sizes, answered by the number of parameters; then ``{}`` for each step,
answered by its seconds. The step is that of `pfns.train`: forward pass, its unbounded bar distribution, backward pass,
clipping at 1, AdamW, in float32 (its mixed precision is bfloat16 on a CPU, which most of them emulate). What its loop
does beside that (norms of single gradients, metrics) is left out, and its decoder of two layers is set to the one layer
that priorfit has: both in its favour.
"""

import json
import sys
import time
from typing import Any

import torch
from pfns.model.bar_distribution import FullSupportBarDistribution
from pfns.model.transformer import TableTransformer
from pfns.optimizer import OptimizerConfig
from torch import nn


class PeerStep:
    """A network of `pfns`, its optimiser, and one batch of data."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        self.model = peer_model(sizes).train()
        optimiser = OptimizerConfig("adamw", lr=1e-4, weight_decay=0.0)
        self.optimiser = optimiser.create_optimizer(self.model.parameters())
        shape = (sizes["batch_size"], sizes["num_points"])
        self.num_context = shape[1] // 2
        self.x, self.y = torch.rand(*shape, sizes["features"]), torch.randn(shape)

    def take(self) -> float:
        """The seconds of one step."""
        start = time.perf_counter()
        logits = self.model(x=self.x, y=self.y[:, : self.num_context], only_return_standard_out=True)
        loss = self.model.criterion(logits, self.y[:, self.num_context :]).mean()
        loss.backward()
        loss.item()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad()
        return time.perf_counter() - start


def peer_model(sizes: dict[str, Any]) -> nn.Module:
    """The package's transformer over points, one token each, as in the paper."""
    borders = torch.special.ndtri(torch.linspace(1e-4, 1 - 1e-4, sizes["buckets"] + 1, dtype=torch.float64))
    model = TableTransformer(
        decoder_dict={"standard": (one_layer, sizes["buckets"])},
        ninp=sizes["width"],
        nhid=sizes["feedforward"],
        nlayers=sizes["layers"],
        nhead=sizes["heads"],
        features_per_group=sizes["features"],
        attention_between_features=False,
    )
    model.criterion = FullSupportBarDistribution(borders.float())
    return model


def one_layer(width: int, hidden: int, outputs: int) -> nn.Module:
    """A linear decoder."""
    return nn.Linear(width, outputs)


def main() -> None:
    """Answer requests until there are no more."""
    replies, sys.stdout = sys.stdout, sys.stderr  # the package prints
    sizes = json.loads(sys.stdin.readline())
    torch.set_num_threads(sizes["threads"])
    torch.manual_seed(sizes["seed"])  # noqa: TID251  priorfit's seeding is not in this environment
    step = PeerStep(sizes)
    print(
        json.dumps({"parameters": sum(weight.numel() for weight in step.model.parameters())}), file=replies, flush=True
    )
    for _ in sys.stdin:
        print(json.dumps({"seconds": step.take()}), file=replies, flush=True)


if __name__ == "__main__":
    main()
