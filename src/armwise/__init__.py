"""armwise decides which people a health programme should contact, and trains models for the quality of that decision.

This module exports every public name; ``docs/design.md`` says which package defines it. Names are imported when first
used (PEP 562), so that the command line answers before JAX has started. Add a new name to the imports for type checkers
and to ``__all__``; add a new package to ``_PACKAGES`` as well.
"""

# Type checkers read this as true. This file imports nothing, not even typing: the command line runs it first, and until
# it is done Ctrl-C gives a traceback.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from armwise.data import (
        Cohorts,
        Domain,
        Encoded,
        Encoder,
        Features,
        Partition,
        Programme,
        SplitNumbers,
        Splits,
        Trajectories,
        ctn0094,
        discretise,
        estimate_transitions,
        first_state_shares,
        heartsteps,
        mmitra_like,
        one_hot,
        oulad,
        partition,
        simulated_programme,
        split,
        split_numbers,
        synthetic,
        transition_counts,
    )
    from armwise.errors import (
        ArmwiseError,
        ConvergenceError,
        ExitCode,
        InvalidInputError,
        InvalidProgrammeError,
        NotFittedError,
        OutageError,
        OutputError,
    )
    from armwise.evaluation import (
        CallEffect,
        CallEffects,
        Estimate,
        ModelQuality,
        OffPolicyValue,
        Quality,
        call_effects,
        decomposed_decision_quality,
        evaluate,
        fluid_bound,
        joint_decision_quality,
        off_policy_value,
        priority_decision_quality,
        rules_of_thumb,
    )
    from armwise.losses import (
        Annealed,
        CohortTruth,
        DecDFL,
        EpochObjective,
        Loss,
        MeanSquaredError,
        NegativeLogLikelihood,
        PriceDFL,
        SimDFL,
        WarmStart,
        WeightedSum,
    )
    from armwise.mixtures import (
        CvxpyMixture,
        EntropyMixture,
        LinearMixture,
        Mixture,
        MixtureSolution,
        QuadraticMixture,
    )
    from armwise.models import (
        Ensemble,
        Linear,
        MultiLayerPerceptron,
        average_models,
    )
    from armwise.planner import Backtest, CallRules, Evaluation, Explanation, OutreachPlanner, Plan
    from armwise.programme import (
        Finding,
        ProgrammeData,
        ProgrammeSettings,
        Report,
        check_programme,
        init_programme,
        load_programme,
        read_programme,
    )
    from armwise.rmab import (
        LongestFirst,
        Problem,
        RandomCalls,
        RoundRobin,
        Trace,
        all_policies,
        default_horizon,
        fixed_policy_returns,
        index_policies,
        is_indexable,
        passive_returns,
        policy_returns,
        simulate,
        simulate_policy,
        simulate_trace,
        threshold_policies,
        whittle_indices,
    )
    from armwise.training import (
        History,
        Recommended,
        SavedModel,
        TrainConfig,
        Trained,
        TrainedRuns,
        load_model,
        recommended_loss,
        save_model,
        train,
        train_many,
        train_recommended,
    )

# The only definition of the version; pyproject.toml reads it from here.
__version__ = "0.1.0"

# The packages that define the names, in the order of the layout; each is also reachable, as armwise.data and so on.
_PACKAGES = (
    "errors",
    "rmab",
    "data",
    "mixtures",
    "losses",
    "models",
    "evaluation",
    "training",
    "programme",
    "planner",
    "weekly",
    "report",
)

__all__ = [
    "Annealed",
    "ArmwiseError",
    "Backtest",
    "CallEffect",
    "CallEffects",
    "CallRules",
    "CohortTruth",
    "Cohorts",
    "ConvergenceError",
    "CvxpyMixture",
    "DecDFL",
    "Domain",
    "Encoded",
    "Encoder",
    "Ensemble",
    "EntropyMixture",
    "EpochObjective",
    "Estimate",
    "Evaluation",
    "ExitCode",
    "Explanation",
    "Features",
    "Finding",
    "History",
    "InvalidInputError",
    "InvalidProgrammeError",
    "Linear",
    "LinearMixture",
    "LongestFirst",
    "Loss",
    "MeanSquaredError",
    "Mixture",
    "MixtureSolution",
    "ModelQuality",
    "MultiLayerPerceptron",
    "NegativeLogLikelihood",
    "NotFittedError",
    "OffPolicyValue",
    "OutageError",
    "OutputError",
    "OutreachPlanner",
    "Partition",
    "Plan",
    "PriceDFL",
    "Problem",
    "Programme",
    "ProgrammeData",
    "ProgrammeSettings",
    "QuadraticMixture",
    "Quality",
    "RandomCalls",
    "Recommended",
    "Report",
    "RoundRobin",
    "SavedModel",
    "SimDFL",
    "SplitNumbers",
    "Splits",
    "Trace",
    "TrainConfig",
    "Trained",
    "TrainedRuns",
    "Trajectories",
    "WarmStart",
    "WeightedSum",
    "all_policies",
    "average_models",
    "call_effects",
    "check_programme",
    "ctn0094",
    "decomposed_decision_quality",
    "default_horizon",
    "discretise",
    "estimate_transitions",
    "evaluate",
    "first_state_shares",
    "fixed_policy_returns",
    "fluid_bound",
    "heartsteps",
    "index_policies",
    "init_programme",
    "is_indexable",
    "joint_decision_quality",
    "load_model",
    "load_programme",
    "mmitra_like",
    "off_policy_value",
    "one_hot",
    "oulad",
    "partition",
    "passive_returns",
    "policy_returns",
    "priority_decision_quality",
    "read_programme",
    "recommended_loss",
    "rules_of_thumb",
    "save_model",
    "simulate",
    "simulate_policy",
    "simulate_trace",
    "simulated_programme",
    "split",
    "split_numbers",
    "synthetic",
    "threshold_policies",
    "train",
    "train_many",
    "train_recommended",
    "transition_counts",
    "whittle_indices",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _PACKAGES:
        return import_module(f"armwise.{name}")
    if name in __all__:
        for package in _PACKAGES:
            module = import_module(f"armwise.{package}")
            if hasattr(module, name):
                return globals().setdefault(name, getattr(module, name))
    raise AttributeError(f"module 'armwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
