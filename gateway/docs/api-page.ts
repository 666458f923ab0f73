// The two API references, each written from its OpenAPI document. Pure.
import { consoleOpenapi } from '../console/reference/document.js';
import { openapi } from '../formats/openapi.js';
import { type ApiDocument, openapiPage } from './openapi-page.js';

/** The reference of calls, as Markdown. */
export function apiPage(): string {
  return openapiPage(openapi as unknown as ApiDocument, head);
}

/** The reference of what the console asks, as Markdown. */
export function consoleApiPage(): string {
  return openapiPage(consoleOpenapi as unknown as ApiDocument, consoleHead);
}

const inTables = `In the tables, \`[]\` is each element of a list and a dot leads into an object. "Of" names the kinds (by \`type\` or \`role\`) that have the
field, where not all have it.`;

const head = `# API reference

All routes of the two request formats, and those for models, keys and charges. The same as a document for programs:
[openapi.json](../openapi.json) (OpenAPI ${openapi.openapi}). What the console asks has [a reference of its own](console-api.md).

A platform key goes into \`Authorization: Bearer\` or \`x-api-key\`, on any route that does not say that it needs none. The routes of the
two formats also work without \`/v1\`, and with one too many: [clients](clients.md) tells what each client library makes of a base address.
What a refusal looks like and what to do about it is on the page of [errors](errors.md); what each call costs on that of [charges](charging.md).

${inTables} Fields that are not listed here reach upstreams of the same format, and are named in the header
\`x-tollgate-dropped-params\` behind others.
`;

const consoleHead = `# Console API reference

What the pages of the [console](console.md) ask: people, keys, usage, money, and what operators do. All addresses are below \`/console/api\`. The same as a
document for programs: [openapi.json](../console/openapi.json) (OpenAPI ${consoleOpenapi.openapi}). Calls of models are in the [API reference](api.md).

- **Who asks** is told by a session, a cookie that [signing in](#signing-in) sets. What each role may do in an account is told with each route;
  operators may do everything in every account, and have routes of their own.
- **Changes** (whatever is not \`GET\`) need the header \`x-tollgate-console: 1\`, which other sites cannot make a browser send.
- **Amounts** are decimal strings of USD, exact. Times are RFC 3339, in UTC.
- **Lists** that come in pages have \`next\`: the \`cursor\` of the next page, null on the last. \`{account}\` is the id of an account.
- **Refusals** are a [Refusal](#refusal). Its codes are the reasons on the page of [errors](errors.md). Possible everywhere are \`invalid_request\` (400),
  \`session_unknown\` (401), \`role_not_permitted\` (403) and \`not_found\` (404), which an account is to people who do not belong to it,
  and everything of operators to others. With each route stand those beside them.
- **Secrets** are in the answer that makes them and in no other.
- Fields may be added to answers.

${inTables}
`;
