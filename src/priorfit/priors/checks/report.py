"""What `check_prior` says of a prior without a fault."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PriorReport:
    """The facts about a prior without faults."""

    name: str
    num_datasets: int
    num_points: int
    mean: float
    std: float
    low: float
    high: float
    seconds_per_dataset: float
    offers_expected_targets: bool
    notes: tuple[str, ...] = ()
    """Remarks that are worth knowing but are no faults."""

    def __str__(self) -> str:
        """The facts, one in each line."""
        offer = "yes" if self.offers_expected_targets else "no"
        lines = [
            f"{self.name}: no fault found in {self.num_datasets} datasets of {self.num_points} points",
            f"  targets: mean {self.mean:.3g}, standard deviation {self.std:.3g}, "
            f"from {self.low:.3g} to {self.high:.3g}",
            f"  time: {1e6 * self.seconds_per_dataset:.0f} microseconds a dataset",
            f"  expected targets: {offer}",
            *(f"  note: {note}" for note in self.notes),
        ]
        return "\n".join(lines)
