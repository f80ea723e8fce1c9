"""Estimation models trained on programs of the simulated machine (PMCTrack 4.1.2, 4.2.2; docs/models.md).

>>> from solocore import models
>>> frame = models.samples("quickia")                  # counters and factors of windows of equal instructions
>>> trained = models.train(frame, "speedup-factor")    # additive regression, programs held out
>>> print(trained.table())
>>> Path("quickia.toml").write_text(trained.text())    # for `model = ` in a scenario

`python -m solocore.models quickia speedup-factor --out FILE` does the same. It takes pandas and scikit-learn (`solocore[models]`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ._native import Model
from .errors import InputError
from .windows import EVENTS, Chip, alone, samples

__all__ = ["METRICS", "SCALE", "TURNS", "HeldOut", "Metric", "Side", "Trained", "alone", "by_miss_rate", "correlation", "read", "samples", "train"]

Factor = Literal["speedup-factor", "energy-factor"]

SCALE = 10**12
"""Steps in one: numbers of a model are whole steps, as the kernel has them."""
_LIMITS = (-(1 << 127), (1 << 127) - 1)

TURNS: dict[str, tuple[int, int]] = {"quickia": (2, 3), "opteron-2425": (1, 1), "juno": (2, 2), "tc2": (2, 2)}
"""How many sets of events may take turns on the big and on the small kind: PMCTrack 4.1.2 and Table 6; `tc2` as `juno`. On QuickIA a set has
two events beside instructions and cycles, for which its chip has fixed counters."""


@dataclass(frozen=True)
class Metric:
    """A number made of counts: `scale` times the sum of `events`, by `divisor`."""

    text: str
    """The expression in a model's file."""
    scale: int
    events: tuple[str, ...]
    divisor: str

    @classmethod
    def per(cls, scale: int, *events: str) -> Metric:
        """So many of `events` in `scale` instructions."""
        total = events[0] if len(events) == 1 else f"({' + '.join(events)})"
        return cls(f"{scale} * {total} / instructions", scale, events, "instructions")

    def steps(self, counts: Mapping[str, Any]) -> int:
        """Its value in whole steps, cut off as the kernel cuts it off; zero where nothing was counted that it divides by."""
        divisor = int(counts[self.divisor])
        return self.scale * sum(int(counts[event]) for event in self.events) * SCALE // divisor if divisor else 0


METRICS: tuple[Metric, ...] = (
    Metric("instructions / cycles", 1, ("instructions",), "cycles"),
    Metric.per(1000, "l1_hits", "l1_misses"),
    Metric.per(1000, "l1_misses"),
    Metric.per(1000, "llc_hits", "llc_misses"),
    Metric.per(1000, "llc_misses"),
    Metric.per(1000, "branches_retired"),
    Metric.per(1000, "branches_mispredicted"),
    Metric.per(1_000_000, "dtlb_walks"),
    Metric.per(1_000_000, "itlb_walks"),
)
"""What models may be made of. The first needs no counter beside those of instructions and cycles, and tells changes of phase."""

Node = int | tuple[int, int, int, int]
"""A leaf in steps; or a split: metric, the most in steps, the node up to there, the node above."""


@dataclass(frozen=True)
class Side:
    """What a model makes of the counters of one kind of core."""

    kind: str
    sets: tuple[tuple[str, ...], ...]
    metrics: tuple[Metric, ...]
    base: int
    trees: tuple[tuple[Node, ...], ...]

    def estimate(self, metrics: Sequence[int]) -> int | None:
        """The estimate in steps for metrics in steps, by the definition in docs/models.md."""
        total = self.base
        for tree in self.trees:
            node = tree[0]
            while isinstance(node, tuple):
                metric, most, low, high = node
                node = tree[low if metrics[metric] <= most else high]
            total += node
            if not _LIMITS[0] <= total <= _LIMITS[1]:
                return None
        return total


@dataclass(frozen=True)
class HeldOut:
    """How good estimates are for programs that the model was not trained on, of one kind of core."""

    kind: str
    programs: int
    windows: int
    correlation: float
    """Pearson's, of estimates and true factors."""
    in_turn: float
    """The same where each set of events has a window of its own and the last window's factor is meant, as a monitor has it."""
    error: float
    """The mean distance between the two."""
    worst: float
    """The same of the program that is estimated worst."""
    mean_correlation: float
    """Pearson's, of the mean of the programs trained on: a constant in each fold, so not above zero but by chance."""
    mean_error: float
    """The mean distance from it."""


@dataclass(frozen=True)
class Trained:
    """A model, and how it does on programs that it does not know."""

    factor: Factor
    platform: str
    how: str
    sides: tuple[Side, ...]
    held_out: tuple[HeldOut, ...]
    estimates: Any = field(repr=False)
    """A `pandas.DataFrame` of each window held out: `program`, `window`, `kind`, `factor`, `estimate`."""

    def text(self) -> str:
        """The model's file (docs/models.md)."""
        lines = [
            f'model    = "{self.factor}"', "version  = 1", f'platform = "{self.platform}"', f'trained  = "{self.trained()}"',
        ]
        for side in self.sides:
            lines += ["", "[[side]]", f'kind    = "{side.kind}"', "sets    = ["]
            lines += [f"    [{', '.join(_quoted(event) for event in events)}]," for events in side.sets]
            lines += ["]", "metrics = ["]
            lines += [f"    {_quoted(metric.text)}," for metric in side.metrics]
            lines += ["]", f"base    = {_quoted(_decimal(side.base))}", "trees   = ["]
            lines += [f"    [{', '.join(_quoted(_written(node)) for node in tree)}]," for tree in side.trees]
            lines += ["]"]
        return "\n".join(lines) + "\n"

    def trained(self) -> str:
        """How it was trained, in a line."""
        found = " and ".join(f"{held.correlation:.2f} ({held.kind})" for held in self.held_out)
        return f"{self.how}; held out by application: r = {found}"

    def model(self) -> Model:
        """The same as the kernel evaluates it."""
        return Model.parse(self.text(), self.platform)

    def table(self) -> str:
        """Held-out correlations and errors beside those of the mean, and what each side is made of, for people."""
        lines = ["| kind | turns | r | r in turns | mean error | worst program | r of the mean | its error |", "|---|" + "---|" * 7]
        for side, held in zip(self.sides, self.held_out):
            values = (held.correlation, held.in_turn, held.error, held.worst, held.mean_correlation, held.mean_error)
            lines.append(f"| {side.kind} | {len(side.sets)} | " + " | ".join(f"{value:.3f}" for value in values) + " |")
        lines += [f"{side.kind}: " + "; ".join(metric.text for metric in side.metrics) for side in self.sides]
        return "\n".join(lines)


def read(text: str, platform: str) -> Model:
    """A model's file as the kernel evaluates it. Raises `ScenarioError` for one of another platform or version."""
    return Model.parse(text, platform)


def correlation(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Pearson's coefficient; not a number where one of the two never changes."""
    mean_x, mean_y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    both = math.fsum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys))
    spread = math.sqrt(math.fsum((x - mean_x) ** 2 for x in xs)) * math.sqrt(math.fsum((y - mean_y) ** 2 for y in ys))
    return both / spread if spread > 1e-9 else math.nan


def by_miss_rate(frame: Any, column: str = "speedup_factor") -> tuple[float, float]:
    """Pearson's coefficient of a factor and the big kind's misses of the last level in 1,000 instructions (PMCTrack, Fig. 6): by window,
    and by program, with the mean of each program's windows."""
    big = frame[frame["kind"] == Chip(frame["platform"].iloc[0]).kinds[0]]
    points = big.assign(rate=1000 * big["llc_misses"] / big["instructions"])[["program", "rate", column]]
    means = points.groupby("program").mean()
    by_window = correlation(list(points["rate"]), list(points[column]))
    return by_window, correlation(list(means["rate"]), list(means[column]))


def train(
    frame: Any,
    factor: Factor,
    *,
    turns: tuple[int, int] | None = None,
    folds: int = 10,
    trees: int = 100,
    depth: int = 3,
    shrinkage: float = 0.1,
    seed: int = 1,
    digits: int = 6,
    source: str = "solocore.models.train",
) -> Trained:
    """Trains a model of `samples` by additive regression: gradient boosting of small trees (scikit-learn), from big-core and from
    small-core metrics apart. Programs are held out in `folds` parts (GroupKFold); the choice of metrics is made anew in each.

    `turns` says how many sets of events may take turns on the big and on the small kind, `TURNS` unless said. Metrics that explain less
    than a hundredth of the factor are left out, then those for which no turn is left. Trees, depth and shrinkage are scikit-learn's
    defaults. All numbers are rounded to `digits` behind the point before anything is estimated; estimates are made in whole
    steps. `source` is what the file says that it comes from.

    Raises `InputError` for a frame that lacks columns, holds what is no number, a negative energy, a factor that is not above zero, two
    platforms, or fewer programs than `folds`.
    """
    chip, rows = _checked(frame, factor, folds, digits)
    limits = turns or TURNS.get(chip.name, (2, 2))
    makes = _Maker(trees, depth, shrinkage, seed, digits)
    sides, held_out, estimates = [], [], []
    for kind, most in zip(chip.kinds, limits):
        known = [row for row in rows if row["kind"] == kind]
        sides.append(makes.side(chip, kind, known, most))
        held, found = _held_out(makes, chip, kind, known, most, folds)
        held_out.append(held)
        estimates += found
    import pandas
    import sklearn

    how = (
        f"{source}; {held_out[0].programs} programs, {held_out[0].windows} windows; scikit-learn {sklearn.__version__}, "
        f"{trees} trees of depth {depth}, shrinkage {shrinkage}, seed {seed}"
    )
    return Trained(factor, chip.name, how, tuple(sides), tuple(held_out), pandas.DataFrame(estimates))


def _checked(frame: Any, factor: str, folds: int, digits: int) -> tuple[Chip, list[dict[str, Any]]]:
    """The platform, and rows with their programs, metrics in steps and factors; what is no sample is refused."""
    if factor not in ("speedup-factor", "energy-factor"):
        raise InputError("speedup-factor or energy-factor", repr(factor), "factor")
    if not 1 <= digits <= 12:
        raise InputError("1 to 12", str(digits), "digits")
    if folds < 2:
        raise InputError("at least 2", str(folds), "folds")
    target = factor.replace("-", "_")
    needed = ["platform", "program", "window", "kind", "instructions", "cycles", *EVENTS, target]
    if factor == "energy-factor":
        needed.append("energy_fj")
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise InputError(f"columns {', '.join(needed)}", f"a frame without {', '.join(missing)}", "frame")
    platforms = sorted(set(frame["platform"]))
    if len(platforms) != 1:
        raise InputError("windows of one platform", ", ".join(map(str, platforms)) or "none", "column platform")
    chip = Chip(platforms[0])
    if factor == "energy-factor" and not chip.metered:
        raise InputError("a platform with an energy meter", chip.name, "column platform")
    rows = []
    for at, row in enumerate(frame[needed].to_dict("records")):
        for name in needed[4:]:
            value = row[name]
            place = f"row {at}, column {name}"
            if value is None or not isinstance(value, int | float) and not hasattr(value, "__float__") or not math.isfinite(value):
                raise InputError("a finite number", str(value), place)
            if value < 0 or (name == target and value == 0):
                raise InputError("a number above zero" if name == target else "zero or more", str(value), place)
        if row["kind"] not in chip.kinds:
            raise InputError(f"a kind of core of {chip.name}: {', '.join(chip.kinds)}", str(row["kind"]), f"row {at}, column kind")
        metrics = [metric.steps(row) for metric in METRICS]
        rows.append({"program": row["program"], "window": row["window"], "kind": row["kind"], "metrics": metrics,
                     "factor": float(row[target])})
    for kind in chip.kinds:
        programs = {row["program"] for row in rows if row["kind"] == kind}
        if len(programs) < folds:
            raise InputError(f"at least {folds} programs on {kind}, as many as folds, to hold some out", str(len(programs)), "column program")
    return chip, rows


@dataclass(frozen=True)
class _Maker:
    trees: int
    depth: int
    shrinkage: float
    seed: int
    digits: int

    def side(self, chip: Chip, kind: str, rows: Sequence[dict[str, Any]], turns: int) -> Side:
        """The side of a kind, from rows of it."""
        everything = self._fitted(rows, range(len(METRICS)))
        chosen, sets = _chosen(chip, everything.feature_importances_, turns)
        fitted = self._fitted(rows, chosen)
        trees = tuple(self._tree(tree.tree_) for tree in fitted.estimators_[:, 0])
        base = self._rounded(float(fitted.init_.constant_[0][0]))
        return Side(kind, sets, tuple(METRICS[at] for at in chosen), base, trees)

    def _fitted(self, rows: Sequence[dict[str, Any]], metrics: Sequence[int]) -> Any:
        from sklearn.ensemble import GradientBoostingRegressor

        regressor = GradientBoostingRegressor(
            n_estimators=self.trees, max_depth=self.depth, learning_rate=self.shrinkage, random_state=self.seed
        )
        table = [[row["metrics"][at] / SCALE for at in metrics] for row in rows]
        return regressor.fit(table, [row["factor"] for row in rows])

    def _rounded(self, value: float) -> int:
        grain: int = 10 ** (12 - self.digits)
        steps: int = round(value * 10**self.digits)
        return steps * grain

    def _tree(self, tree: Any) -> tuple[Node, ...]:
        """Its nodes: a node's children come after it, in scikit-learn's order as in ours."""
        def node(at: int) -> Node:
            if tree.children_left[at] < 0:
                return self._rounded(float(tree.value[at][0][0]) * self.shrinkage)
            metric, most = int(tree.feature[at]), self._rounded(float(tree.threshold[at]))
            return metric, most, int(tree.children_left[at]), int(tree.children_right[at])

        return tuple(node(at) for at in range(tree.node_count))


def _chosen(chip: Chip, importances: Sequence[float], turns: int) -> tuple[list[int], tuple[tuple[str, ...], ...]]:
    """The metrics that matter, as many as the counters have turns for, and the sets: the more important choose first."""
    order = [0, *sorted(range(1, len(METRICS)), key=lambda at: -importances[at])]
    order = [at for at in order if at == 0 or importances[at] >= 0.01]
    placed, sets = chip.pack([(*METRICS[at].events, METRICS[at].divisor) for at in order], turns)
    return sorted(order[at] for at in placed), tuple(map(tuple, sets))


def _held_out(
    makes: _Maker, chip: Chip, kind: str, rows: list[dict[str, Any]], turns: int, folds: int
) -> tuple[HeldOut, list[dict[str, Any]]]:
    """Estimates of every row by a side that was trained without its program."""
    from sklearn.model_selection import GroupKFold

    programs = [row["program"] for row in rows]
    estimates: list[dict[str, Any]] = []
    means: list[float] = []
    rounds: list[tuple[float, float]] = []
    for known, others in GroupKFold(folds).split(rows, groups=programs):
        trained_on = [rows[at] for at in known]
        side = makes.side(chip, kind, trained_on, turns)
        columns = [METRICS.index(metric) for metric in side.metrics]
        mean = math.fsum(row["factor"] for row in trained_on) / len(trained_on)
        held = sorted((rows[at] for at in others), key=lambda row: (str(row["program"]), row["window"]))
        for row in held:
            estimate = side.estimate([row["metrics"][at] for at in columns])
            estimates.append({"program": row["program"], "window": row["window"], "kind": kind, "factor": row["factor"],
                              "estimate": math.nan if estimate is None else estimate / SCALE})
            means.append(mean)
        rounds += _rounds(side, columns, held)
    true = [row["factor"] for row in estimates]
    found = [row["estimate"] for row in estimates]
    errors: dict[str, list[float]] = {}
    for row in estimates:
        errors.setdefault(row["program"], []).append(abs(row["estimate"] - row["factor"]))
    return HeldOut(
        kind=kind,
        programs=len(errors),
        windows=len(rows),
        correlation=correlation(found, true),
        in_turn=correlation([estimate for estimate, _ in rounds], [factor for _, factor in rounds]),
        error=math.fsum(sum(part) for part in errors.values()) / len(rows),
        worst=max(sum(part) / len(part) for part in errors.values()),
        mean_correlation=correlation(means, true),
        mean_error=math.fsum(abs(mean - factor) for mean, factor in zip(means, true)) / len(rows),
    ), estimates


def _rounds(side: Side, columns: Sequence[int], held: Sequence[dict[str, Any]]) -> Iterator[tuple[float, float]]:
    """By round of windows of a program, one for each set: the estimate, and the factor of the last of them."""
    turns = len(side.sets)
    of_set = [_set_of(side, metric) for metric in side.metrics]
    for at in range(0, len(held) - turns + 1):
        windows = held[at : at + turns]
        if windows[0]["program"] != windows[-1]["program"] or windows[0]["window"] % turns:
            continue
        # What every set has is of the last one, as the monitor has it.
        estimate = side.estimate([windows[turn]["metrics"][column] for column, turn in zip(columns, of_set)])
        if estimate is not None:
            yield estimate / SCALE, windows[-1]["factor"]


def _set_of(side: Side, metric: Metric) -> int:
    """The first set that has all events of a metric: where the monitor takes it from."""
    events = {*metric.events, metric.divisor}
    return next(at for at, known in enumerate(side.sets) if events <= set(known))


def _quoted(text: str) -> str:
    return f'"{text}"'


def _decimal(steps: int) -> str:
    whole, rest = divmod(abs(steps), SCALE)
    digits = f"{whole}.{rest:012}".rstrip("0").rstrip(".")
    return f"-{digits}" if steps < 0 else digits


def _written(node: Node) -> str:
    if isinstance(node, int):
        return _decimal(node)
    metric, most, low, high = node
    return f"m{metric} <= {_decimal(most)} ? {low} : {high}"


def _main() -> None:
    import argparse
    import shlex
    import sys
    from pathlib import Path

    from . import programs

    parser = argparse.ArgumentParser("python -m solocore.models", description="Trains an estimation model of a platform.")
    parser.add_argument("platform")
    parser.add_argument("factor", choices=["speedup-factor", "energy-factor"])
    parser.add_argument("--programs", type=int, default=28, help="how many programs are drawn (28)")
    parser.add_argument("--seed", type=int, default=1, help="where drawing begins (1)")
    parser.add_argument("--window", type=int, default=programs.WINDOW, help=f"instructions in a window ({programs.WINDOW})")
    parser.add_argument("--workers", type=int, default=1, help="programs that run at a time (1)")
    parser.add_argument("--samples", type=Path, help="where the samples are kept as CSV; read from there if they are there")
    parser.add_argument("--out", type=Path, help="the model's file")
    said = parser.parse_args()
    import pandas

    try:
        if said.samples is not None and said.samples.exists():
            frame = pandas.read_csv(said.samples)
        else:
            drawn = programs.drawn(said.programs, seed=said.seed, window=said.window)
            frame = samples(said.platform, programs=drawn, window=said.window, workers=said.workers,
                            progress=lambda name, done, of: print(f"{done} of {of}: {name}", file=sys.stderr))
            if said.samples is not None:
                frame.to_csv(said.samples, index=False)
        command = ["python", "-m", "solocore.models", said.platform, said.factor, "--programs", str(said.programs),
                   "--seed", str(said.seed), "--window", str(said.window)]
        trained = train(frame, said.factor, source=shlex.join(command))
    except InputError as error:
        sys.exit(f"error: {error}")
    print(trained.table())
    window, program = by_miss_rate(frame, said.factor.replace("-", "_"))
    print(f"the factor and the big kind's misses of the last level: r = {window:.2f} by window, {program:.2f} by program")
    if said.out is not None:
        said.out.write_text(trained.text(), encoding="utf-8")


if __name__ == "__main__":
    _main()
