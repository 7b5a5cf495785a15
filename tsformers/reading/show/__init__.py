"""Derived parts of a reading page: functions from records to HTML, Markdown and SVG.

Every function is pure and returns one block without blank lines inside, but for `matrix` and `changes`, which return a
Markdown table, and `worked`, which prints one: these are for the blocks of a page.
"""

from tsformers.reading.show.around import take_along, used_by
from tsformers.reading.show.cards import chips, piece, pipeline, source
from tsformers.reading.show.diagrams import Section, groups, sequence, structure, svg
from tsformers.reading.show.interface import footer, io_table
from tsformers.reading.show.notation import (
    axes_in,
    axes_table,
    explained,
    glossary,
    terms_table,
    toys_of,
    word_attributes,
    words_of,
)
from tsformers.reading.show.proofs import proof
from tsformers.reading.show.shading import shaded
from tsformers.reading.show.sizes import size_panel
from tsformers.reading.show.stepper import stepper
from tsformers.reading.show.tree import call_tree, children
from tsformers.reading.show.values import changes, matrix, worked

__all__ = [
    "Section",
    "axes_in",
    "axes_table",
    "call_tree",
    "children",
    "changes",
    "chips",
    "explained",
    "glossary",
    "footer",
    "groups",
    "io_table",
    "matrix",
    "piece",
    "pipeline",
    "proof",
    "sequence",
    "shaded",
    "size_panel",
    "source",
    "stepper",
    "structure",
    "svg",
    "take_along",
    "terms_table",
    "toys_of",
    "used_by",
    "word_attributes",
    "words_of",
    "worked",
]
