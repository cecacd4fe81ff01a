"""Threads take turns at balls.

The precision of python-flint, and the length of its series, belong to the whole process: where two
threads set them at once, each computes with that of the other. Balls stay right then, but they are
not those of one thread, and what is rounded to a stated number of bits has fewer.
"""

import threading

# To be held wherever the precision is set: ``with PRECISION_LOCK, flint.ctx.workprec(bits):``. It
# may be taken again by the thread that has it. As a plain lock it is let go of wherever a signal
# interrupts the block.
PRECISION_LOCK = threading.RLock()
# Bits of a float.
DOUBLE = 53
