// What both of OpenAI's formats do with fields and tool choices that have no common form.
import type { TObject } from 'typebox';
import { ToolChoice_Mode as Mode } from '#proto/inference/v1/inference.js';
import { assertNoFileIds } from './media.js';
import { isKnownInOtherCase } from './native-fields.js';
import type { Demands } from './required-capabilities.js';

/** Classifies the top-level fields: which are dropped, which are dropped elsewhere, and how much of what is passed on has no common form. */
export function noteFields(body: object, schema: TObject, demands: Demands): void {
  demands.addUnhonoured(body, schema);
  for (const [name, value] of Object.entries(body)) {
    if (Object.hasOwn(schema.properties, name) || isKnownInOtherCase(name, schema.properties)) continue;
    assertNoFileIds(value, name);
    demands.addForeign(value);
  }
}

export const choiceModes: Partial<Record<string, Mode>> = { none: Mode.MODE_NONE, auto: Mode.MODE_AUTO, required: Mode.MODE_REQUIRED };

/** Leaves an unknown tool choice to upstreams of the caller's format, as `only` tells the caller; for the others the choice is open. */
export function passChoiceOn<Choice>(field: string, choice: unknown, open: () => Choice, only: string, demands: Demands): Choice {
  demands.addForeign(choice);
  demands.refuseElsewhere(
    field,
    `the model accepts none, auto, required, a function, a custom tool or allowed_tools; use one of them, or ${only}`,
  );
  return open();
}
