// The OpenAPI document of the console's API, derived from the table of operations. Pure.
import type { TSchema } from 'typebox';
import { AppError } from '#client/errors/app-error.js';
import type { Reason } from '#rules/errors/reasons.js';
import { permissionsOf, roleNames } from '../session/access.js';
import { renderConsoleError } from './error.js';
import { areas } from '../operations/index.js';
import { ConsoleError } from '../schemas/error.js';
import type { Answer, Operation } from './operation.js';
import { queryOf } from './request.js';

const schemas = new Map<string, unknown>();

/** Returns a schema in which each named part is replaced by a reference. */
function referring(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(referring);
  const { title } = schema as { title?: unknown };
  if (typeof title !== 'string') return inside(schema);
  if (!schemas.has(title)) {
    // Named before its parts, so that names are in reading order.
    schemas.set(title, undefined);
    schemas.set(title, inside(schema));
  }
  return { $ref: `#/components/schemas/${title}` };
}

function inside(schema: object): object {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [
      keyword,
      // The names below `properties` are field names, which may equal keywords.
      keyword === 'properties'
        ? Object.fromEntries(Object.entries(value as object).map(([name, property]) => [name, referring(property)]))
        : referring(value),
    ]),
  );
}

const json = (schema: TSchema): object => ({ 'application/json': { schema: referring(schema) } });

const pathParameters: Readonly<Record<string, string>> = {
  account: 'The id of an account.',
  project: 'The id of a project.',
  endpoint: 'The id of a webhook endpoint.',
  delivery: 'The id of a delivery to a webhook endpoint.',
  key: 'The id of a key.',
  entry: 'The id of an entry.',
  credential: 'The name of a credential.',
  user: 'The id of a user.',
  payment: 'The id of a payment.',
  month: 'A month in UTC, for example 2026-11.',
  id: 'The id.',
  model: 'The id of a model or an alias; slashes may be raw or encoded.',
};

function parametersOf(operation: Operation): object[] {
  const { method, path, idempotency, idempotencyRequired = false } = operation;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) =>
    name === 'account'
      ? { $ref: '#/components/parameters/Account' }
      : { name, in: 'path', required: true, description: pathParameters[name!], schema: { type: 'string' } },
  );
  const inQuery = Object.entries(queryOf(operation).properties as Record<string, TSchema & { description?: string }>).map(
    ([name, { description, ...schema }]) => ({ name, in: 'query', description, schema }),
  );
  const header = {
    name: 'Idempotency-Key',
    in: 'header',
    required: idempotencyRequired,
    description: idempotency,
    schema: { type: 'string' },
  };
  return [
    ...inPath,
    ...(method === 'GET' ? [] : [{ $ref: '#/components/parameters/Console' }]),
    ...inQuery,
    ...(idempotency === undefined ? [] : [header]),
  ];
}

function whoText({ who }: Operation): string {
  if (who === 'anyone') return 'Needs no session.';
  if (who === 'signed in') return 'For signed-in users.';
  if (who === 'operator') return 'For operators.';
  const roles = Object.entries(roleNames).filter(([, role]) => permissionsOf(role).includes(who));
  if (who === 'see projects')
    return 'For all members of the account. Members who have roles only in projects see only what belongs to those projects.';
  return who === 'change keys'
    ? `For members who may ${who}: ${roles.map(([name]) => name).join(', ')}, and those with the role developer in the project.`
    : `For members who may ${who}: ${roles.map(([name]) => name).join(', ')}.`;
}

function answerOf({ description, schema, types = [] }: Answer): object {
  const others = Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }]));
  return schema === undefined && types.length === 0
    ? { description }
    : { description, content: { ...(schema === undefined ? {} : json(schema)), ...others } };
}

/** Returns errors grouped by status. */
function errorsOf(errors: NonNullable<Operation['errors']>): object {
  const byStatus = Map.groupBy(Object.entries(errors), ([reason]) => renderConsoleError(new AppError(reason as Reason, ''), '').status);
  const textOf = (group: [string, string][]): string => group.map(([reason, why]) => `\`${reason}\`: ${why}`).join(' ');
  return Object.fromEntries([...byStatus].map(([status, group]) => [status, { description: textOf(group), content: json(ConsoleError) }]));
}

function operationOf(operation: Operation, tag: string): object {
  const { who, scope, summary, body, answers, errors = {} } = operation;
  return {
    tags: [tag],
    summary,
    description: scope === undefined ? whoText(operation) : `${whoText(operation)} Scope of management keys: \`${scope}\`.`,
    ...(who === 'anyone' ? { security: [] } : scope === undefined ? {} : { security: [{ session: [] }, { managementKey: [scope] }] }),
    parameters: parametersOf(operation),
    ...(body === undefined ? {} : { requestBody: { required: true, content: json(body) } }),
    responses: {
      ...Object.fromEntries(answers.map((answer) => [answer.status, answerOf(answer)])),
      ...errorsOf(errors),
      default: { $ref: '#/components/responses/Error' },
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
const error = { description: 'An error, with one of the codes on the page of errors.', content: json(ConsoleError) };

/** Returns the document of GET /console/openapi.json. */
export const consoleOpenapi = {
  openapi: '3.1.0',
  info: {
    title: 'Tollgate console',
    version: '1',
    description: 'The API that the pages of the console call. Fields may be added to answers.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  // Relative to the address of the document.
  security: [{ session: [] }],
  tags: areas.map(({ title, description }) => ({ name: title, description })),
  paths,
  components: {
    securitySchemes: {
      session: {
        type: 'apiKey',
        in: 'cookie',
        name: 'tollgate_session',
        description: 'Set by every operation that signs a user in; behind TLS its name is __Host-tollgate_session.',
      },
      managementKey: {
        type: 'http',
        scheme: 'bearer',
        bearerFormat: 'mk-tg-…',
        description: 'A management key. Operations that do not name a scope need a session.',
      },
    },
    parameters: {
      Account: { name: 'account', in: 'path', required: true, description: pathParameters['account'], schema: { type: 'string' } },
      Console: {
        name: 'x-tollgate-console',
        in: 'header',
        required: false,
        description: 'Required with a session, because other sites cannot make a browser send it. Not needed with a management key.',
        schema: { const: '1' },
      },
    },
    responses: { Error: error },
    schemas: Object.fromEntries(schemas),
  },
};
