"""The page's templates, which turn the facts of a section into HTML."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from armwise.report.markup import escape


@cache
def templates() -> Environment:
    """The templates. Text is escaped, and a misspelt name in a template is an error."""
    return Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        # Jinja2 escapes only markup; invisible characters must become visible before that.
        finalize=lambda value: escape(value) if isinstance(value, str) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
