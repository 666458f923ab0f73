// The two API references, each generated from its OpenAPI document. Pure.
import { consoleOpenapi } from '../../console/table/document.js';
import { openapi } from '../../formats/openapi.js';
import { type ApiDocument, openapiPage } from './openapi-page.js';

/** Returns the reference of the API for calls, as Markdown. */
export function apiPage(): string {
  return openapiPage(openapi as unknown as ApiDocument, head);
}

/** Returns the reference of the console's API, as Markdown. Schemas that are also in the reference of the API for calls are links to it. */
export function consoleApiPage(): string {
  const { schemas } = consoleOpenapi.components;
  const ofCalls: Readonly<Record<string, object>> = openapi.components.schemas;
  const shared = new Set(Object.keys(schemas).filter((name) => JSON.stringify(schemas[name]) === JSON.stringify(ofCalls[name])));
  const document = JSON.parse(JSON.stringify(consoleOpenapi), (key, value: unknown) =>
    key === '$ref' && shared.has(String(value).replace('#/components/schemas/', '')) ? `../openapi.json${String(value)}` : value,
  ) as ApiDocument;
  const own = Object.fromEntries(Object.entries(document.components.schemas).filter(([name]) => !shared.has(name)));
  return openapiPage({ ...document, components: { ...document.components, schemas: own } }, consoleHead);
}

const inTables = `In the tables, \`[]\` is each element of a list and a dot a field of an object. "Of" names the kinds (by \`type\` or \`role\`) that have the
field, if not all have it.`;

const head = `# API reference

All routes of the request formats, and those for models, keys and charges. The machine-readable document is
[openapi.json](../openapi.json) (OpenAPI ${openapi.openapi}). The console's API has [its own reference](console-api.md).

Send a platform key as \`Authorization: Bearer\` or \`x-api-key\`, except to routes that state that they need none. The routes of the
formats also work without \`/v1\`, or with a second one: [clients](clients.md) shows the base URL for each client library.
[Errors](errors.md) describes what an error looks like and what to do about it; [charges](charging.md) describes what each call costs.

${inTables} Of the fields that are not listed here, upstreams of the same format receive those that [cost nothing but
tokens](charging.md#fields-and-tools-that-could-cost-more-than-tokens). All others are dropped and named in the header \`x-tollgate-dropped-params\`.
`;

const consoleHead = `# Console API reference

The API that the pages of the [console](console.md) call: users, keys, usage, money, and operators' tasks. All addresses are below \`/console/api\`. The
machine-readable document is [openapi.json](../console/openapi.json) (OpenAPI ${consoleOpenapi.openapi}). Calls to models are in the [API reference](api.md).

- **Authentication** is a session, a cookie that [sign-in](#sign-in) sets, or for programs a [management key](keys.md#management-keys) as
  \`Authorization: Bearer\`. Each operation says which roles may call it, and the scope that a key needs; those without a scope need a session.
  Operators may call all of them for every account, and have additional operations.
- **Changes** (every method but \`GET\`) need the header \`x-tollgate-console: 1\` with a session, which browsers do not let other sites send.
- **Amounts** are exact USD amounts as decimal strings. Times are RFC 3339, in UTC.
- **Paginated lists** have \`next\`: the \`cursor\` of the next page, null on the last one. \`{account}\` is the id of an account.
- **Errors** are an [Error](#error). Its \`code\` is a reason on the page of [errors](errors.md); if a code has several causes, \`rule\` says which one, and
  \`params\` has its details, so that a program can show the error in any language. Every operation can return \`invalid_request\` (400),
  \`session_unknown\` (401), \`role_not_permitted\` (403) and \`not_found\` (404), which is also returned for accounts that the user is not a member of and, to users
  who are not operators, for operators' paths. Each operation lists its other errors.
- **Secrets** are returned only by the operation that creates them.
- Fields may be added to responses.

${inTables}
`;
