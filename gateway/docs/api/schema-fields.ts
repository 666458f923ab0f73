// Flattens a JSON schema into a list of fields, each with its path: `messages[].content[].text`. Alternatives share one list. Pure.

/** The subset of JSON schema that our own schemas use. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly 'x-tollgate-unsupported'?: string;
  readonly 'x-tollgate-native-only'?: boolean;
  readonly 'x-tollgate-ignored'?: boolean;
  readonly [other: string]: unknown;
}

/** A field, merged from all the alternatives in which it occurs. */
export interface Field {
  readonly path: string;
  /** Words such as `string`, `null`, literal values as JSON, or a `$ref`, alone or behind "array of". */
  readonly types: ReadonlySet<string>;
  readonly notes: ReadonlySet<string>;
  /** Whether it is required in every alternative that has it. */
  readonly required: boolean;
  /** The alternatives that have it, by the value of their `type` or `role`; empty if all have it. */
  readonly within: readonly string[];
}

interface Draft {
  types: Set<string>;
  notes: Set<string>;
  required: boolean;
  within: Set<string>;
}

/** Beyond this depth the same blocks are nested in each other again. */
const depthMax = 9;

/** Returns every field of a schema, each path once, in the order of the schema. */
export function fieldsOf(schema: Schema): Field[] {
  const drafts = new Map<string, Draft>();
  const alternatives = new Map<string, Set<string>>();
  collect(schema, '', 0);
  return inTreeOrder([...drafts.keys()]).map((path) => {
    const { types, notes, required, within } = drafts.get(path)!;
    const all = alternatives.get(parentOf(path));
    return { path, types, notes, required, within: all === undefined || within.size === all.size ? [] : [...within] };
  });

  /** Adds the schema at a path: to the field itself, and the fields below it. */
  function collect(part: Schema, path: string, depth: number): void {
    for (const each of part.anyOf ?? [part]) {
      if (each.anyOf !== undefined) {
        collect(each, path, depth);
        continue;
      }
      const draft = drafts.get(path);
      if (draft !== undefined) {
        typeOf(each).forEach((type) => draft.types.add(type));
        notesOf(each).forEach((note) => draft.notes.add(note));
        if (each !== part) notesOf(part).forEach((note) => draft.notes.add(note));
      }
      if (each.items !== undefined) collect(each.items, `${path}[]`, depth);
      if (each.properties !== undefined && depth < depthMax) collectProperties(each, path, depth);
    }
  }

  function collectProperties({ properties = {}, required = [] }: Schema, path: string, depth: number): void {
    const labels = labelsOf(properties);
    const all = alternatives.get(path) ?? new Set<string>();
    alternatives.set(path, all);
    labels.forEach((label) => all.add(label));
    for (const [name, property] of Object.entries(properties)) {
      const below = path === '' ? name : `${path}.${name}`;
      const draft = drafts.get(below) ?? { types: new Set(), notes: new Set(), required: true, within: new Set() };
      drafts.set(below, draft);
      draft.required &&= required.includes(name);
      labels.forEach((label) => draft.within.add(label));
      collect(property, below, depth + 1);
    }
  }
}

/** Returns what distinguishes an alternative from the others. */
function labelsOf({ type, role }: Readonly<Record<string, Schema>>): string[] {
  for (const one of [type, role]) {
    if (one?.const !== undefined) return [String(one.const)];
    if (one?.enum !== undefined) return one.enum.map(String);
  }
  return ['others'];
}

function parentOf(path: string): string {
  return path.includes('.') ? path.slice(0, path.lastIndexOf('.')) : '';
}

/** Returns the fields with each one's own fields right after it; alternatives may have added some later. */
function inTreeOrder(paths: readonly string[]): string[] {
  const children = Map.groupBy(paths, (path) => parentOf(path).replace(/(\[\])+$/, ''));
  const below = (parent: string): string[] => (children.get(parent) ?? []).flatMap((path) => [path, ...below(path)]);
  return below('');
}

function typeOf({ $ref, const: value, enum: values, type, items, 'x-tollgate-unsupported': unsupported }: Schema): string[] {
  if (unsupported !== undefined) return [];
  if ($ref !== undefined) return [$ref];
  if (value !== undefined) return [JSON.stringify(value)];
  if (values !== undefined) return values.map((each) => JSON.stringify(each));
  if (items?.$ref !== undefined) return [`array of ${items.$ref}`];
  // The fields of its elements are not described here, because they have rows of their own.
  if (items !== undefined)
    return [items.type === undefined || items.type === 'object' || items.type === 'array' ? 'array' : `array of ${items.type}`];
  return [type ?? 'any'];
}

function notesOf(schema: Schema): string[] {
  const { description, minimum, maximum, minItems, maxItems } = schema;
  const notes = description === undefined ? [] : [description];
  if (schema['x-tollgate-unsupported'] !== undefined) notes.push(`Not accepted: ${schema['x-tollgate-unsupported']}.`);
  if (schema['x-tollgate-ignored'] === true) notes.push('Has no effect here.');
  if (schema['x-tollgate-native-only'] === true) notes.push('Sent only to upstreams of this format.');
  // Bounds that no reader would ever reach, and the fact that a count is not negative, are not mentioned.
  if (maximum !== undefined && maximum < 2 ** 32 - 1) notes.push(`${minimum ?? 0} to ${maximum}.`);
  else if (minimum !== undefined && minimum > 0) notes.push(`At least ${minimum}.`);
  if (maxItems !== undefined) notes.push(`At most ${maxItems} of them.`);
  else if (minItems !== undefined) notes.push(`At least ${minItems} of them.`);
  return notes;
}
