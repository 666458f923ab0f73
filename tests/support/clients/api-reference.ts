// Checks responses of the console's API against the OpenAPI document of the gateway.
import { Ajv2020 } from 'ajv/dist/2020.js';

interface Documented {
  readonly content?: Readonly<Record<string, unknown>>;
}

interface Operation {
  readonly parameters: readonly { readonly name?: string; readonly in?: string }[];
  readonly responses: Readonly<Record<string, Documented>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** Throws if a response, or a parameter of its request, is not documented. The path is one below /console/api. */
export type AnswerCheck = (method: string, path: string, response: Response) => Promise<void>;

const checks = new Map<string, Promise<AnswerCheck>>();
/** By the text of the document, which all gateways of a build have in common: compiling their schemas takes a second. */
const compiled = new Map<string, AnswerCheck>();

/** Returns the check against the document of a gateway, which is fetched once. */
export function answerCheck(baseUrl: string): Promise<AnswerCheck> {
  let check = checks.get(baseUrl);
  if (check === undefined) {
    check = readCheck(baseUrl);
    checks.set(baseUrl, check);
  }
  return check;
}

async function readCheck(baseUrl: string): Promise<AnswerCheck> {
  const text = await (await fetch(`${baseUrl}/console/openapi.json`)).text();
  const check = compiled.get(text) ?? compile(text);
  compiled.set(text, check);
  return check;
}

function compile(text: string): AnswerCheck {
  const address = 'https://tollgate/console/openapi.json';
  const document = closed(JSON.parse(text)) as Document;
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema(document, address);

  const assertOf = (what: string, steps: readonly string[], value: unknown): void => {
    const pointer = steps.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
    const validate = ajv.getSchema(`${address}#/${pointer}`);
    if (validate === undefined) throw new Error(`${what}: there is no schema at ${pointer}.`);
    if (validate(value) !== true)
      throw new Error(`${what} does not match the OpenAPI document: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value)}`);
  };

  return async (method, path, response) => {
    const what = `${response.status} to ${method} ${path}`;
    const type = response.headers.get('content-type')?.split(';')[0] ?? '';
    if (response.status >= 400) return assertOf(what, ['components', 'schemas', 'Error'], await response.clone().json());
    const template = templateOf(document, method, path);
    const operation = template === undefined ? undefined : document.paths[template]![method.toLowerCase()]!;
    const documented = operation?.responses[response.status];
    if (documented === undefined) throw new Error(`${what}: the operation is not documented.`);
    for (const name of new URL(path, 'http://any').searchParams.keys()) {
      if (!operation!.parameters.some((each) => each.in === 'query' && each.name === name))
        throw new Error(`${what}: the parameter ${name} is not documented.`);
    }
    if (documented.content === undefined) {
      // A body would be undocumented.
      if ((await response.clone().text()) !== '') throw new Error(`${what} has a body that is not documented.`);
      return undefined;
    }
    if (documented.content[type] === undefined) throw new Error(`${what} has the undocumented content type ${type}.`);
    if (type !== 'application/json') return undefined;
    return assertOf(
      what,
      ['paths', template!, method.toLowerCase(), 'responses', String(response.status), 'content', type, 'schema'],
      await response.clone().json(),
    );
  };
}

/** Returns the documented path that a request matches. A literal path takes precedence over one with parameters. */
function templateOf({ paths }: Document, method: string, path: string): string | undefined {
  const asked = path.split('?')[0]!;
  const names = (template: string): number => template.split('{').length;
  const matches = Object.keys(paths).filter(
    (template) => paths[template]![method.toLowerCase()] !== undefined && formOf(template).test(asked),
  );
  return matches.toSorted((a, b) => names(a) - names(b))[0];
}

/** Model ids may contain slashes. */
function formOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll('.', '\\.').replace(/\{(\w+)\}/g, (_, name) => (name === 'model' ? '.+' : '[^/]+'))}$`);
}

/** Returns the document with every object closed, so that an undocumented field is an error here, although clients must ignore it. */
function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed);
  if (typeof part !== 'object' || part === null) return part;
  const copy = Object.fromEntries(Object.entries(part).map(([name, value]) => [name, closed(value)]));
  return copy['type'] === 'object' && copy['properties'] !== undefined ? { additionalProperties: false, ...copy } : copy;
}
