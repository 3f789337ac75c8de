"""A model of each person's own chain: a population of people, and what a person's own weeks add to it."""

from armwise.models.chains.fitting import fit_chains
from armwise.models.chains.model import ChainModel, PersonPosterior
from armwise.models.chains.population import Population

__all__ = ["ChainModel", "PersonPosterior", "Population", "fit_chains"]
