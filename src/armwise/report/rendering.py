"""The templates of the page: a section's facts in, HTML out."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from armwise.report.markup import escape


@cache
def templates() -> Environment:
    """The templates. What comes from a file is escaped, and a name that a template has misspelt is an error."""
    return Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        # Jinja2 escapes markup; letters that nobody sees must become visible before.
        finalize=lambda value: escape(value) if isinstance(value, str) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
