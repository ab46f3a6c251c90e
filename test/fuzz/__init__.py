"""Random kernels of the language: drawn, run on every target, compared with NumPy and with each other.

``program`` describes a kernel function as data, ``source`` prints it as the Python text of a tilemlir kernel,
``reference`` evaluates it with NumPy, ``strategies`` draws descriptions with hypothesis, ``execution`` runs one on
targets. ``python -m fuzz --help`` (with ``test`` on PYTHONPATH) is the command.
"""
