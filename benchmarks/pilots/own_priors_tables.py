"""The tables of `own_priors_latents.py`, from the rows that are kept."""

from collections.abc import Iterator
from typing import Any

from torch.distributions import Distribution

from benchmarks.common.kept_rows import KeptRows
from benchmarks.pilots.own_priors_models import own_prior
from priorfit.verify.latents import NUM_DATASETS

COUNTS = (64, 256, 1024, 4096)
NUTS_STEPS = (50, 200, 1000)
BAND = 1.358
"""The largest distance of N uniform levels from uniform is below this over sqrt(N) in 95 of 100 cases."""


def tell(kept: KeptRows, minutes: float) -> None:
    """Print the four tables."""
    rows = [row["key"] | row["found"] for row in kept.found.values() if row["key"]["minutes"] == minutes]
    for heads, lines in (
        (("prior", "n", "latent", "KL", "largest KL", "network tells", "truth tells"), margin_lines(rows)),
        (("prior", "n", "latent", "distance", "95 % band", "within", "log score", "prior's"), calibration_lines(rows)),
        (REFINED_HEADS, refined_lines(rows)),
        (("prior", "way", *(str(count) for count in COUNTS)), particle_lines(rows)),
    ):
        print(f"| {' | '.join(heads)} |\n" + "| --- " * len(heads) + "|")
        for line in lines:
            print(f"| {' | '.join(line)} |")
        print()


REFINED_HEADS = (
    "prior",
    "n",
    "network's gap",
    "refined's gap, k-hat < 0.7",
    "largest",
    "k-hat < 0.7",
    "certain of 32",
    "effective size",
) + ("ms alone", "ms in a batch", "ms 1,000 draws", "ms 100 functions")

Line = tuple[str, ...]


def of_table(rows: list[dict[str, Any]], table: str) -> Iterator[dict[str, Any]]:
    """The rows of one table."""
    return (row for row in rows if row["table"] == table)


def margin_lines(rows: list[dict[str, Any]]) -> Iterator[Line]:
    """KL of each margin, and the nats that the data tell of it."""
    for row in of_table(rows, "margins"):
        for latent in own_prior(row["prior"]).latents:
            numbers = [row[f"{latent.name} {what}"] for what in ("KL", "largest KL", "network", "truth")]
            yield row["prior"], str(row["n"]), latent.name, *(f"{number:.4f}" for number in numbers)


def calibration_lines(rows: list[dict[str, Any]]) -> Iterator[Line]:
    """Distances from uniform; of a vector the largest of its numbers."""
    for row in of_table(rows, "calibration"):
        for latent in own_prior(row["prior"]).latents:
            distance, band = row[f"{latent.name} distance"], BAND / NUM_DATASETS**0.5
            numbers = (f"{distance:.3f}", f"{band:.3f}", "yes" if distance <= band else "no")
            assert isinstance(latent.source, Distribution)
            scores = (row[f"{latent.name} score"], -float(latent.source.entropy().mean()))
            yield row["prior"], str(row["n"]), latent.name, *numbers, *(f"{score:.3f}" for score in scores)


def refined_lines(rows: list[dict[str, Any]]) -> Iterator[Line]:
    """What refined particles come to, and what they cost."""
    for row in of_table(rows, "refined"):
        gaps = (f"{row[name]:.5f}" for name in ("network gap", "gap", "largest gap"))
        times = (f"{row[name]:.1f}" for name in ("alone", "batch", "draws", "functions"))
        about = (f"{row['reliable']:.0%}", str(row["certain"]), f"{row['effective']:.0f}")
        yield row["prior"], str(row["n"]), *gaps, *about, *times


def particle_lines(rows: list[dict[str, Any]]) -> Iterator[Line]:
    """KL against the number of particles; NUTS by the draws of a chain, with its milliseconds."""
    for row in of_table(rows, "particles"):
        for way in ("refined", "prior"):
            yield row["prior"], way, *(f"{row[f'{way} {count}']:.5f}" for count in COUNTS)
        yield row["prior"], "refined, ms", *(f"{row[f'refined {count} ms']:.0f}" for count in COUNTS)
        if f"nuts {NUTS_STEPS[0]}" in row:
            cells = (f"{row[f'nuts {n}']:.5f} ({n} draws, {row[f'nuts {n} ms']:.0f} ms)" for n in NUTS_STEPS)
            yield row["prior"], "NUTS", *cells, ""
