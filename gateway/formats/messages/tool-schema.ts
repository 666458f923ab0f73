// The tools of a messages request and the choice among them, as schemas.
import { Type } from 'typebox';
import { optional, passedOn, unknownKind, type ValueOf } from '../requests/fields.js';
import { CacheControl } from './block-schema.js';

const customFields = {
  name: Type.String({ pattern: '^[A-Za-z0-9_-]{1,128}$', description: '1 to 128 letters, digits, "_" or "-".' }),
  description: optional(Type.String()),
  input_schema: Type.Object({ type: Type.Literal('object') }, { description: 'JSON Schema of the arguments.' }),
  strict: optional(Type.Boolean()),
  cache_control: optional(CacheControl),
  ...passedOn('allowed_callers', 'defer_loading', 'eager_input_streaming', 'input_examples'),
};

/** A tool that the caller describes. */
export const CustomTool = Type.Object({ type: optional(Type.Literal('custom')), ...customFields });

/** The caller's own tool, or one whose schema is implied by its type, which only upstreams of this format know. */
export const ToolParam = Type.Union([
  Type.Object({ type: Type.Literal('custom'), ...customFields }),
  Type.Object({ type: Type.Optional(Type.Null()), ...customFields }),
  unknownKind(['custom']),
]);
export type ToolParam = ValueOf<typeof ToolParam>;
export type CustomToolParam = Extract<ToolParam, { input_schema: object }>;

const parallel = { disable_parallel_tool_use: optional(Type.Boolean()) };
export const ToolChoiceParam = Type.Union([
  Type.Object({ type: Type.Literal('auto'), ...parallel }),
  Type.Object({ type: Type.Literal('any'), ...parallel }),
  Type.Object({ type: Type.Literal('tool'), name: Type.String({ minLength: 1 }), ...parallel }),
  Type.Object({ type: Type.Literal('none') }),
  unknownKind(['auto', 'any', 'tool', 'none']),
]);
export type ToolChoiceParam = ValueOf<typeof ToolChoiceParam>;
