"""GFlowNet: paths of a knowledge graph, and the answers read from them."""
