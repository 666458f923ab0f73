// The content blocks of a messages request as schemas.
import { type TProperties, type TSchema, Type } from 'typebox';
import { optional, passedOn, unknownKind, type ValueOf } from '../requests/fields.js';

/** A mark on a block to cache the prompt up to here, with the lifetime. */
export const CacheControl = Type.Object({ type: Type.Literal('ephemeral'), ttl: optional(Type.Enum(['5m', '1h'])) });
export type CacheControl = ValueOf<typeof CacheControl>;

const block = <const Kind extends string, Fields extends TProperties>(type: Kind, fields: Fields) =>
  Type.Object({ type: Type.Literal(type), ...fields, cache_control: optional(CacheControl) });

/** An id of a file at a vendor; never passed on, and refused in code, which can name the fix. */
const FileSource = Type.Object({ type: Type.Literal('file') });
const UrlSource = Type.Object({ type: Type.Literal('url'), url: Type.String({ description: 'https; fetched by the vendor.' }) });
const Base64Source = Type.Object({ type: Type.Literal('base64'), media_type: Type.String(), data: Type.String({ minLength: 1 }) });

export const TextBlock = block('text', { text: Type.String(), ...passedOn('citations') });
const ImageBlock = block('image', {
  source: Type.Union([Base64Source, UrlSource, FileSource, unknownKind(['base64', 'url', 'file'])]),
  ...passedOn('transformations'),
});
const DocumentBlock = block('document', {
  source: Type.Union([
    Base64Source,
    UrlSource,
    FileSource,
    Type.Object({ type: Type.Literal('text'), media_type: Type.String(), data: Type.String() }),
    Type.Object({ type: Type.Literal('content'), content: contentOf(TextBlock, ImageBlock) }),
    unknownKind(['base64', 'url', 'file', 'text', 'content']),
  ]),
  title: optional(Type.String()),
  context: optional(Type.String()),
  ...passedOn('citations'),
});
const SearchResultBlock = block('search_result', {
  source: Type.String(),
  title: Type.String(),
  content: Type.Array(TextBlock),
  ...passedOn('citations'),
});
const ToolUseBlock = block('tool_use', { id: Type.String({ minLength: 1 }), name: Type.String({ minLength: 1 }), input: Type.Object({}) });
const ToolReferenceBlock = block('tool_reference', { tool_name: Type.String() });
const ToolResultBlock = block('tool_result', {
  tool_use_id: Type.String({ minLength: 1 }),
  content: optional(contentOf(TextBlock, ImageBlock, DocumentBlock, SearchResultBlock, ToolReferenceBlock)),
  is_error: optional(Type.Boolean()),
});
const ThinkingBlock = block('thinking', { thinking: Type.String(), signature: optional(Type.String()) });
const RedactedThinkingBlock = block('redacted_thinking', { data: Type.String() });

/** Returns a schema for text, or blocks of these kinds and of unknown kinds. */
function contentOf<Blocks extends TSchema[]>(...blocks: [...Blocks]) {
  const known = blocks.map((each) => (each as unknown as { properties: { type: { const: string } } }).properties.type.const);
  return Type.Union([Type.String(), Type.Array(Type.Union([...blocks, unknownKind(known)]))]);
}

/** One entry of `messages`. */
export const MessageParam = Type.Union([
  Type.Object({ role: Type.Literal('user'), content: contentOf(TextBlock, ImageBlock, DocumentBlock, SearchResultBlock, ToolResultBlock) }),
  Type.Object({
    role: Type.Literal('assistant'),
    content: contentOf(TextBlock, ToolUseBlock, ThinkingBlock, RedactedThinkingBlock, DocumentBlock),
  }),
  Type.Object({ role: Type.Literal('system'), content: contentOf(TextBlock) }),
]);
export type MessageParam = ValueOf<typeof MessageParam>;
/** Any block of a message, of known or unknown kind. */
export type BlockParam = Exclude<MessageParam['content'], string>[number];
/** Any block of the known kind `T`. */
export type BlockOf<T extends string> = Extract<BlockParam, { type: T }>;
/** Any block that is allowed in a tool result. */
export type ResultBlockParam = Exclude<NonNullable<BlockOf<'tool_result'>['content']>, string>[number];

const rolesOfBlocks: Readonly<Record<string, readonly MessageParam['role'][]>> = {
  text: ['user', 'assistant', 'system'],
  image: ['user'],
  document: ['user', 'assistant'],
  search_result: ['user'],
  tool_result: ['user'],
  tool_use: ['assistant'],
  thinking: ['assistant'],
  redacted_thinking: ['assistant'],
};

/** Returns the roles whose messages may contain blocks of this type (documents in the assistant's only before version 2026-10-21); undefined for an unknown type. */
export function rolesOf({ type }: { type: unknown }): readonly MessageParam['role'][] | undefined {
  return typeof type === 'string' && Object.hasOwn(rolesOfBlocks, type) ? rolesOfBlocks[type] : undefined;
}
