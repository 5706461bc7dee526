"""What bench/run.py makes of the suite's raw results."""
