// The tools of a responses request and the choice among them, as schemas.
import { Type } from 'typebox';
import { optional, unknownKind, type ValueOf } from '../requests/fields.js';
import { NameForm } from '../requests/openai-fields.js';

const FunctionTool = Type.Object({
  type: Type.Literal('function'),
  name: NameForm,
  description: optional(Type.String()),
  parameters: optional(Type.Object({}, { description: 'JSON Schema of the arguments; absent: none.' })),
  strict: optional(Type.Boolean()),
});
const Grammar = Type.Object({ type: Type.Literal('grammar'), syntax: Type.String({ minLength: 1 }), definition: Type.String() });
const CustomTool = Type.Object({
  type: Type.Literal('custom'),
  name: NameForm,
  description: optional(Type.String()),
  format: optional(Type.Union([Type.Object({ type: Type.Literal('text') }), Grammar, unknownKind(['text', 'grammar'])])),
});
export type OwnTool = ValueOf<typeof FunctionTool> | ValueOf<typeof CustomTool>;

const NamespaceTool = Type.Object({
  type: Type.Literal('namespace'),
  name: NameForm,
  description: optional(Type.String()),
  tools: Type.Array(Type.Union([FunctionTool, CustomTool, unknownKind(['function', 'custom'])])),
});
export type NamespaceTool = ValueOf<typeof NamespaceTool>;

export const ToolParam = Type.Union([FunctionTool, CustomTool, NamespaceTool, unknownKind(['function', 'custom', 'namespace'])]);
export type ToolParam = ValueOf<typeof ToolParam>;

const Named = Type.Object({
  type: Type.Enum(['function', 'custom']),
  name: Type.String({ minLength: 1 }),
  namespace: optional(Type.String()),
});
export type Named = ValueOf<typeof Named>;
const AllowedTools = Type.Object({
  type: Type.Literal('allowed_tools'),
  mode: Type.Enum(['auto', 'required']),
  tools: Type.Array(Type.Union([Named, unknownKind(['function', 'custom'])]), { minItems: 1 }),
});
export const ToolChoiceParam = Type.Union([
  Type.String({ minLength: 1, description: 'none, auto or required.' }),
  Named,
  AllowedTools,
  unknownKind(['function', 'custom', 'allowed_tools']),
]);
export type ToolChoiceParam = ValueOf<typeof ToolChoiceParam>;
