// The page of errors, generated from the tables that render the errors, so that it is always up to date. Pure.
import { AppError } from '#client/errors/app-error.js';
import type { Reason } from '#rules/errors/reasons.js';
import { renderConsoleError } from '../../console/table/error.js';
import { renderError as ofOpenAi, renderings as inOpenAi } from '../../formats/errors/openai-error.js';
import type { Rendering } from '../../formats/errors/error-details.js';
import { renderError as asMessage, renderings as inMessages } from '../../formats/messages/error.js';
import type { DocPage } from '../doc-page.js';
import { once } from '../once.js';
import { type AdviceGroup, adviceOf, callerGroups, consoleGroup, hiddenGroup } from './error-advice.js';

/** Returns the page as Markdown. */
export function errorsPage(): string {
  return [head, ...callerGroups.map(groupText), hiddenText(), consoleText()].join('\n');
}

/** Returns a page for each reason. */
export function errorPages(): DocPage[] {
  const ofCallers = [...callerGroups, hiddenGroup].flatMap(({ reasons }) => reasons);
  return [...ofCallers, ...consoleGroup.reasons].map((reason) => ({
    name: `errors/${reason}`,
    audience: 'callers',
    title: reason,
    description: adviceOf[reason].means.replaceAll('`', ''),
    markdown: once(() => errorPage(reason, ofCallers.includes(reason))),
    isListed: false,
  }));
}

function errorPage(reason: Reason, isOfCallers: boolean): string {
  const { means, todo } = adviceOf[reason];
  // The advice has links relative to the page of errors.
  const text = [`# ${reason}`, means, `**What to do:** ${todo}`].join('\n\n').replace(/\]\((?!https?:)/g, '](../');
  if (!isOfCallers) {
    const { status } = renderConsoleError(new AppError(reason, ''), '');
    return `${text}\n\nThe console's API returns it with status ${status}; calls to models never do. [All errors](../errors.md)\n`;
  }
  const error = new AppError(reason, '…');
  const rows = [
    ['chat-completions, responses, embeddings', inOpenAi[reason]],
    ['messages', inMessages[reason]],
  ] as const;
  return `${text}

| Format | Status | Type | Code | Retry |
|---|---|---|---|---|
${rows.map(([name, each]) => `| ${name} | ${each.status} | \`${each.type}\` | ${codeText(each)} | ${retryWords[each.retry]} |`).join('\n')}

[Whether to retry](../errors.md#whether-to-retry) explains the last column; [errors](../errors.md) lists all reasons.

## In the chat-completions and responses formats

${shown(ofOpenAi(error, 'req_…'))}

## In the messages format

${shown(asMessage(error, 'req_…'))}
`;
}

const exampleMessage =
  'The account balance is held by calls in flight: $0.03 is needed, but only $0.02 is available, and $0.98 is held. Try again when those calls have ended.';
const example = new AppError('balance_held', exampleMessage, {
  details: { available_nano_usd: '20000000', held_nano_usd: '980000000', needed_nano_usd: '30000000' },
  retryAfterMs: 1000,
});

const head = `# Errors

Every error states the problem and the fix in \`message\`, and has one of the reasons below in \`error.reason\`. The reasons are a closed list,
the same in all formats; status, \`type\` and \`code\` are those that the client libraries of each format expect. Programs should
branch on \`reason\`.

A refused call costs nothing. [Charges](charging.md) describes, by outcome, what a call costs if it fails after it began.

In the chat-completions and responses formats, and for embeddings:

${shown(ofOpenAi(example, 'req_…'))}

In the messages format:

${shown(asMessage(example, 'req_…'))}

Amounts are decimal USD. \`request_id\` is also in the headers \`x-request-id\` and \`request-id\`. After a stream has begun, an error is sent as a
frame of the stream with the same object (\`data:\` in the chat-completions format, \`event: error\` in the others); the status is then already 200.

## Whether to retry

By default, the official client libraries behave as this column says, because they follow the status and the headers \`x-should-retry\` and \`retry-after\`.

| Retry | Meaning | Headers |
|---|---|---|
| no | The same request is refused again | \`x-should-retry: false\` |
| conditional | Only if the response says when | \`retry-after\`, or \`x-should-retry: false\` |
| soon | After a second, or when the response says | \`retry-after\` |
| yes | With exponential backoff, or when the response says | \`retry-after\` if it is known |

\`retry-after\` is 1 to 60 seconds. With an [Idempotency-Key](idempotency.md), a retry is never charged twice.
`;

const retryWords: Readonly<Record<Rendering['retry'], string>> = {
  never: 'no',
  conditional: 'conditional',
  later: 'soon',
  'by-status': 'yes',
};

function shown({ status, headers, body }: { status: number; headers: Readonly<Record<string, string>>; body: unknown }): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `\`\`\`text\nHTTP ${status}\n${lines.join('\n')}\n\n${JSON.stringify(body, null, 2)}\n\`\`\``;
}

function groupText({ title, reasons }: AdviceGroup): string {
  return `## ${title}\n\n${overview(reasons)}\n`;
}

/** Returns the status, type and code of each reason in each format. */
function overview(reasons: readonly Reason[]): string {
  const rows = reasons.map((reason) => {
    const [one, other] = [inOpenAi[reason], inMessages[reason]];
    const codes = [...new Set([codeText(one), codeText(other)])].join(' / ');
    const retry = [...new Set([retryWords[one.retry], retryWords[other.retry]])].join(' / ');
    return `| [\`${reason}\`](errors/${reason}.md) | ${one.status} \`${one.type}\` | ${other.status} \`${other.type}\` | ${codes} | ${retry} | ${meaning(reason)} |`;
  });
  return `| Reason | chat-completions, responses | messages | Code | Retry | Meaning |\n|---|---|---|---|---|---|\n${rows.join('\n')}`;
}

function codeText({ code }: Rendering): string {
  return code === null ? 'null' : `\`${code}\``;
}

function meaning(reason: Reason): string {
  return adviceOf[reason].means;
}

function hiddenText(): string {
  const { title, reasons } = hiddenGroup;
  return `## ${title}

These reasons describe internal failures. Callers get the status below with the reason \`internal\` and a fixed message; the details are in the log.

${overview(reasons)}
`;
}

function consoleText(): string {
  const { title, reasons } = consoleGroup;
  const rows = reasons.map(
    (reason) =>
      `| [\`${reason}\`](errors/${reason}.md) | ${renderConsoleError(new AppError(reason, ''), '').status} | ${meaning(reason)} |`,
  );
  return `## ${title}

The API of the console (\`/console/api\`) returns every reason as \`error.code\`, together with \`message\`, \`field\` and \`request_id\`. The following reasons occur nowhere else.

| Code | Status | Meaning |
|---|---|---|
${rows.join('\n')}
`;
}
