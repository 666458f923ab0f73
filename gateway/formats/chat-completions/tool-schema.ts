// The tools of a chat-completions request and the choice among them, as schemas.
import { Type } from 'typebox';
import { optional, unknownKind, type ValueOf } from '../requests/fields.js';
import { NameForm } from '../requests/openai-fields.js';
import { CacheControl } from './message-schema.js';

export const FunctionParam = Type.Object({
  name: NameForm,
  description: optional(Type.String()),
  parameters: optional(Type.Object({}, { description: 'JSON Schema of the arguments; absent: none.' })),
  strict: optional(Type.Boolean()),
  cache_control: optional(CacheControl),
});
export type FunctionParam = ValueOf<typeof FunctionParam>;

const Grammar = Type.Object({
  type: Type.Literal('grammar'),
  grammar: Type.Object({ syntax: Type.String({ minLength: 1 }), definition: Type.String() }),
});
const CustomParam = Type.Object({
  name: NameForm,
  description: optional(Type.String()),
  format: optional(Type.Union([Type.Object({ type: Type.Literal('text') }), Grammar, unknownKind(['text', 'grammar'])])),
});

export const ToolParam = Type.Union([
  Type.Object({ type: Type.Literal('function'), function: FunctionParam, cache_control: optional(CacheControl) }),
  Type.Object({ type: Type.Literal('custom'), custom: CustomParam }),
  unknownKind(['function', 'custom']),
]);
export type ToolParam = ValueOf<typeof ToolParam>;
export type FunctionToolParam = Extract<ToolParam, { type: 'function' }>;
export type CustomToolParam = Extract<ToolParam, { type: 'custom' }>;

const named = Type.Object({ name: Type.String({ minLength: 1 }) });
const NamedFunction = Type.Object({ type: Type.Literal('function'), function: named });
const NamedCustom = Type.Object({ type: Type.Literal('custom'), custom: named });
const AllowedTools = Type.Object({
  type: Type.Literal('allowed_tools'),
  allowed_tools: Type.Object({
    mode: Type.Enum(['auto', 'required']),
    tools: Type.Array(Type.Union([NamedFunction, NamedCustom, unknownKind(['function', 'custom'])]), { minItems: 1 }),
  }),
});
export const ToolChoiceParam = Type.Union([
  Type.String({ minLength: 1, description: 'none, auto or required.' }),
  NamedFunction,
  NamedCustom,
  AllowedTools,
  unknownKind(['function', 'custom', 'allowed_tools']),
]);
export type ToolChoiceParam = ValueOf<typeof ToolChoiceParam>;

/** The deprecated choice among functions. */
export const FunctionChoiceParam = Type.Union([Type.Enum(['none', 'auto']), Type.Object({ name: Type.String({ minLength: 1 }) })]);
