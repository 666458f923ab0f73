// The two API references, each generated from its OpenAPI document. Pure.
import { consoleOpenapi } from '../../console/table/document.js';
import { openapi } from '../../formats/openapi.js';
import { type ApiDocument, openapiPage } from './openapi-page.js';

/** Returns the reference of the API for calls, as Markdown. */
export function apiPage(): string {
  return openapiPage(openapi as unknown as ApiDocument, head);
}

/** Returns the reference of the console's API, as Markdown. */
export function consoleApiPage(): string {
  return openapiPage(consoleOpenapi as unknown as ApiDocument, consoleHead);
}

const inTables = `In the tables, \`[]\` is each element of a list and a dot a field of an object. "Of" names the kinds (by \`type\` or \`role\`) that have the
field, if not all have it.`;

const head = `# API reference

All routes of the request formats, and those for models, keys and charges. The machine-readable document is
[openapi.json](../openapi.json) (OpenAPI ${openapi.openapi}). The console's API has [its own reference](console-api.md).

Send a platform key as \`Authorization: Bearer\` or \`x-api-key\` to every route that does not state that it needs none. The routes of the
formats also work without \`/v1\`, and with a second one: [clients](clients.md) describes what each client library appends to a base address.
[Errors](errors.md) describes what an error looks like and what to do about it; [charges](charging.md) describes what each call costs.

${inTables} Fields that are not listed here are sent to upstreams of the same format; for other upstreams, they are named in the header
\`x-tollgate-dropped-params\`.
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
- **Errors** are an [Error](#error). Its \`code\` is a reason on the page of [errors](errors.md); where a code has many causes, \`rule\` says which one, and
  \`params\` has its details, so that a program can word the error in any language. Every operation can return \`invalid_request\` (400),
  \`session_unknown\` (401), \`role_not_permitted\` (403) and \`not_found\` (404), which is also returned for accounts of others and, to everyone
  but operators, for operators' paths. Other errors are listed with each operation.
- **Secrets** are returned only by the operation that creates them.
- Fields may be added to responses.

${inTables}
`;
