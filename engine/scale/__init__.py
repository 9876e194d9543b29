"""Where the work of a stage is done: in the worker's own process, or by replicas over a cluster."""
