"""What a run leaves behind: plain data that crosses the process boundary, and nothing that needs torch to be read.

Everything downstream of a run (verdicts, tables, diagrams, the site) is a function of these records and of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TensorValue:
    """A tensor as recorded: its shape, dtype without the ``torch.`` prefix, and its elements in row-major order.

    ``data`` is None when the tensor holds more than ``LARGEST`` elements: such a tensor has a shape to claim, not values.
    """

    shape: tuple[int, ...]
    dtype: str
    data: tuple[float | int | bool, ...] | None


LARGEST = 20_000


@dataclass(frozen=True, slots=True)
class OpaqueValue:
    """Any other object: the name of its type and its repr, shortened to 200 characters."""

    type: str
    text: str


Value = TensorValue | OpaqueValue | int | float | bool | str | None | tuple["Value", ...] | list["Value"]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that a piece wrote: what it was before (None when it was unbound), what it is now.

    ``axes`` names each dimension (``"B*C"``, ``"d_model"``, or the number as text where no axis name holds); None for
    anything that is not one tensor.
    """

    name: str
    before: Value | None
    bound_before: bool
    after: Value
    axes: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Call:
    """One call in the run of a toy: a function of the package read, or a module of torch (then without children)."""

    function: str  # dotted, "tsformers.layers.encoder.EncoderLayer.forward"
    owner: str  # class of self, "EncoderLayer"; the module's name for a plain function
    path: str  # where self stands in the toy's model, "encoder.attn_layers.0"; "" for the root or for no module
    line: int  # line of the calling statement in its file, 0 for the toy's own call
    inputs: tuple[tuple[str, Value, tuple[str, ...] | None], ...]  # (parameter, value without data, axis names)
    output: Value  # without data
    output_axes: tuple[tuple[str, ...] | None, ...]  # one entry a returned tensor; a single value counts as one
    children: tuple[Call, ...]

    def all(self) -> Iterator[Call]:
        """This call and those below it, in the order of the run."""
        yield self
        for child in self.children:
            yield from child.all()


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a subject, as explanation coverage counts them (design §4)."""

    line: int  # physical line in the subject's file
    end_line: int  # last line of the statement, or of its header
    text: str  # its source, dedented; the header alone for a compound statement
    executed: bool
    explained: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """A value as a step shows it: without data, and the first matrix of a tensor cut to ``SHOWN`` rows and columns."""

    name: str
    value: Value  # without data
    axes: tuple[str, ...] | None
    cells: tuple[tuple[float | int | bool, ...], ...] = ()  # to four digits; one row for a vector, () if unknown


SHOWN = 8


@dataclass(frozen=True, slots=True)
class Step:
    """One statement of a recorded call, or its entry, as a reader who steps through the call sees it."""

    line: int  # physical line; of the ``def`` at the entry
    end_line: int  # last line of the statement, or of its header
    text: str  # the statement's source, or its header's; "" at the entry
    passes: tuple[tuple[int, int], ...] = ()  # of each loop around it, from 1, and of how many
    outcome: bool | None = None  # of a header: whether its body was entered
    reads: tuple[Seen, ...] = ()
    computed: tuple[Seen, ...] = ()  # tensors made on the way
    writes: tuple[tuple[Seen | None, Seen], ...] = ()  # before (None: unbound) and after


@dataclass(frozen=True, slots=True)
class Subject:
    """A function that a page reads: one line of its ``reads:``."""

    spec: str
    function: str
    path: str  # of the module in the toy's model
    file: str  # relative to the project, "/" between parts
    line: int  # of its ``def``
    source: str  # whole source of the function, dedented
    call: Call | None  # its own call in the tree
    statements: tuple[Statement, ...]
    original: tuple[str, str] | None = None  # (name, address) of the code that this one follows
    steps: tuple[Step, ...] = ()  # of its recorded call; of a loop, the first passes and the last
    toy: str = ""  # in whose run its call is shown


@dataclass(frozen=True, slots=True)
class Quote:
    """Where a quote stands and what it did."""

    subject: int  # index into Reading.subjects
    lines: tuple[int, ...]  # physical line of each line of the fence's code; 0 for a line that stands for no source
    first_line: int
    last_line: int
    executed: bool
    construction: bool  # a quote from an __init__
    passes: int  # how often the piece ran in the call
    chosen_pass: int
    wrote: tuple[Variable, ...]
    returned: Variable | None
    calls: tuple[Call, ...]  # calls made by the piece, in order
    file: str = ""  # of a construction quote, relative to the project
    constructor: str = ""  # of a construction quote, dotted


@dataclass(frozen=True, slots=True)
class Output:
    """What an executed block printed."""

    text: str


@dataclass(frozen=True, slots=True)
class Printed:
    """What one example of a pycon fence printed, or the last line of the exception that it raised."""

    row: int  # of its ``>>>`` in the fence's code, from 0
    text: str
    raised: bool


@dataclass(frozen=True, slots=True)
class Computed:
    """A sub-expression of the piece quoted last, with the value that it had in the run."""

    line: int
    text: str
    value: Value
    axes: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Moment:
    """Everything that a page may speak of at one place; see ``Page.look``."""

    toy: str = ""
    function: str = ""  # dotted; "" where the page reads none
    file: str = ""
    line: int = 0  # source line after which the state is, 0 at the entry
    source: str = ""  # of that statement
    passes: int = 1
    chosen_pass: int = 1
    names: tuple[Variable, ...] = ()  # of the frame
    own: tuple[Variable, ...] = ()  # bound by the page's blocks
    computed: tuple[Computed, ...] = ()  # in the order of the run
    returned: tuple[Variable, ...] = ()  # ``return``, or one a member of a tuple: ``return[0]``


@dataclass(frozen=True, slots=True)
class Evidence:
    """What stands behind an inline code span: its class, and for a claim what its expressions evaluated to.

    ``problem`` is said when an expression has no value here; ``outcomes`` holds identity (``is``), which values cannot
    tell, one entry an operator. ``shapes`` are the expression's shapes in every configuration of the toy, the first
    included; None where a configuration does not get there.
    """

    kind: str  # "claim" "name" "source" "page" "term"; "none" of these; "unknown" after something else went wrong
    values: tuple[tuple[str, Value], ...] = ()  # (expression, value) in the order of the claim
    outcomes: tuple[bool | None, ...] = ()
    shapes: tuple[tuple[int, ...] | None, ...] = ()
    toy: str = ""
    subject: int | None = None
    line: int = 0  # source line after which the state was taken, 0 at the entry
    shadowed: tuple[tuple[str, int, int], ...] = ()  # (axis, its size in the configuration, what it is in the frame)
    problem: str = ""
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class ToyRecord:
    """A toy's configurations: ``sizes`` and evaluated ``axes`` a case; ``formulas`` of the axes.

    ``conditions`` are (formula over the sizes that must be true, message if not).
    """

    spec: str
    formulas: dict[str, str]
    sizes: tuple[dict[str, int], ...]
    axes: tuple[dict[str, int], ...]
    conditions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Executed:
    """A function of the package read that the main toy's run called, whether or not a page reads it."""

    function: str  # "EncoderLayer.forward", or the name of a plain function
    file: str  # relative to the project, "/" between parts
    statements: tuple[tuple[int, str], ...]  # physical line and text of those that ran, as ``Statement`` has them


@dataclass
class Reading:
    """A page, run: one entry a step, keyed by the step's index in ``Page.steps``."""

    outputs: dict[int, Output] = field(default_factory=dict)
    quotes: dict[int, Quote] = field(default_factory=dict)
    evidence: dict[int, Evidence] = field(default_factory=dict)
    subjects: list[Subject] = field(default_factory=list)
    tree: Call | None = None  # the run of the page's main toy
    executed: tuple[Executed, ...] = ()  # in the first configuration of the main toy
    toys: dict[str, ToyRecord] = field(default_factory=dict)  # "" is the page's main toy
    printed: dict[int, tuple[Printed, ...]] = field(default_factory=dict)  # by the examples of a pycon fence
    moment: Moment | None = None  # where the page ends, if ``Page.look``
    examples: int = 0  # pycon examples compared
    comments: int = 0  # shape comments compared
    versions: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def sizes(self) -> dict[str, int]:
        """The main toy's first configuration."""
        return self.toys[""].sizes[0] if "" in self.toys else {}

    @property
    def formulas(self) -> dict[str, str]:
        """The main toy's axes: name -> formula over the sizes."""
        return self.toys[""].formulas if "" in self.toys else {}

    @property
    def cases(self) -> int:
        """On how many configurations of the main toy axis names are proven."""
        return len(self.toys[""].sizes) if "" in self.toys else 0
