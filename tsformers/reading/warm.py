"""What the warm process imports and notes, once, before the process of each page is forked from it.

It computes nothing: a thread that torch started here would be missing in the pages' processes.
"""

import gc

import torch._dynamo  # noqa: F401  (an optimizer would import it, a second in each process)

import tsformers.reading.process
import tsformers.reading.show
import tsformers.reading.walk  # noqa: F401
from tsformers.reading import hermetic, watch

hermetic.note_modules()
watch.note()
gc.freeze()  # what is here lives as long as any page's process; collecting it would copy its memory into each of them
