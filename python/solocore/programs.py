"""Programs for models to learn from: drawn by a seed around archetypes, for chips with two kinds of cores.

A program goes through stretches that are alike, each a `[[phase]]` of a scenario (docs/scenario.md). What is drawn does not know the chip:
how many instructions are independent of one another, how much of what they wait for an in-order core can't hide, branches,
translations, and the memory that is touched: a large working set and smaller ones beside it, so that misses fall as a power of what a cache
holds, as those of real programs do (Hartstein et al., "Cache miss behavior: is it sqrt(2)?", 2006: exponents of 0.3 to 0.7). The chip turns
the first two into cycles of either kind of core (`cycles`). Nothing here knows what a model will find. The archetypes and their ranges are ours, guessed from what such programs are known for.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from .errors import InputError

WINDOW = 1_000_000
"""Instructions in a window unless somebody says otherwise. The paper's have 400 million; our programs are shorter by as much."""

PIPELINES: dict[str, tuple[bool, float]] = {
    "xeon-e5450": (True, 4), "atom-n330": (False, 2), "fast": (True, 3), "slow": (True, 3),
    "a57": (True, 3), "a53": (False, 2), "a15": (True, 3), "a7": (False, 2),
}
"""By kind of core: whether it executes out of order, and how many instructions it begins in a cycle."""


SLICE = 50_000
"""Instructions in which a stretch touches all of its working sets once around."""

EXPONENTS = (0.3, 0.7)
"""How steeply misses fall with what a cache holds: as its size to the power of minus so much."""

_LEAST = 32 * 1024
"""What a first level of so many bytes holds is not told as an access, but for archetypes that touch no more."""

_SMALLER = ("64KiB", "256KiB", "1MiB", "4MiB", "16MiB")


@dataclass(frozen=True)
class Archetype:
    """The ranges that a stretch is drawn from."""

    name: str
    independent: tuple[float, float]
    """Instructions that do not wait for one another, on average."""
    exposed: tuple[float, float]
    """Cycles in which an instruction is waited for, on average, where nothing is done meanwhile."""
    branches: tuple[float, float]
    """Among 1,000 instructions."""
    mispredicted: tuple[float, float]
    """Of those, in per cent."""
    walks: tuple[float, float]
    """Translations of data that are missing, among a million instructions."""
    fetch_walks: tuple[float, float]
    """The same of instructions."""
    accesses: tuple[float, float]
    """To the memory below, among 1,000 instructions."""
    patterns: tuple[str, ...]
    sizes: tuple[str, ...]
    strides: tuple[str, ...] = ("64B",)


_NEAR, _MIDDLE, _FAR = ("16KiB", "24KiB"), ("128KiB", "256KiB", "448KiB"), ("2MiB", "8MiB", "24MiB")

ARCHETYPES: tuple[Archetype, ...] = (
    Archetype("dense", (2.2, 3.6), (0.3, 0.7), (20, 60), (0.2, 1), (0, 20), (0, 2), (10, 60), ("sweep", "ring"), _NEAR + _MIDDLE, ("8B", "16B")),
    Archetype("stencil", (1.8, 3.0), (0.4, 0.8), (15, 50), (0.2, 1), (20, 200), (0, 2), (8, 40), ("ring", "sweep"), _MIDDLE + _FAR, ("16B", "64B")),
    Archetype("sparse", (1.4, 2.4), (0.5, 0.9), (40, 110), (0.5, 3), (200, 2000), (0, 5), (4, 25), ("random",), _FAR, ("64B",)),
    Archetype("chase", (1.0, 1.5), (0.2, 0.5), (120, 200), (1, 4), (500, 4000), (0, 5), (2, 12), ("chase",), _MIDDLE + _FAR, ("64B",)),
    Archetype("graph", (1.2, 1.9), (0.3, 0.6), (130, 220), (3, 8), (500, 3000), (0, 10), (3, 18), ("random",), _FAR, ("64B",)),
    Archetype("search", (1.1, 1.7), (0.2, 0.5), (150, 230), (5, 11), (20, 200), (5, 50), (2, 15), ("random",), _NEAR + _MIDDLE, ("64B",)),
    Archetype("interpreter", (1.1, 1.6), (0.2, 0.4), (170, 250), (3, 7), (50, 400), (50, 500), (3, 20), ("random", "chase"), _MIDDLE, ("64B",)),
    Archetype("compiler", (1.2, 1.8), (0.2, 0.5), (160, 230), (3, 7), (100, 800), (100, 900), (3, 15), ("random", "chase"), _MIDDLE + _FAR[:1], ("64B",)),
    Archetype("compressor", (1.5, 2.2), (0.2, 0.5), (130, 190), (4, 9), (50, 500), (0, 5), (5, 30), ("random",), _MIDDLE + _FAR[:1], ("64B",)),
    Archetype("coder", (2.0, 3.0), (0.2, 0.6), (60, 120), (1, 5), (20, 200), (5, 60), (5, 40), ("ring", "random"), _NEAR + _MIDDLE, ("16B", "64B")),
    Archetype("sequence", (2.0, 3.2), (0.1, 0.4), (70, 150), (0.5, 2), (5, 60), (0, 5), (10, 50), ("sweep",), _NEAR + _MIDDLE[:1], ("8B", "16B")),
    Archetype("events", (1.0, 1.5), (0.3, 0.6), (150, 220), (2, 6), (300, 2500), (20, 200), (3, 16), ("chase", "random"), _MIDDLE + _FAR[:2], ("64B",)),
    Archetype("filter", (1.8, 2.8), (0.2, 0.5), (40, 100), (0.3, 2), (50, 300), (0, 2), (8, 45), ("stream", "ring"), _FAR, ("64B",)),
    Archetype("sorter", (1.3, 2.0), (0.2, 0.4), (140, 200), (6, 12), (100, 900), (0, 5), (5, 30), ("ring", "random"), _MIDDLE + _FAR, ("16B", "64B")),
)


@dataclass(frozen=True)
class Stretch:
    """Instructions that are alike. Rates are among 1,000 or a million instructions as their names say."""

    instructions: int
    independent: float
    exposed: float
    branches_per_1000: float
    mispredicted_per_1000: float
    dtlb_misses_per_million: int
    itlb_misses_per_million: int
    accesses_per_1000: float
    pattern: str
    size: str
    """The largest working set."""
    stride: str
    exponent: float

    def working_sets(self) -> list[tuple[str, float]]:
        """Each working set that is touched, the smallest first, and its share of all accesses.

        Of all accesses `(s / 32 KiB) ** -exponent` go beyond `s` bytes.
        """
        sizes = [size for size in _SMALLER if _bytes(size) < _bytes(self.size)] + [self.size]
        beyond = [1.0, *((_bytes(size) / _LEAST) ** -self.exponent for size in sizes[:-1]), 0.0]
        return [(size, near - far) for size, near, far in zip(sizes, beyond, beyond[1:])]

    def cycles(self, kind: str) -> float:
        """What an instruction takes on a kind of core, branches, translations and memory apart.

        Out of order what is waited for is hidden behind what is independent; in order it is not.
        """
        if kind not in PIPELINES:
            raise InputError(f"a kind of core whose pipeline is known: {', '.join(PIPELINES)}", kind, "kind")
        out_of_order, width = PIPELINES[kind]
        return 1 / min(width, self.independent) + (0 if out_of_order else self.exposed)

    def phase(self, name: str, kinds: tuple[str, ...], size: str) -> list[str]:
        """The lines of a `[[phase]]` that touches one of its working sets."""
        cycles = ", ".join(f"{kind} = {self.cycles(kind):.3f}" for kind in kinds)
        return [
            "[[phase]]", f'name = "{name}"', f"cycles-per-instruction = {{ {cycles} }}",
            f"branches-per-1000 = {self.branches_per_1000:.3f}",
            f"mispredicted-per-1000 = {self.mispredicted_per_1000:.3f}",
            f"dtlb-misses-per-million = {self.dtlb_misses_per_million}",
            f"itlb-misses-per-million = {self.itlb_misses_per_million}",
            f"accesses-per-1000 = {self.accesses_per_1000:.3f}",
            f'{self.pattern} = "{size}"', f'stride = "{self.stride}"', "",
        ]


@dataclass(frozen=True)
class Program:
    """A program of one thread."""

    name: str
    stretches: tuple[Stretch, ...]

    @property
    def instructions(self) -> int:
        """All of them; a run rounds each stretch to whole slices."""
        return sum(stretch.instructions for stretch in self.stretches)

    def written(self, kinds: tuple[str, ...], cores: list[int], *, rounds: int = 1) -> str:
        """Its tables `[[phase]]` and `[[application]]` in a scenario, for a chip with these kinds of cores."""
        lines, steps = [], []
        for number, stretch in enumerate(self.stretches):
            around, done, told = [], 0.0, 0
            for place, (size, share) in enumerate(stretch.working_sets()):
                name = f"{self.name}-{number}-{place}"
                lines += stretch.phase(name, kinds, size)
                done += share
                around.append(f'{{ execute = {round(SLICE * done) - told}, phase = "{name}" }}')
                told = round(SLICE * done)
            times = max(1, round(stretch.instructions / SLICE))
            steps.append(f"{{ repeat = {times}, steps = [{', '.join(around)}] }}")
        work = f"{{ repeat = {rounds}, steps = [{', '.join(steps)}] }}"
        lines += ["[[application]]", f'name = "{self.name}"', f"cores = {cores}", f"work = [{work}]", ""]
        return "\n".join(lines)


def drawn(count: int = 28, *, seed: int = 1, window: int = WINDOW, windows: int = 24) -> list[Program]:
    """So many programs, the archetypes in turn, of about so many windows each.

    A program has two or three kinds of stretches of its archetype's ranges, one in three of another archetype's. It goes through
    them twice; each time everything is a few per cent different, and a stretch does not end where a window does.
    """
    for name, value in (("count", count), ("window", window), ("windows", windows)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError("a whole number from 1", repr(value), name)
    programs = []
    for number in range(count):
        random = Random(f"{seed} {number}")
        archetype = ARCHETYPES[number % len(ARCHETYPES)]
        kinds = [
            _stretch(random, archetype if random.random() < 0.67 or at == 0 else random.choice(ARCHETYPES))
            for at in range(random.choice((2, 3)))
        ]
        mean = window * windows / (2 * len(kinds))
        stretches = tuple(_again(random, kind, round(mean * random.uniform(0.7, 1.3))) for kind in kinds * 2)
        programs.append(Program(f"{archetype.name}-{number}", stretches))
    return programs


def _bytes(size: str) -> int:
    return int(size[:-3]) * {"KiB": 1024, "MiB": 1024 * 1024}[size[-3:]]


def _stretch(random: Random, of: Archetype) -> Stretch:
    branches = random.uniform(*of.branches)
    return Stretch(
        instructions=0,
        independent=random.uniform(*of.independent),
        exposed=random.uniform(*of.exposed),
        branches_per_1000=branches,
        mispredicted_per_1000=branches * random.uniform(*of.mispredicted) / 100,
        dtlb_misses_per_million=round(random.uniform(*of.walks)),
        itlb_misses_per_million=round(random.uniform(*of.fetch_walks)),
        accesses_per_1000=random.uniform(*of.accesses),
        pattern=random.choice(of.patterns),
        size=random.choice(of.sizes),
        stride=random.choice(of.strides),
        exponent=random.uniform(*EXPONENTS),
    )


def _again(random: Random, of: Stretch, instructions: int) -> Stretch:
    """The same, and everything but where it reads is up to five per cent different."""
    def near(value: float) -> float:
        return value * random.uniform(0.95, 1.05)

    branches = near(of.branches_per_1000)
    return Stretch(
        instructions=instructions,
        independent=near(of.independent),
        exposed=near(of.exposed),
        branches_per_1000=branches,
        mispredicted_per_1000=min(branches, near(of.mispredicted_per_1000)),
        dtlb_misses_per_million=round(near(of.dtlb_misses_per_million)),
        itlb_misses_per_million=round(near(of.itlb_misses_per_million)),
        accesses_per_1000=near(of.accesses_per_1000),
        pattern=of.pattern,
        size=of.size,
        stride=of.stride,
        exponent=of.exponent,
    )
