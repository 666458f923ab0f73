// Converts tools and the tool choice to the messages format. Pure.
import { type Tool, type ToolChoice, ToolChoice_Mode } from '#proto/inference/v1/inference.js';
import { isObject, type JsonObject } from '../answers/stream-decoder.js';
import { toolDescription } from '../requests/custom-tools.js';
import { toolParameters } from '../requests/tool-json.js';
import { type Block, cacheControl } from './content.js';

/** Reports whether the choice forces the model to call a tool. */
export function isForced(choice: ToolChoice | undefined): boolean {
  return choice?.mode === ToolChoice_Mode.MODE_REQUIRED || choice?.mode === ToolChoice_Mode.MODE_NAMED;
}

/** Returns a tool. Raises invalid_request for a schema that is not a JSON object. */
export function toTool(tool: Tool): Block {
  const { schema, isWhole } = rootObject(toolParameters(tool) ?? {});
  const description = toolDescription(tool);
  return {
    name: tool.name,
    description: description === '' ? undefined : description,
    input_schema: schema,
    // A schema merged from alternatives is no longer the one that the caller wanted enforced.
    strict: isWhole ? tool.strict : undefined,
    cache_control: tool.cacheTtl === undefined ? undefined : cacheControl(tool.cacheTtl),
  };
}

/** Returns the field `tool_choice`. With `isFree`, a forced tool becomes one that the model may call. */
export function toToolChoice(choice: ToolChoice | undefined, isFree: boolean): JsonObject | undefined {
  if (choice === undefined) return undefined;
  const parallel = choice.disableParallelCalls ? { disable_parallel_tool_use: true } : {};
  if (isFree && isForced(choice)) return { type: 'auto', ...parallel };
  switch (choice.mode) {
    case ToolChoice_Mode.MODE_NONE:
      return { type: 'none' };
    case ToolChoice_Mode.MODE_REQUIRED:
      return { type: 'any', ...parallel };
    case ToolChoice_Mode.MODE_NAMED:
      return { type: 'tool', name: choice.name, ...parallel };
    case ToolChoice_Mode.MODE_AUTO:
      return { type: 'auto', ...parallel };
    default:
      return choice.disableParallelCalls ? { type: 'auto', ...parallel } : undefined;
  }
}

const alternatives = ['anyOf', 'oneOf', 'allOf'] as const;

/** Returns the schema as an object without alternatives at the root, as the format requires: their properties are merged. */
function rootObject(schema: JsonObject): { schema: JsonObject; isWhole: boolean } {
  const branches = alternatives.flatMap((word) => {
    const list: readonly unknown[] = Array.isArray(schema[word]) ? schema[word] : [];
    return list.filter(isObject).map((branch) => ({ word, branch }));
  });
  const { anyOf: _anyOf, oneOf: _oneOf, allOf: _allOf, ...rest } = schema;
  if (branches.length === 0)
    return { schema: { ...(rest['properties'] === undefined ? { properties: {} } : {}), ...rest, type: 'object' }, isWhole: true };
  const properties = propertiesOf([rest, ...branches.map(({ branch }) => branch)]);
  return { schema: { ...rest, type: 'object', properties, required: requiredOf(rest, branches) }, isWhole: false };
}

/** Returns the properties of all schemas; one that differs between them may be any of its forms. */
function propertiesOf(schemas: readonly JsonObject[]): JsonObject {
  // Each form by its JSON.
  const forms = new Map<string, Map<string, unknown>>();
  for (const { properties } of schemas) {
    for (const [name, form] of Object.entries(objectOf(properties))) {
      const known = forms.get(name) ?? new Map<string, unknown>();
      forms.set(name, known.set(JSON.stringify(form), form));
    }
  }
  return Object.fromEntries(
    [...forms].map(([name, each]) => [name, each.size === 1 ? [...each.values()][0] : { anyOf: [...each.values()] }]),
  );
}

/** Returns the properties that all alternatives require, and those that any part of an `allOf` requires. */
function requiredOf(rest: JsonObject, branches: readonly { word: string; branch: JsonObject }[]): string[] {
  const required = new Set(namesOf(rest['required']));
  for (const word of alternatives) {
    const lists = branches.filter((each) => each.word === word).map(({ branch }) => new Set(namesOf(branch['required'])));
    const [first = new Set<string>(), ...others] = lists;
    const names =
      word === 'allOf' ? lists.flatMap((list) => [...list]) : [...first].filter((name) => others.every((list) => list.has(name)));
    for (const name of names) required.add(name);
  }
  return [...required];
}

function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function namesOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : [];
}
