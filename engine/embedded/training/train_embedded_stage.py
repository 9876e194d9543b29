"""The training of the embedded model as a stage: watched, paused, stopped and resumed like any other."""

from __future__ import annotations

from engine.embedded.training.recipes import get_recipe
from engine.embedded.training.train import Progress, train
from engine.events import TrainingStep
from engine.run.stage import StageContext, StageResult


class TrainEmbedded:
    """Trains the recipe that `model.path` names into `RUN/train-embedded/model`; look at it
    before you copy it to `engine/embedded`."""

    name = "train-embedded"

    def run(self, context: StageContext) -> StageResult:
        """Continues from the last saved training state of this run, if there is one."""
        recipe = get_recipe(context.config.model.path)
        settings = recipe.settings
        folder = context.run_dir / self.name
        context.start(settings.steps, unit="steps")
        last: list[float] = []

        def report(progress: Progress) -> None:
            last[:] = [progress.loss]
            context.emit(
                TrainingStep(
                    step=progress.step, loss=progress.loss, tokens_per_second=progress.tokens_per_second
                )
            )
            context.progress(progress.step, progress.total, note=f"loss {progress.loss:.3f}")

        train(recipe, folder, report, context.checkpoint)
        summary: dict[str, float | int | str] = {"steps": settings.steps}
        if last:
            summary["loss"] = last[0]
        return StageResult(summary, [f"{self.name}/model"])
