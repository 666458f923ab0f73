// What both of OpenAI's formats have in common: shapes of fields, and what becomes of fields and tool choices that have no common form.
import { type TObject, Type } from 'typebox';
import {
  type GenerateRequest,
  type Reasoning,
  type Tool,
  type ToolChoice,
  ToolChoice_Mode as Mode,
} from '#proto/inference/v1/inference.js';
import { endUserOf } from './end-user.js';
import { optional, refused } from './fields.js';
import { assertNoFileIds } from './media.js';
import { isKnownInOtherCase } from './native-fields.js';
import type { Demands } from './required-capabilities.js';

/** Maximum number of tools in a request, as set by the vendor. */
export const toolsMax = 128;
export const NameForm = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: '1 to 64 letters, digits, "_" or "-".' });
/** How long to cache the prompt up to a mark; 5m and 1h are the nearest lifetimes with a price. */
export const CacheBreakpoint = Type.Object({ mode: optional(Type.String()), ttl: optional(Type.String()) });
export const RefusalPart = Type.Object({ type: Type.Literal('refusal'), refusal: Type.String() });
export const noFileIds = refused({
  file_id: 'vendor file ids are not supported, because the files belong to an account at the vendor; send the content itself as a data URI',
});

/** Vendors reject these fields when there are no tools, although they have no effect then; and an empty list of tools. */
export const toolFields = ['tools', 'tool_choice', 'parallel_tool_calls'];

/** Classifies the top-level fields: which are dropped, which are dropped elsewhere, and how much of what is passed on has no common form. */
export function noteFields(body: object, schema: TObject, demands: Demands): void {
  demands.addUnhonoured(body, schema);
  for (const [name, value] of Object.entries(body)) {
    if (Object.hasOwn(schema.properties, name) || isKnownInOtherCase(name, schema.properties)) continue;
    assertNoFileIds(value, name);
    demands.addForeign(value);
  }
}

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** Translates an effort; other values than the known ones reach only upstreams of the caller's format. */
export function translateEffort(effort: unknown, field: string, demands: Demands): Reasoning | undefined {
  if (typeof effort === 'string' && efforts.includes(effort)) return { effort, budgetTokens: undefined, disabled: effort === 'none' };
  demands.refuseElsewhere(field, `must be one of ${efforts.join(', ')}`);
  return undefined;
}

const verbosities: readonly unknown[] = ['low', 'medium', 'high'];

/** Returns the fields that OpenAI has in both of its formats and that no common field expresses; undefined for absent and unknown values. */
export function sharedFields(
  verbosity: unknown,
  promptCacheKey: string | null | undefined,
  accountId: string,
): Pick<GenerateRequest, 'verbosity' | 'promptCacheKey'> {
  return {
    verbosity: verbosities.includes(verbosity) ? (verbosity as string) : undefined,
    promptCacheKey: typeof promptCacheKey === 'string' ? cacheKeyOf(promptCacheKey, accountId) : undefined,
  };
}

/**
 * Returns a cache key as vendors receive it. Those of different accounts must not collide in the single account that the vendor sees, nor may the caller's text be
 * readable there.
 */
export function cacheKeyOf(promptCacheKey: string, accountId: string): string {
  return endUserOf(`${accountId} ${promptCacheKey}`);
}

/** Holds the tools that are offered to the model, and the choice among them. */
export interface Choice {
  readonly offered: Tool[];
  readonly toolChoice: ToolChoice | undefined;
}

export const choiceModes: Partial<Record<string, Mode>> = { none: Mode.MODE_NONE, auto: Mode.MODE_AUTO, required: Mode.MODE_REQUIRED };

/** Leaves an unknown tool choice to upstreams of the caller's format (`only` is the advice in the error); for the others the model chooses freely. */
export function passChoiceOn(field: string, choice: unknown, open: () => Choice, only: string, demands: Demands): Choice {
  demands.addForeign(choice);
  demands.refuseElsewhere(
    field,
    `the model accepts none, auto, required, a function, a custom tool or allowed_tools; use one of them, or ${only}`,
  );
  return open();
}
