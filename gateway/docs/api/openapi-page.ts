// An API reference, generated from an OpenAPI document. Pure.
import { type Field, fieldsOf, type Schema } from './schema-fields.js';

interface Reference {
  readonly $ref: string;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
}

interface Content {
  readonly schema: Reference | Schema;
  readonly 'x-tollgate-frame'?: Reference;
}

interface Answer {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { description: string } | Reference>>;
  readonly content?: Readonly<Record<string, Content>>;
}

interface Operation {
  readonly tags?: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, Answer | Reference>>;
}

/** The parts of an OpenAPI document that a page is generated from. */
export interface ApiDocument {
  /** Group the operations, if there are any. */
  readonly tags?: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly headers?: Readonly<Record<string, { description: string }>>;
    readonly responses: Readonly<Record<string, Answer>>;
    readonly schemas: Readonly<Record<string, Schema>>;
  };
}

/** Returns the page as Markdown: `head`, which also describes what all operations have in common, then every operation and every schema. */
export function openapiPage(document: ApiDocument, head: string): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
  );
  const schemas = Object.entries(document.components.schemas);
  if (document.tags === undefined) {
    return [
      head,
      ...operations.map(({ name, operation }) => operationText(`## ${name}`, operation, document)),
      ...schemas.map(([name, schema]) => schemaText(`## ${name}`, schema)),
    ].join('\n');
  }
  const groups = document.tags.map(({ name: tag, description }) => {
    const own = operations.filter(({ operation }) => operation.tags?.includes(tag));
    return [`## ${tag}\n\n${description}\n`, ...own.map(({ name, operation }) => operationText(`### ${name}`, operation, document))].join(
      '\n',
    );
  });
  return [head, ...groups, '## Objects\n', ...schemas.map(([name, schema]) => schemaText(`### ${name}`, schema))].join('\n');
}

function schemaText(heading: string, schema: Schema): string {
  return `${[heading, ...(schema.description === undefined ? [] : [schema.description]), fieldTable(fieldsOf(schema))].join('\n\n')}\n`;
}

function operationText(
  heading: string,
  { summary, description, parameters = [], requestBody, responses }: Operation,
  { components }: ApiDocument,
): string {
  const lines = [heading, description === undefined ? summary : `${summary} ${description}`];
  // Shared parameters are those that many operations take; the head describes them once.
  const own = parameters.filter((each): each is Parameter => !('$ref' in each));
  if (own.length > 0) {
    const rows = own.map((each) => [`\`${each.name}\``, each.in, each.required === true ? 'yes' : '', each.description ?? '']);
    lines.push(table(['Parameter', 'In', 'Required', 'Description'], rows));
  }
  if (requestBody !== undefined) lines.push(bodyText(requestBody.content));
  // The head also describes the errors that every operation can return.
  const documented = Object.entries(responses).filter(([status]) => status !== 'default');
  lines.push(
    table(
      ['Status', 'Answer'],
      documented.map(([status, answer]) => [status, answerText(resolved(answer, components.responses))]),
    ),
  );
  const headers = headersOf(responses, components);
  if (headers.length > 0) lines.push(table(['Header of the answer', 'Description'], headers));
  return `${lines.join('\n\n')}\n`;
}

/** Describes a body: a named one by a link to its schema, any other inline. */
function bodyText(content: Readonly<Record<string, Content>>): string {
  const schema = content['application/json']?.schema;
  return schema === undefined || '$ref' in schema ? `Body: ${contentText(content)}.` : `Body:\n\n${fieldTable(fieldsOf(schema))}`;
}

function answerText({ description, content }: Answer): string {
  return content === undefined ? description : `${description} ${contentText(content)}.`;
}

/** Describes a body by its media types. */
function contentText(content: Readonly<Record<string, Content>>): string {
  return Object.entries(content)
    .map(([type, { schema, 'x-tollgate-frame': frame }]) =>
      type === 'application/json' ? shapeText(frame ?? schema) : `${frame === undefined ? '' : `${shapeText(frame)} `}(\`${type}\`)`,
    )
    .map((text) => text.replace(/^\((.*)\)$/, '$1'))
    .join(' or ');
}

/** Describes a schema in one line, with links. */
function shapeText(schema: Reference | Schema): string {
  const { $ref, anyOf, items, properties, const: value, type } = schema as Schema;
  if ($ref !== undefined) return linkTo($ref);
  if (anyOf !== undefined) return anyOf.map(shapeText).join(' or ');
  if (items !== undefined) return `array of ${shapeText(items)}`;
  if (properties !== undefined)
    return `{ ${Object.entries(properties)
      .map(([name, property]) => `\`${name}\`: ${shapeText(property)}`)
      .join(', ')} }`;
  return value === undefined ? (type ?? 'any') : `\`${JSON.stringify(value)}\``;
}

/** Returns a link to a schema by its name: one of this document, or of the document of the calls, which has a page of its own. */
function linkTo($ref: string): string {
  const name = $ref.slice($ref.lastIndexOf('/') + 1);
  return `[${name}](${$ref.startsWith('#') ? '' : 'api.md'}#${name.toLowerCase()})`;
}

/** Returns the headers of all responses of an operation, each once. */
function headersOf(responses: Operation['responses'], components: ApiDocument['components']): string[][] {
  const all = new Map<string, string>();
  for (const answer of Object.values(responses)) {
    for (const [name, header] of Object.entries(resolved(answer, components.responses).headers ?? {}))
      all.set(name, resolved(header, components.headers ?? {}).description);
  }
  return [...all].map(([name, description]) => [`\`${name}\``, description]);
}

function fieldTable(fields: readonly Field[]): string {
  const rows = fields.map(({ path, types, notes, required, within }) => {
    const of = within.length === 0 ? [] : [`Of ${within.map((label) => (label === 'others' ? label : `\`${label}\``)).join(', ')}.`];
    return [`\`${path}\``, [...types].map(typeText).join(', '), required ? 'yes' : '', [...of, ...notes].join(' ')];
  });
  return table(['Field', 'Type', 'Required', 'Description'], rows);
}

function typeText(type: string): string {
  if (type.startsWith('"')) return `\`${type}\``;
  return type.replace(/\S*#\/\S+$/, ($ref) => linkTo($ref));
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [line(header), `|${'---|'.repeat(header.length)}`, ...rows.map(line)].join('\n');
}

function nameOf({ $ref }: Reference): string {
  return $ref.slice($ref.lastIndexOf('/') + 1);
}

function resolved<T extends object>(value: T | Reference, known: Readonly<Record<string, T>>): T {
  return '$ref' in value ? known[nameOf(value)]! : value;
}
