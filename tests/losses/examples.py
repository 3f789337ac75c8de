"""An instance of every loss, for ``test_every_loss.py``; add a new loss here, under the name of its class."""

import armwise as aw

EXAMPLES = {
    "MeanSquaredError": aw.MeanSquaredError(),
    "NegativeLogLikelihood": aw.NegativeLogLikelihood(),
    "DecDFL-entropy": aw.DecDFL(aw.EntropyMixture(0.2)),
    "DecDFL-quadratic": aw.DecDFL(aw.QuadraticMixture(2.0)),
    "DecDFL-predicted": aw.DecDFL(aw.EntropyMixture(0.2), constraint="predicted"),
    "DecDFL-threshold": aw.DecDFL(aw.EntropyMixture(0.2), policies="threshold"),
    "DecDFL-spread": aw.DecDFL(aw.EntropyMixture(0.2), budget_multiple=2.0, unit="spread"),
    "PriceDFL": aw.PriceDFL(0.2),
    "PriceDFL-threshold": aw.PriceDFL(0.2, budget_multiples=(1.0,), policies="threshold"),
    "PriceDFL-spread": aw.PriceDFL(0.2, unit="spread"),
    "WarmStart": aw.WarmStart(aw.MeanSquaredError(), aw.PriceDFL(0.2)),
    "Annealed": aw.Annealed(aw.DecDFL(aw.EntropyMixture(1.0)), aw.DecDFL(aw.EntropyMixture(0.2))),
    "SimDFL-1": aw.SimDFL(1),
    "SimDFL-10": aw.SimDFL(10),
    "SimDFL-all": aw.SimDFL(10, credit="all"),
    "WeightedSum": 0.9 * aw.DecDFL(aw.EntropyMixture(0.2)) + 0.1 * aw.NegativeLogLikelihood() + aw.SimDFL(5),
}
