// The API reference, written from the OpenAPI document. Pure.
import { openapi } from '../formats/openapi.js';
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
  readonly summary: string;
  readonly security?: readonly unknown[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, Answer | Reference>>;
}

const components = openapi.components as unknown as {
  readonly headers: Readonly<Record<string, { description: string }>>;
  readonly responses: Readonly<Record<string, Answer>>;
  readonly schemas: Readonly<Record<string, Schema>>;
};

/** The page as Markdown. */
export function apiPage(): string {
  const operations = Object.entries(openapi.paths as unknown as Readonly<Record<string, Readonly<Record<string, Operation>>>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationText(`${method.toUpperCase()} ${path}`, operation)),
  );
  const schemas = Object.entries(components.schemas).map(([name, schema]) => `## ${name}\n\n${fieldTable(fieldsOf(schema))}`);
  return [head, ...operations, ...schemas].join('\n');
}

const head = `# API reference

All routes of the two request formats, and those for models, keys and charges. The same as a document for programs:
[openapi.json](../openapi.json) (OpenAPI ${openapi.openapi}).

A platform key goes into \`Authorization: Bearer\` or \`x-api-key\`, on any route that does not say that it needs none. The routes of the
two formats also work without \`/v1\`, and with one too many: [clients](clients.md) tells what each client library makes of a base address.
What a refusal looks like and what to do about it is on the page of [errors](errors.md); what each call costs on that of [charges](charging.md).

In the tables, \`[]\` is each element of a list and a dot leads into an object. "Of" names the kinds (by \`type\` or \`role\`) that have the
field, where not all have it. Fields that are not listed here reach upstreams of the same format, and are named in the header
\`x-tollgate-dropped-params\` behind others.
`;

function operationText(name: string, { summary, security, parameters = [], requestBody, responses }: Operation): string {
  const key = security?.length === 0 ? ' Needs no key.' : '';
  const lines = [`## ${name}`, `${summary}${key}`];
  if (parameters.length > 0) {
    const rows = parameters.map((each) => [`\`${each.name}\``, each.in, each.required === true ? 'yes' : '', each.description ?? '']);
    lines.push(table(['Parameter', 'In', 'Required', 'What it is'], rows));
  }
  if (requestBody !== undefined) lines.push(`Body: ${contentText(requestBody.content)}.`);
  const answers = Object.entries(responses).map(([status, answer]) => [status, answerText(resolved(answer, components.responses))]);
  lines.push(table(['Status', 'Answer'], answers));
  const headers = headersOf(responses);
  if (headers.length > 0) lines.push(table(['Header of the answer', 'What it is'], headers));
  return `${lines.join('\n\n')}\n`;
}

function answerText({ description, content }: Answer): string {
  return content === undefined ? description : `${description} ${contentText(content)}.`;
}

/** The schemas of a body, as links. */
function contentText(content: Readonly<Record<string, Content>>): string {
  return Object.entries(content)
    .map(([type, { schema, 'x-tollgate-frame': frame }]) => `${linkTo(frame ?? schema)}${type === 'application/json' ? '' : ` (\`${type}\`)`}`)
    .join(' or ');
}

function linkTo(schema: Reference | Schema): string {
  if (!('$ref' in schema)) return '';
  const name = nameOf(schema as Reference);
  return `[${name}](#${name.toLowerCase()})`;
}

/** The headers of all answers of an operation, each once. */
function headersOf(responses: Operation['responses']): string[][] {
  const all = new Map<string, string>();
  for (const answer of Object.values(responses)) {
    for (const [name, header] of Object.entries(resolved(answer, components.responses).headers ?? {})) all.set(name, resolved(header, components.headers).description);
  }
  return [...all].map(([name, description]) => [`\`${name}\``, description]);
}

function fieldTable(fields: readonly Field[]): string {
  const rows = fields.map(({ path, types, notes, required, within }) => {
    const of = within.length === 0 ? [] : [`Of ${within.map((label) => (label === 'others' ? label : `\`${label}\``)).join(', ')}.`];
    return [`\`${path}\``, [...types].map((type) => (type.startsWith('"') ? `\`${type}\`` : type)).join(', '), required ? 'yes' : '', [...of, ...notes].join(' ')];
  });
  return `${table(['Field', 'Type', 'Required', 'What it is'], rows)}\n`;
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [line(header), `|${'---|'.repeat(header.length)}`, ...rows.map(line)].join('\n');
}

function nameOf({ $ref }: Reference): string {
  return $ref.slice($ref.lastIndexOf('/') + 1);
}

function resolved<T extends object>(value: T | Reference, known: Readonly<Record<string, T>>): T {
  return '$ref' in value ? known[nameOf(value)]! : value;
}
