"""The networks that score edges and STOP (spec GFlowNet 3.1), one a file."""
