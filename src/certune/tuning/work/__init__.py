"""How the work is done: workers, interrupts, progress, cost, and what a run keeps."""
