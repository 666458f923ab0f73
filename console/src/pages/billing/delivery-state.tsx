// The state of a mail or a webhook request.
import { Badge } from '../../ui/badge.js';

const looks = {
  pending: { tone: 'info', icon: 'waiting' },
  delivered: { tone: 'good', icon: 'ok' },
  failed: { tone: 'bad', icon: 'fault' },
  withdrawn: { tone: 'plain', icon: 'stopped' },
} as const;

/** `texts` has the name of each state in the language of the page. */
export function DeliveryState({ state, texts }: { state: keyof typeof looks; texts: Readonly<Record<keyof typeof looks, string>> }) {
  return (
    <Badge tone={looks[state].tone} icon={looks[state].icon}>
      {texts[state]}
    </Badge>
  );
}
