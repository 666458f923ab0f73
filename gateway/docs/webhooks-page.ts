// The page about webhooks: the text of docs/webhooks.md, followed by every event with its body, from the table of events. Pure.
import { webhookBody, webhookEvents, webhookEventTypes } from '#rules/webhook-events.js';

const accountId = 'acct_019a6b1c2d3e7f008a9bcadbecfd0e1f';
const id = 'evt_019a6b1c2d3e7f008a9bcadbecfd0e1f';
const atMs = Date.UTC(2027, 0, 31, 12);

/** Returns the page as Markdown. */
export function webhooksPage(text: string): string {
  const sections = webhookEventTypes.map((type) => {
    const { when, isForAll, example: data } = webhookEvents[type];
    const body = webhookBody({ id, type, atMs, accountId: isForAll ? undefined : accountId, data });
    return `### ${type}\n\n${when}${isForAll ? ' It is sent to every account.' : ''}\n\n\`\`\`json\n${JSON.stringify(JSON.parse(body), null, 2)}\n\`\`\`\n`;
  });
  return `${text.trimEnd()}\n\n${sections.join('\n')}`;
}
