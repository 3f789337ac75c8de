"""A model of each person's own chain, from the population of a programme and from her own weeks."""

from armwise.models.chains.fitting import fit_chains
from armwise.models.chains.model import ChainModel, PersonPosterior
from armwise.models.chains.population import Population

__all__ = ["ChainModel", "PersonPosterior", "Population", "fit_chains"]
