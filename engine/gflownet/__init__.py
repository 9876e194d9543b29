"""GFlowNet over retrieved knowledge subgraphs: from question and graph to a sampler of evidence paths."""
