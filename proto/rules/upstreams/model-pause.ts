// Whether a model is paused: a pause ends by itself. Pure.
import type { Model, ModelPause } from '#proto/catalog/v1/catalog.js';

/** Returns the pause of a model at an instant; undefined if it is not paused. */
export function pauseAt({ pause }: Pick<Model, 'pause'>, nowMs: number): ModelPause | undefined {
  return pause === undefined || (pause.untilMs !== 0n && pause.untilMs <= BigInt(nowMs)) ? undefined : pause;
}
