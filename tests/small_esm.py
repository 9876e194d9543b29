"""How the configuration of the demo is made small for tests of ESM."""

SMALL = (
    "task.train_size=24", "task.eval_size=12", "offline_mine.K=4", "offline_select.B=40",
    "eval.methods=[greedy, majority_vote, esm]", "eval.ablations=[no_probing]", "offline_mine.verify=true",
)  # fmt: skip
