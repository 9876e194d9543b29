"""Does the work of a stage: in the worker's own process, or in replicas on a cluster."""
