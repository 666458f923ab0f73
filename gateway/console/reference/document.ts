// The OpenAPI document of the console's API, made of the very schemas that validate bodies and that answers are tested against. Pure.
import { type TSchema, Type } from 'typebox';
import { AppError } from '#client/errors/app-error.js';
import type { Reason } from '#rules/reasons.js';
import { permissionsOf, roleNames } from '../access.js';
import { renderConsoleError } from '../errors.js';
import { areas } from './areas.js';
import type { Answer, Operation } from './operation.js';
import { nullable } from './shapes.js';

/** What every refusal looks like. */
const Refusal = Type.Object(
  {
    error: Type.Object({
      code: Type.String({ description: 'One of a closed list.' }),
      message: Type.String({ description: 'Names the fault and the fix; may be shown.' }),
      field: nullable(Type.String(), 'The field of the body, the parameter or the header at fault.'),
      request_id: Type.String(),
    }),
  },
  { title: 'Refusal' },
);

const schemas = new Map<string, unknown>();

/** A schema in which each part with a name is a reference to it. */
function referring(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(referring);
  const { title } = schema as { title?: unknown };
  if (typeof title !== 'string') return inside(schema);
  if (!schemas.has(title)) {
    // Named before its parts are, so that names come in the order in which a reader meets them.
    schemas.set(title, undefined);
    schemas.set(title, inside(schema));
  }
  return { $ref: `#/components/schemas/${title}` };
}

function inside(schema: object): object {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [
      keyword,
      // The names below `properties` are those of fields, which may be called as keywords are.
      keyword === 'properties'
        ? Object.fromEntries(Object.entries(value as object).map(([name, property]) => [name, referring(property)]))
        : referring(value),
    ]),
  );
}

const json = (schema: TSchema): object => ({ 'application/json': { schema: referring(schema) } });

const pathParameters: Readonly<Record<string, string>> = {
  account: 'The id of an account.',
  key: 'The id of a key.',
  entry: 'The id of an entry.',
  user: 'The id of a person.',
  payment: 'The id of a payment.',
  month: 'A month of UTC, for example 2026-11.',
  id: 'The id.',
  model: 'The id of a model or an alias; slashes may be raw or encoded.',
};

const page = {
  limit: 'How many at most, 1 to 200; 50 when absent.',
  cursor: 'The `next` of the page before.',
};

function parametersOf({ method, path, query = {}, paged, idempotency }: Operation): object[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) =>
    name === 'account'
      ? { $ref: '#/components/parameters/Account' }
      : { name, in: 'path', required: true, description: pathParameters[name!], schema: { type: 'string' } },
  );
  const inQuery = Object.entries({ ...query, ...(paged === true ? page : {}) }).map(([name, description]) => ({
    name,
    in: 'query',
    description,
    schema: { type: 'string' },
  }));
  const header =
    idempotency === undefined ? [] : [{ name: 'Idempotency-Key', in: 'header', description: idempotency, schema: { type: 'string' } }];
  return [...inPath, ...(method === 'GET' ? [] : [{ $ref: '#/components/parameters/Console' }]), ...inQuery, ...header];
}

function whoText({ who }: Operation): string {
  if (who === 'everybody') return 'Needs no session.';
  if (who === 'signed in') return 'For whoever is signed in.';
  if (who === 'operator') return 'For operators.';
  const roles = Object.entries(roleNames).filter(([, role]) => permissionsOf(role).includes(who));
  return roles.length === Object.keys(roleNames).length
    ? 'For all members of the account.'
    : `For members who may ${who}: ${roles.map(([name]) => name).join(', ')}.`;
}

function answerOf({ description, schema, types = [] }: Answer): object {
  const others = Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }]));
  return schema === undefined && types.length === 0
    ? { description }
    : { description, content: { ...(schema === undefined ? {} : json(schema)), ...others } };
}

/** Refusals by their status. */
function refusalsOf(refusals: NonNullable<Operation['refusals']>): object {
  const texts = new Map<number, string[]>();
  for (const [reason, why] of Object.entries(refusals)) {
    const { status } = renderConsoleError(new AppError(reason as Reason, ''), '');
    texts.set(status, [...(texts.get(status) ?? []), `\`${reason}\`: ${why}`]);
  }
  return Object.fromEntries([...texts].map(([status, lines]) => [status, { description: lines.join(' '), content: json(Refusal) }]));
}

function operationOf(operation: Operation, tag: string): object {
  const { who, summary, body, answers, refusals = {} } = operation;
  return {
    tags: [tag],
    summary,
    description: whoText(operation),
    ...(who === 'everybody' ? { security: [] } : {}),
    parameters: parametersOf(operation),
    ...(body === undefined ? {} : { requestBody: { required: true, content: json(body) } }),
    responses: {
      ...Object.fromEntries(answers.map((answer) => [answer.status, answerOf(answer)])),
      ...refusalsOf(refusals),
      default: { $ref: '#/components/responses/Refused' },
    },
  };
}

function pathsOf(): Record<string, Record<string, object>> {
  const paths: Record<string, Record<string, object>> = {};
  for (const { title, operations } of areas) {
    for (const operation of operations) (paths[operation.path] ??= {})[operation.method.toLowerCase()] = operationOf(operation, title);
  }
  return paths;
}

const paths = pathsOf();
const refused = { description: 'A refusal, with a code of the page of errors.', content: json(Refusal) };

/** The document of GET /console/openapi.json. */
export const consoleOpenapi = {
  openapi: '3.1.0',
  info: {
    title: 'Tollgate console',
    version: '1',
    description: 'What the pages of the console ask. Fields may be added to answers.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  // As seen from the address of the document.
  servers: [{ url: './api' }],
  security: [{ session: [] }],
  tags: areas.map(({ title, description }) => ({ name: title, description })),
  paths,
  components: {
    securitySchemes: {
      session: {
        type: 'apiKey',
        in: 'cookie',
        name: 'tollgate_session',
        description: 'Set by whatever signs somebody in; behind TLS its name is __Host-tollgate_session.',
      },
    },
    parameters: {
      Account: { name: 'account', in: 'path', required: true, description: pathParameters['account'], schema: { type: 'string' } },
      Console: {
        name: 'x-tollgate-console',
        in: 'header',
        required: true,
        description: 'Other sites cannot make a browser send it.',
        schema: { const: '1' },
      },
    },
    responses: { Refused: refused },
    schemas: Object.fromEntries(schemas),
  },
};
