"""`python -m solocore study FILE FOLDER --dask ADDRESS`: what `solo study --dask` has Python do."""

from __future__ import annotations

import argparse
import logging
import sys
import time

from . import study
from .errors import ClusterError, InputError, SolocoreError, WorkerVersionError

SHOWN_EVERY_S = 5.0


class _Shown:
    """Says on standard error how far it is, now and then."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def __call__(self, _name: str, _time_ns: int, share: float) -> None:
        now = time.monotonic()
        if now - self.last >= SHOWN_EVERY_S:
            self.last = now
            print(f"{share:.0%} judged", file=sys.stderr, flush=True)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m solocore", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("study", help="judge a study on a Dask cluster and keep it in a folder")
    one.add_argument("file")
    one.add_argument("folder")
    one.add_argument("--dask", metavar="ADDRESS", required=True, help="the scheduler's address, such as tcp://10.0.0.5:8786")
    for name in ("--sets", "--caps-every", "--seed"):
        one.add_argument(name, type=int)
    one.add_argument("--quiet", action="store_true")
    said = parser.parse_args(words)
    if not said.quiet:
        logging.basicConfig(format="%(message)s")
        logging.getLogger("solocore.cluster").setLevel(logging.INFO)
    progress = None if said.quiet else _Shown()
    try:
        study(said.file, said.folder, sets=said.sets, caps_every=said.caps_every, seed=said.seed, cluster=said.dask, progress=progress)
    except (ClusterError, WorkerVersionError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    except (InputError, SolocoreError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from what is kept", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
