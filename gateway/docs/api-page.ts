// The two API references, each generated from its OpenAPI document. Pure.
import { consoleOpenapi } from '../console/table/document.js';
import { openapi } from '../formats/openapi.js';
import { type ApiDocument, openapiPage } from './openapi-page.js';

/** Returns the reference of the API for calls, as Markdown. */
export function apiPage(): string {
  return openapiPage(openapi as unknown as ApiDocument, head);
}

/** Returns the reference of the console's API, as Markdown. */
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

What the pages of the [console](console.md) call: users, keys, usage, money, and operators' tasks. All addresses are below \`/console/api\`. The same as a
document for programs: [openapi.json](../console/openapi.json) (OpenAPI ${consoleOpenapi.openapi}). Calls of models are in the [API reference](api.md).

- **Authentication** is a session, a cookie that [sign-in](#sign-in) sets. Each operation says which roles may call it;
  operators may do everything in every account, and have operations of their own.
- **Changes** (every method but \`GET\`) need the header \`x-tollgate-console: 1\`, which other sites cannot make a browser send.
- **Amounts** are decimal strings of USD, exact. Times are RFC 3339, in UTC.
- **Lists** that come in pages have \`next\`: the \`cursor\` of the next page, null on the last one. \`{account}\` is the id of an account.
- **Errors** are an [Error](#error). Its \`code\` is a reason on the page of [errors](errors.md); where a code has many causes, \`rule\` says which one, and
  \`params\` has its facts, so that a program can word the error in any language. Every operation can answer with \`invalid_request\` (400),
  \`session_unknown\` (401), \`role_not_permitted\` (403) and \`not_found\` (404), which is also the answer for accounts of others and, to everyone
  but operators, for operators' paths. Other errors are listed with each operation.
- **Secrets** are only in the answer that creates them.
- Fields may be added to answers.

${inTables}
`;
