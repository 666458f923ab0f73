// Validates a body against its schema: a compiled check for every call and, only if it fails, a search for the one
// fault that helps the caller. A compiled validator only says yes or no; a schema library's list of errors names every branch of
// every union that did not match, of which the caller needs only one.
import { type Static, type TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Errors } from 'typebox/value';
import { AppError } from '#client/errors/app-error.js';
import { type FieldRule, fieldRules } from '#rules/errors/error-sentences.js';
import { fill } from '#rules/errors/templates.js';
import { unsupportedKeyword } from './fields.js';
import { isObject } from '../rest.js';
import { ruleKeyword } from '../rule-keyword.js';

/** A place in a body: property names and array indexes. */
export type Path = readonly (string | number)[];

/** How a format writes a path: messages[0].content or messages.0.content. */
export type PathStyle = 'brackets' | 'dots';

interface Fault {
  path: Path;
  text: string;
  unsupported: boolean;
  rule?: BrokenRule;
}

/** Describes the rule that a value breaks, so that a page can word the fault in its own language. */
interface BrokenRule {
  readonly rule: FieldRule;
  readonly params?: Readonly<Record<string, string>>;
}

interface Node {
  type?: string;
  const?: unknown;
  pattern?: string;
  description?: string;
  enum?: unknown[];
  anyOf?: Node[];
  items?: Node;
  properties?: Record<string, Node>;
  required?: string[];
  [unsupportedKeyword]?: string;
  [ruleKeyword]?: FieldRule;
}

/** Returns the path as text; the body itself is "body". */
export function pathText(path: Path, style: PathStyle): string {
  if (path.length === 0) return 'body';
  return path
    .map((step, index) => (typeof step === 'number' && style === 'brackets' ? `[${step}]` : `${index === 0 ? '' : '.'}${step}`))
    .join('');
}

// A text may quote what the caller sent, such as an id, which may be as long as a body.
const faultCharsMax = 500;

/** The text for a missing field, in the words of the messages format's vendor; the other format has a code for it. */
const fieldRequired = 'Field required';

/** Returns an AppError that names the field and the fix. */
export function fieldError(
  reason: 'invalid_request' | 'unsupported_field',
  field: string,
  text: string,
  { rule, params, code }: Partial<BrokenRule> & { readonly code?: string } = {},
): AppError {
  const shown = text.length > faultCharsMax ? `${text.slice(0, faultCharsMax)}…` : text;
  return new AppError(reason, `${field}: ${shown}`, {
    details: {
      field,
      ...(rule === undefined ? {} : { rule, ...params }),
      ...(text === fieldRequired ? { code: 'missing_required_parameter' } : code === undefined ? {} : { code }),
    },
  });
}

/**
 * Returns a function that returns a body as the schema's type, or raises invalid_request or unsupported_field. Compiles on first use. With
 * `withRules`, its errors carry the broken rule, for pages that word them in another language.
 */
export function bodyReader<S extends TSchema>(schema: S, style: PathStyle, { withRules = false } = {}): (body: unknown) => Static<S> {
  return (body) => {
    if (matches(schema as Node, body)) return body as Static<S>;
    const fault = findFault(schema as Node, body, []) ?? { path: [], text: 'does not match the schema', unsupported: false };
    throw fieldError(
      fault.unsupported ? 'unsupported_field' : 'invalid_request',
      pathText(fault.path, style),
      fault.text,
      withRules ? fault.rule : undefined,
    );
  };
}

const checks = new WeakMap<Node, (value: unknown) => boolean>();

/**
 * Reports whether a value matches a schema or a part of one. The check is compiled on first use, because compiling all of them is a tenth of the work of a
 * start, and kept, because a hostile body is long and wrong at its end.
 */
function matches(node: Node, value: unknown): boolean {
  let check = checks.get(node);
  if (check === undefined) {
    const validator = Compile(node as TSchema);
    check = (each) => validator.Check(each);
    checks.set(node, check);
  }
  return check(value);
}

/** Returns the first fault in a value; undefined if it matches the schema. */
function findFault(node: Node, value: unknown, path: Path): Fault | undefined {
  if (matches(node, value)) return undefined;
  if (node.anyOf !== undefined) return findUnionFault(node, node.anyOf, value, path);
  const inside = node.properties !== undefined && isObject(value) ? findObjectFault(node, node.properties, value, path) : undefined;
  if (inside !== undefined) return inside;
  // Checks only the node's own rules: nested values are searched one by one, and a hostile body could have any number of faults.
  const { items, properties: _properties, required: _required, ...own } = node;
  const [error] = Errors(own as TSchema, value);
  if (error !== undefined) {
    const rule = ruleOf(node, value, error);
    const text = rule === undefined ? (formText(node, value) ?? error.message) : ruleText(rule);
    return faultAt(node, [...path, ...stepsOf(error.instancePath)], text, rule);
  }
  if (items === undefined || !Array.isArray(value)) return undefined;
  return firstFault(value, (item, index) => findFault(items, item, [...path, index]));
}

// The caller chooses the names in its maps, and they may be as long as a body.
const stepCharsMax = 64;

/** Returns the steps of a JSON pointer to the invalid entry of a map. */
function stepsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.slice(0, stepCharsMax).replaceAll('~1', '/').replaceAll('~0', '~'));
}

function findObjectFault(node: Node, properties: Record<string, Node>, value: Record<string, unknown>, path: Path): Fault | undefined {
  return firstFault(Object.entries(properties), ([name, property]) => {
    if (value[name] !== undefined) return findFault(property, value[name], [...path, name]);
    return node.required?.includes(name) ? missing([...path, name]) : undefined;
  });
}

/** Returns the fault in the branch that the value was meant for, judged by its JSON type and its tag (such as role or type). */
function findUnionFault(node: Node, branches: Node[], value: unknown, path: Path): Fault | undefined {
  const sameType = branches.filter((branch) => branch.type === undefined || branch.type === jsonType(value, branch.type));
  const solid = branches.filter((branch) => branch.type !== 'null');
  if (sameType.length === 0) {
    if (solid.length === 1) return findFault(solid[0]!, value, path);
    const types = solid.map((branch) => String(branch.type));
    return faultAt(node, path, `must be ${types.map(withArticle).join(' or ')}`, { rule: 'type', params: { type: types.join(' or ') } });
  }
  if (!isObject(value) || sameType.length === 1) return firstFault(sameType, (branch) => findFault(branch, value, path));
  const tag = tagOf(sameType);
  const meant = sameType.find((branch) => tagValues(branch, tag).includes(value[tag]));
  if (meant !== undefined) return findFault(meant, value, path);
  if (value[tag] === undefined || value[tag] === null) {
    const untagged = sameType.find((branch) => branch.required?.includes(tag) === false);
    if (untagged !== undefined) return findFault(untagged, value, path);
  }
  if (value[tag] === undefined) return missing([...path, tag]);
  const open = sameType.find((branch) => branch.properties?.[tag] !== undefined && tagValues(branch, tag).length === 0);
  if (open !== undefined) return findFault(open, value, path);
  const allowed = sameType.flatMap((branch) => tagValues(branch, tag)).join(', ');
  return faultAt(node, [...path, tag], `${JSON.stringify(value[tag])} is not one of ${allowed}`);
}

function missing(path: Path): Fault {
  return { path, text: fieldRequired, unsupported: false, rule: { rule: 'required' } };
}

function faultAt(node: Node, path: Path, text: string, rule?: BrokenRule): Fault {
  const fix = node[unsupportedKeyword];
  return fix === undefined ? { path, text, unsupported: false, rule } : { path, text: fix, unsupported: true };
}

const rulesOfKeywords: Readonly<Record<string, FieldRule>> = {
  minimum: 'at_least',
  maximum: 'at_most',
  minLength: 'min_length',
  maxLength: 'max_length',
  minItems: 'min_items',
  maxItems: 'max_items',
};

/** Returns the rule of a schema's own keyword, or the one that the schema names. */
function ruleOf(node: Node, value: unknown, { keyword, params }: { keyword: string; params: object }): BrokenRule | undefined {
  if (node.const !== undefined) return { rule: 'constant', params: { value: JSON.stringify(node.const) } };
  if (node.enum !== undefined) return { rule: 'one_of', params: { values: node.enum.join(', ') } };
  if (keyword === 'type') return { rule: 'type', params: { type: String((params as { type?: unknown }).type) } };
  if (node[ruleKeyword] !== undefined && typeof value === 'string') return { rule: node[ruleKeyword] };
  const rule = rulesOfKeywords[keyword];
  const limit = String((params as { limit?: unknown }).limit);
  if (rule?.startsWith('min_') === true && limit === '1') return { rule: 'not_empty' };
  return rule === undefined
    ? undefined
    : { rule, params: rule.startsWith('at_least') || rule.startsWith('min') ? { min: limit } : { max: limit } };
}

/** Returns the English sentence of a broken rule, without its subject. */
function ruleText({ rule, params = {} }: BrokenRule): string {
  return rule === 'type' ? `must be ${withArticle(params['type']!)}` : fill(fieldRules[rule], params);
}

/** Returns the form of a text in words, because callers should not have to read a regular expression; undefined if it has none. */
function formText({ pattern, description }: Node, value: unknown): string | undefined {
  return pattern !== undefined && description !== undefined && typeof value === 'string' ? `must be ${asForm(description)}` : undefined;
}

const withArticle = (type: string): string => `${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`;

/** Returns the description of a form as the end of a sentence without its period. */
const asForm = (description: string): string => `${description.charAt(0).toLowerCase()}${description.slice(1).replace(/\.$/, '')}`;

/** Returns the property that distinguishes the branches of a union: one that is a constant in the first branch. */
function tagOf(branches: Node[]): string {
  const [tag] = Object.keys(branches[0]!.properties ?? {}).filter((name) => tagValues(branches[0]!, name).length > 0);
  return tag ?? 'type';
}

function tagValues(branch: Node, tag: string): unknown[] {
  const property = branch.properties?.[tag];
  return property?.enum ?? (property?.const === undefined ? [] : [property.const]);
}

function jsonType(value: unknown, wanted: string): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number' && wanted === 'integer') return 'integer';
  return typeof value;
}

function firstFault<T>(items: readonly T[], find: (item: T, index: number) => Fault | undefined): Fault | undefined {
  for (const [index, item] of items.entries()) {
    const fault = find(item, index);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
