"""Runs a program beside which its modules lie:

    python3 run.py PROGRAM.py
"""
import pathlib
import runpy
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[1]).parent))
runpy.run_path(sys.argv[1], run_name="__main__")
