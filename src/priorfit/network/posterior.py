"""A conditioned network: it answers any number of queries, in chunks that fit in memory."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Categorical, Distribution, Normal

from priorfit.distributions.joining import joined, regrouped, reshaped
from priorfit.errors import InputError
from priorfit.network.answering import Answering
from priorfit.network.functions import (
    functions_by_latents,
    functions_point_after_point,
    joint_log_prob,
    program_of,
    target_of,
)
from priorfit.network.joint import JointPredictive, in_a_row, joint_of
from priorfit.network.kept import Asked, KeptPoints, KeptPosterior, num_bytes, without_points, write_kept
from priorfit.network.latents.posterior import LatentPosterior
from priorfit.network.limits import warn_of_inputs, warn_of_more
from priorfit.network.model import Model
from priorfit.network.reading import Reading
from priorfit.network.refinement import RefinedPosterior, refined
from priorfit.network.surprise import DRAWS, Surprise, surprise_of
from priorfit.network.units import NoUnits, Units
from priorfit.network.validation import checked_context, checked_queries, is_finite
from priorfit.priors import Prior, ProgramPrior
from priorfit.values import Values, as_tensor

if TYPE_CHECKING:
    from priorfit.network.pfn import PFN

Context: TypeAlias = tuple[Num[Tensor, "datasets points features"], Num[Tensor, "datasets points"]]
"""The points that a network was conditioned on, in the units of its prior."""

CHUNK_BYTES = 64 * 2**20
"""Memory that the network's intermediate states of one chunk of queries may take."""


class PFNPosterior:
    """What a network remembers of a context; a `Posterior`."""

    def __init__(
        self,
        model: Answering,
        memory: Any,
        reading: Reading,
        units: Units | NoUnits,
        context: Context | None,
        asked: Asked | None,
    ) -> None:
        self._model, self._memory, self._reading, self._units = model, memory, reading, units
        self._points = None if context is None or asked is None else KeptPoints(*context, asked)

    @classmethod
    def resumed(cls, model: Answering, kept: KeptPosterior) -> "PFNPosterior":
        """A posterior of which a file kept this; ``model`` is the network that it was made by."""
        points = kept.points
        context = None if points is None else (points.x, points.y)
        memory = memory_of(model, kept)
        return cls(model, memory, kept.reading, kept.units, context, None if points is None else points.asked)

    def save(self, path: str | Path, points: bool | None = None) -> None:
        """Write a folder from which `priorfit.load_posterior` gives the same answers, bit for bit; no pickle, no code.

        It holds what predictions need of the context and the model's hash, and the model's weights unless they come
        with the package. The points are kept beside it where the network has layers, whose keys and values are far
        larger. A network without layers keeps whichever is smaller: the points, or the solver's statistics, whose size
        does not depend on the number of points. ``points=True`` keeps them in any case, for `add`, `surprise`,
        `refined`, `sample_functions` and `joint_log_prob`, which read them again; ``points=False`` leaves them out.
        """
        write_kept(path, "posterior", self.kept(points), cast(Model, self._model))

    def kept(self, points: bool | None = None) -> KeptPosterior:
        """What `save` writes of the context."""
        if points and self._points is None:
            raise InputError(without_points("save(points=True)"))
        memory, own = self._model.kept(self._memory), self._points
        is_small = memory is None or (own is not None and num_bytes(own) <= num_bytes(memory))
        if points is None:
            points = own is not None and (self._model.grows or is_small)
            memory = None if points and is_small and not self._model.grows else memory
        if memory is None and not points:
            raise InputError("the solver of this network keeps its points alone. Save it with points=True.")
        return KeptPosterior(self._reading, self._units, memory, own.plain() if own is not None and points else None)

    def add(self, x: Values, y: Values) -> "PFNPosterior":
        """The posterior given more points too: the answer of conditioning on all of them at once.

        Where a solver alone reads the context (``layers=0``), targets are real and units are fixed, its sufficient
        statistics are updated and no earlier point is read again. Else the points, which the posterior keeps, go
        through the network anew together with the new ones.
        """
        reading, problem = self._reading, self._model.problem
        more_x, more_y = checked_context(x, y, problem)
        checked_queries(more_x, reading.batch_shape, reading.num_columns, problem, "x")
        longer = self._longer(more_x, more_y)
        if longer is not None:
            return longer
        asked = self._kept_points("add").asked
        all_x = torch.cat([asked.x, more_x.to(asked.x.device)], dim=-2)
        all_y = torch.cat([asked.y, more_y.to(asked.y.device)], dim=-1)
        return self._network.condition(all_x, all_y, **asked.latents)

    def _longer(self, x: Num[Tensor, "*batch more columns"], y: Num[Tensor, "*batch more"]) -> "PFNPosterior | None":
        """The posterior given more points where the network can go on from its memory alone."""
        reading, model, points = self._reading, self._model, self._points
        if model.problem.units == "free":  # which more points change
            return None
        inputs = model.readable_inputs(reading.inputs(x), "x")
        targets = reading.targets(y).to(inputs)
        memory = model.with_points(self._memory, inputs, self._units.to_model(targets))
        if memory is None:
            return None
        total = reading.num_points + y.shape[-1]
        warn_of_more(inputs, targets, model.problem, model.card, total)
        longer = None if points is None else points.joined(KeptPoints(inputs, targets, Asked(x, y, {})))
        return PFNPosterior(
            model,
            memory,
            replace(reading, num_points=total),
            self._units,
            longer and (longer.x, longer.y),
            longer and longer.asked,
        )

    def _kept_points(self, needed_for: str) -> KeptPoints:
        """The points of the context, or an error where a file did not keep them."""
        if self._points is None:
            raise InputError(without_points(needed_for))
        return self._points

    def predict(self, query_x: Values) -> Distribution:
        """The posterior predictive of each query, in the units of the context; no query sees another.

        ``query_x (*batch, query, columns)`` has the batch shape and the columns of the context; the answer has
        batch shape ``(*batch, query)``.
        """
        model, reading = self._model, self._reading
        x = checked_queries(query_x, reading.batch_shape, reading.num_columns, model.problem)
        inputs = model.readable_inputs(reading.inputs(x), "query_x")  # (batch, query, features)
        warn_of_inputs(inputs, model.problem)
        chunks = [inputs] if inputs.shape[1] <= (size := self.chunk_size()) else inputs.split(size, dim=1)
        answers = joined([self._answered(chunk) for chunk in chunks])
        return reading.to_user(reshaped(answers, x.shape[:-1]), self._units)

    @property
    def latents(self) -> LatentPosterior:
        """The posterior of each latent that the prior names: ``latents["decay"]``, and ``latents.sample(count)``."""
        return LatentPosterior(self._network, self._memory, self._reading.batch_shape)

    @property
    def _network(self) -> "PFN":
        """The network as one that may have latents; each function says so where it has none."""
        return cast("PFN", self._model)

    def refined(self, particles: int = 1024) -> RefinedPosterior:
        """The network's posterior of the latents corrected by exact importance weights: exact for many particles.

        It needs the prior's law (`fit` keeps the prior; ``pf.load(folder, prior=...)`` binds it again). The result
        says when not to be believed: its ``k_hat`` is then above 0.7, and there is a warning.
        """
        prior = program_of(self._network, "refined()")
        latents = self.latents
        points = self._kept_points("refined")
        known = self._network.known_latents(points.asked.latents, self._reading.batch_shape)
        target = target_of(prior, (points.x, points.y), known)
        return refined(latents, target, self._reading.batch_shape, particles)

    def sample_functions(self, query_x: Values, count: int, noise: bool = False) -> Num[Tensor, "count *batch query"]:
        """Whole functions, coherent over x: ``(count, *batch, query)``.

        Where the prior is at hand and has a law: latents drawn by the network, then the mean of the law, or with
        ``noise=True`` a draw of it. Else, where the network has a solver for reals: draws of its joint Gaussian with
        the margins of the network, see `joint`. Otherwise point after point, each given those before it, which gives
        noisy draws alone and takes a pass for each point.
        """
        x = checked_queries(query_x, self._reading.batch_shape, self._reading.num_columns, self._model.problem)
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InputError(f"count must be a whole number of at least 1; got {count!r}.")
        prior = self._model.prior
        if isinstance(prior, ProgramPrior) and prior.has_law and self._model.latent_parts is not None:
            return functions_by_latents(self.latents, prior, x.float(), count, noise)
        joint = self._joint(x, torch.Size(), noise)
        if joint is not None:
            return joint.sample((count,))
        if not noise:
            raise InputError(
                "functions without noise need the law of the prior or a network with a solver for reals; this model "
                "has neither at hand. Ask for noise=True, bind a prior that returns a law by pf.load(folder, "
                "prior=...), or name one in fit."
            )
        asked = self._kept_points("sample_functions").asked
        return functions_point_after_point(self._network, (asked.x, asked.y), x, count, asked.latents)

    def joint(self, query_x: Values, noise: bool = True) -> JointPredictive:
        """The joint predictive of all queries in closed form, where the network has a solver for reals.

        Dependence is that of the solver's joint Gaussian, margins are those of `predict`. With ``noise=False`` it is
        that of the function below the observations: the solver's functions without its noise, and margins whose
        variance is smaller by the share that noise has in the solver's own; mean and shape stay. That is exact where
        the solver is right up to units, as for Gaussian processes of known noise, and as good as the solver's noise
        elsewhere. A network that answers for functions has margins without noise; with ``noise=True`` they are widened
        by the same share. ``query_x (*sets, *batch, query, columns)`` may hold many sets of queries; each is joint in
        itself.
        """
        model, reading = self._model, self._reading
        x, sets = in_a_row(as_tensor(query_x, "query_x"), len(reading.batch_shape))
        x = checked_queries(x, reading.batch_shape, reading.num_columns, model.problem)
        joint = self._joint(x, sets, noise)
        if joint is None:
            raise InputError(
                "a joint predictive needs a network with a solver for reals (LinearSolver, LatentSolver), conditioned "
                "on data alone; this one has none. Use sample_functions(x, count, noise=True) and joint_log_prob."
            )
        return joint

    @property
    def has_joint(self) -> bool:
        """Whether there is a joint predictive in closed form; see `joint`."""
        size = max(1, self._reading.batch_shape.numel()), 0, self._reading.num_features
        nowhere = self._model.readable_inputs(torch.zeros(size), "query_x")
        return self._model.joint_normals(nowhere, self._memory) is not None

    def _joint(
        self, query_x: Num[Tensor, "*batch queries columns"], sets: torch.Size, noise: bool
    ) -> JointPredictive | None:
        """The joint predictive of each set; ``query_x`` has the queries of all sets one after the other."""
        inputs = self._model.readable_inputs(self._reading.inputs(query_x), "query_x")
        apart = inputs.unflatten(1, (sets.numel(), -1)).transpose(0, 1).flatten(0, 1)  # (sets * batch, query, features)
        function = self._model.joint_normals(apart, self._memory)
        if function is None:
            return None
        margins = regrouped(self.predict(query_x), sets) if sets else self.predict(query_x)
        return joint_of(function, margins, self._model.problem.answers, noise)

    def joint_log_prob(self, query_x: Values, y: Values) -> Float[Tensor, "*batch"]:
        """log p(y | context) of all queries together, by the chain rule in the order in which they are given.

        A network that answers for functions cannot go on from values without noise; it takes `joint`.
        """
        x = checked_queries(query_x, self._reading.batch_shape, self._reading.num_columns, self._model.problem)
        if self._model.problem.answers == "function":
            return self.joint(x, noise=False).log_prob(y)
        asked = self._kept_points("joint_log_prob").asked
        return joint_log_prob(self._network, (asked.x, asked.y), x, y, asked.latents)

    def surprise(self, prior: Prior | None = None, draws: int = DRAWS, seed: int = 0) -> Surprise:
        """Did the prior draw this context? A p-value: small where the data are unlike the prior's, in whatever way.

        Each point is predicted from those before it, in an order that depends on x and seed alone: the first few one by
        one, then in blocks as large as all points before them. PIT values and log densities minus their expectations
        make seven summaries, of which large ones are surprising: targets that are improbable, too probable (units that
        are too small), one far off, quantiles that are uneven (for classes they are drawn within their step),
        neighbours whose errors are alike or unlike, functions that are too smooth. The same summaries of ``draws``
        datasets at the same x say what is usual, and the p-value is the rank of the data's most extreme one among
        theirs. It is uniform if the prior drew the data, whatever the network does: a bad network costs power alone.

        The draws are those of ``prior``, by default of the one on the model's card. Where there is none to draw from
        (the prior is a function, or draws its own inputs), the network's own draws take their place, which costs n
        passes and is right as far as the network is; ``null`` of the result says which. An empty context is refused;
        one point is compared by its PIT and its log density alone, and tells nothing where units are free.
        """
        points = self._kept_points("surprise")
        found = surprise_of(self._model, points.x, points.y, prior, draws, seed)
        shape = self._reading.batch_shape
        statistics = {name: values.reshape(shape) for name, values in found.statistics.items()}
        return replace(found, p_value=found.p_value.reshape(shape), statistics=statistics)

    def chunk_size(self) -> int:
        """How many queries of each dataset go through the network at once."""
        numbers = self._model.numbers_per_query(self._memory)
        batch_size = max(1, self._reading.batch_shape.numel())
        return max(1, CHUNK_BYTES // (numbers * self._model.dtype.itemsize * batch_size))

    def _answered(self, query_x: Num[Tensor, "batch query features"]) -> Distribution:
        ppd = self._model.answer(query_x, self._memory)
        if not is_finite(ppd.loc if isinstance(ppd, Normal) else cast(Categorical, ppd).logits):
            raise InputError(
                "the network's answer is not finite: values of the context or the queries are so large that its "
                f"{self._model.dtype} numbers overflow. Rescale them to the units of the prior."
            )
        return ppd


def memory_of(model: Answering, kept: KeptPosterior) -> Any:
    """The memory of a context that a file kept, or that of the points where it kept those alone."""
    if kept.memory is not None:
        return model.resumed(kept.memory)
    points = cast(KeptPoints, kept.points)
    memory, latents = model.encoded(points.x, kept.units.to_model(points.y)), points.asked.latents
    if not latents:
        return memory
    network = cast("PFN", model)
    return network.shown(memory, network.known_latents(latents, kept.reading.batch_shape))
