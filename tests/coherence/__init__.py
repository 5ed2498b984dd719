"""Laws of coherence: what one command says of a checkpoint must not be denied by what it, or another, says beside it.

Each law (`laws.py`) is a function over all that the commands tell of one checkpoint (`told.py`). The laws run over the
samples and over the recorded restarts (`places.py`). Where one does not hold yet, the case stands in `misses.json`: a
new miss is red, and so is a case that holds by now and still stands there (`python -m tests.coherence.misses` takes it
out, and never puts one in).
"""
