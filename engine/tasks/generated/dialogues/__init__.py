"""Short dialogues with something to remember, in MultiChallenge's four axes, and the habit of forgetting it."""
