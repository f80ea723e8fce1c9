"""Real-time engineering on multicore chips whose caches and memory are shared.

>>> import solocore
>>> scenario = solocore.load("scenarios/first-steps.toml")
>>> run = scenario.experiment().run()
>>> run.jobs.to_pandas()          # a row for each job, times in nanoseconds
>>> solocore.prove([[(2, 10), (3, 15)]], cores=1).to_pandas()

* `load`, `parse`, `scenario`: what is to run, from a file, a text or values
* `plan`, `written`: what a scenario leaves open is looked for until the proofs hold
* `Experiment.run`: the simulated machine, the very kernel and policies that boot on bare metal
* `prove`, `tests`: schedulability tests of the literature over task sets
* `policies`: a criterion, a placement or a monitor as a class, to try out
* `study`, `sweep`, `evaluate`: the large campaigns, on this machine or on a cluster (`solocore.cluster`)
* `models`, `programs`: estimation models of speedup and energy factors, trained with scikit-learn
* `figures`: matplotlib, if it is installed
* `watches`: what `solo watch` recorded on Linux
* `errors`: what goes wrong, as data

Tables are Arrow (`Table`): pyarrow, pandas, polars and DuckDB take them over without copying. Units stand last in names
(`response_ns`). While something runs, other threads go on and Ctrl-C stops it.
"""

from __future__ import annotations

from . import errors, policies
from ._native import (
    Action,
    Evaluation,
    Experiment,
    Hook,
    Job,
    Lack,
    Plan,
    Run,
    Sample,
    Scenario,
    Situation,
    Study,
    Sweep,
    Table,
    TaskView,
    explain,
    open_run,
    plan,
    platform,
    platforms,
)
from ._version import COMMIT, VERSION, build_id
from .campaigns import evaluate, study, sweep
from .errors import (
    ClusterError,
    InputError,
    PolicyError,
    Problem,
    RunError,
    ScenarioError,
    SolocoreError,
    StudyError,
    WorkerVersionError,
)
from .proofs import prove, tests
from .scenarios import load, parse, scenario, written

__version__ = VERSION

__all__ = [
    "COMMIT", "VERSION", "Action", "ClusterError", "Evaluation", "Experiment", "Hook", "InputError", "Job", "Lack", "Plan",
    "PolicyError", "Problem", "Run", "RunError", "Sample", "Scenario", "ScenarioError", "Situation", "SolocoreError",
    "Study", "StudyError", "Sweep", "Table", "TaskView", "WorkerVersionError", "build_id", "errors", "evaluate",
    "explain", "load", "open_run", "parse", "plan", "platform", "platforms", "policies", "prove", "scenario", "study", "sweep",
    "tests", "written",
]
