"""Networks of programs that say what their cells guess."""

import priorfit as pf
from priorfit.network import CellSolver, NetworkSettings
from priorfit.network.heads.guess import AdjustedGuess


def untrained(prior, settings: CellSolver) -> pf.PFN:
    """A network that says what its solver guesses, but for a share of e^-12."""
    network = NetworkSettings(width=8, layers=1, attention_heads=1, feedforward=8, solver=settings)
    model = pf.fit(prior, num_points=12, steps=1, network=network, progress=False)
    parts = [(model.decoder, model.head)]
    parts += [] if model.latent_parts is None else [(model.latent_parts.density, model.latent_parts.head)]
    for linear, head in parts:
        linear.weight.data.zero_()
        linear.bias.data.copy_(head.initial_bias())
        if isinstance(head, AdjustedGuess):
            linear.bias.data[0] = -12.0
    return model.frozen()
