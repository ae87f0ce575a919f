"""A saved model: a folder of tensors (safetensors) and a dictionary (JSON). No classes, no pickle, no code.

A folder is written beside its place under a temporary name and renamed when it is complete, so a kill, an error or a
full disk leaves what was there before. Where a checkpoint is replaced, the one before waits under a second name while
the new one takes its place; if the process dies in that instant, `load_folder` finds it there.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from jaxtyping import Shaped
from torch import Tensor

from priorfit.errors import CheckpointError, InputError
from priorfit.paths import one_writer, usable_path

FORMAT = "priorfit"
FORMAT_VERSION = 1
CONFIG = "config.json"
_RESERVED = ("format", "format_version", "files")

Tensors = Mapping[str, Shaped[Tensor, "..."]]


def save_folder(path: Path | str, groups: Mapping[str, Tensors], config: Mapping[str, Any]) -> None:
    """Write each group of tensors to ``<group>.safetensors`` and the config to ``config.json``, all or nothing.

    A checkpoint that is already at ``path`` is replaced; anything else there is refused and stays as it is.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "waves"
    >>> save_folder(folder, {"model": {"weight": torch.ones(2, 3)}}, {"seed": 0})
    >>> groups, config = load_folder(folder)
    >>> groups["model"]["weight"].shape, config
    (torch.Size([2, 3]), {'seed': 0})
    """
    place = usable_path(path).resolve()
    files = {_file_name(group): _tensor_bytes(tensors) for group, tensors in groups.items()}
    files[CONFIG] = _config_bytes(config, files)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(
            f"cannot make the folder {place.parent}: {error.strerror}. Choose another path."
        ) from error
    with one_writer(place.parent):
        _recover(place)
        _refuse_what_is_not_ours(place)
        fresh = _sibling(place, "new")
        shutil.rmtree(fresh, ignore_errors=True)  # the remains of a save that was killed
        try:
            fresh.mkdir()
            for name, content in files.items():
                _write_file(fresh / name, content)
            _sync_folder(fresh)
            _swap(fresh, place)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise


def load_folder(
    path: Path | str, groups: Iterable[str] = ("model",)
) -> tuple[dict[str, dict[str, Shaped[Tensor, "..."]]], dict[str, Any]]:
    """The named groups of tensors, on the CPU, and the config as it was given to `save_folder`."""
    place = usable_path(path).resolve()
    folder = place if place.exists() else _sibling(place, "previous")
    if not folder.exists():
        raise CheckpointError(f"No checkpoint at {path}: expected a folder with {CONFIG}. Check the path.")
    config = _read_config(folder)
    records = config["files"]
    tensors = {group: _read_tensors(folder / _file_name(group), records) for group in groups}
    return tensors, {key: value for key, value in config.items() if key not in _RESERVED}


def holds_checkpoint(path: Path | str) -> bool:
    """Whether `load_folder` would find a checkpoint of this library here, of whatever version.

    >>> holds_checkpoint("no/such/folder")
    False
    """
    place = usable_path(path).resolve()
    return _is_ours(place) or (not place.exists() and _is_ours(_sibling(place, "previous")))


def write_atomically(path: Path | str, content: str | bytes) -> None:
    """Write one file under a temporary name, then rename it: readers see the old content or the new, nothing between.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> write_atomically(target, "complete")
    >>> target.read_text()
    'complete'
    """
    place = Path(path).resolve()
    fresh = _sibling(place, "new")
    with one_writer(place.parent):
        try:
            _write_file(fresh, content.encode() if isinstance(content, str) else content)
            fresh.replace(place)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        _sync_folder(place.parent)


def _sibling(place: Path, role: str) -> Path:
    return place.with_name(f".{place.name}.priorfit-{role}")


def _file_name(group: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", group):
        raise InputError(f"A group of tensors must be named in lower case letters, digits and _; got {group!r}.")
    return f"{group}.safetensors"


def _tensor_bytes(tensors: Tensors) -> bytes:
    # A copy each: safetensors takes neither strided views nor tensors that share their memory.
    copies = {
        name: tensor.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    return safetensors.torch.save(copies)


def _config_bytes(config: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    taken = [key for key in _RESERVED if key in config]
    if taken:
        raise InputError(f"The keys {_RESERVED} of a config belong to the format; got {taken}. Rename them.")
    records = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()} for name, content in files.items()
    }
    whole = {"format": FORMAT, "format_version": FORMAT_VERSION, **config, "files": records}
    try:
        return (json.dumps(whole, indent=2, allow_nan=False) + "\n").encode()
    except (TypeError, ValueError) as error:
        raise InputError(f"A config must hold only what JSON can say, finite numbers included: {error}.") from error


def _write_file(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":  # elsewhere a folder cannot be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _swap(fresh: Path, place: Path) -> None:
    previous = _sibling(place, "previous")
    replaces = place.exists()
    if replaces:
        place.rename(previous)
    try:
        fresh.rename(place)
    except BaseException:
        if replaces:
            previous.rename(place)
        raise
    _sync_folder(place.parent)
    shutil.rmtree(previous, ignore_errors=True)  # what cannot be removed now is removed by the next save


def _recover(place: Path) -> None:
    """Finish what a save that was killed between its two renames, or while it cleaned up, left behind."""
    previous = _sibling(place, "previous")
    if not place.exists() and _is_ours(previous):
        previous.rename(place)
    shutil.rmtree(previous, ignore_errors=True)


def _refuse_what_is_not_ours(place: Path) -> None:
    if not place.exists():
        return
    if not place.is_dir():
        raise CheckpointError(f"{place} is a file; a checkpoint is a folder. Choose another path.")
    inside = {entry.name for entry in place.iterdir()}
    if not inside:
        return
    if not _is_ours(place):
        raise CheckpointError(
            f"{place} exists and is no priorfit checkpoint; nothing in it was touched. "
            "Choose another path, or move it away."
        )
    foreign = sorted(inside - {CONFIG, *_read_json(place).get("files", {})})
    if foreign:
        raise CheckpointError(
            f"{place} holds {foreign[0]}, which is not part of the checkpoint there and would be lost. "
            "Move it, or choose another path."
        )


def _is_ours(folder: Path) -> bool:
    try:
        return _read_json(folder).get("format") == FORMAT
    except CheckpointError:
        return False


def _read_json(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise CheckpointError(f"{folder} is a file; expected a folder with {CONFIG}. Name the folder that holds it.")
    try:
        config = json.loads((folder / CONFIG).read_bytes())
    except FileNotFoundError as error:
        raise CheckpointError(f"{folder} has no {CONFIG}, so it is no checkpoint, or an incomplete copy.") from error
    except OSError as error:
        raise CheckpointError(f"{folder / CONFIG} cannot be read: {error.strerror}.") from error
    except RecursionError as error:
        raise CheckpointError(f"{folder / CONFIG} is nested too deeply to be a config of priorfit.") from error
    except ValueError as error:
        raise CheckpointError(f"{folder / CONFIG} is not valid JSON ({error}). Copy the checkpoint anew.") from error
    if not isinstance(config, dict):
        raise CheckpointError(f"{folder / CONFIG} must hold a JSON object; got a {type(config).__name__}.")
    return config


def _read_config(folder: Path) -> dict[str, Any]:
    config = _read_json(folder)
    if config.get("format") != FORMAT:
        raise CheckpointError(
            f'{folder / CONFIG} was not written by priorfit: expected "format": "{FORMAT}", got '
            f"{config.get('format')!r}."
        )
    version = config.get("format_version")
    if not isinstance(version, int) or not isinstance(config.get("files"), dict):
        raise CheckpointError(
            f"{folder / CONFIG} lacks its format_version or its list of files. Copy the checkpoint anew."
        )
    if version > FORMAT_VERSION:
        raise CheckpointError(
            f"{folder} has format version {version}; this priorfit reads up to {FORMAT_VERSION}. "
            "Upgrade it: pip install --upgrade priorfit."
        )
    return config


def _read_tensors(path: Path, records: Mapping[str, Any]) -> dict[str, Tensor]:
    if path.name not in records:
        raise CheckpointError(f"{path.parent} was saved without {path.name}; it has {', '.join(sorted(records))}.")
    size, digest = _size_and_digest(path, records[path.name])
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} is missing: the checkpoint is incomplete. Copy it anew.") from error
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}.") from error
    if len(content) != size:
        raise CheckpointError(
            f"{path} is truncated or not the file that was saved: expected {size} bytes, "
            f"got {len(content)}. Copy it anew."
        )
    if hashlib.sha256(content).hexdigest() != digest:
        raise CheckpointError(f"{path} was altered after it was saved: its sha256 differs. Copy it anew.")
    try:
        return safetensors.torch.load(content)
    except (safetensors.SafetensorError, KeyError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{path} is no safetensors file that torch can read ({error}).") from error


def _size_and_digest(path: Path, record: Any) -> tuple[int, str]:
    match record:
        case {"bytes": int(size), "sha256": str(digest)}:
            return size, digest
    raise CheckpointError(
        f"{path.parent / CONFIG} has no record of the size and sha256 of {path.name}; got {record!r}."
    )
