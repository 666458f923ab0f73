// How a call ended: a word, an icon and a colour.
import { type Ending, endings } from '../../api/usage.js';
import { usageText } from '../../i18n/usage.js';
import { useText } from '../../i18n/text.js';
import { Badge } from '../../ui/badge.js';

const looks: Record<Ending, { tone: 'good' | 'info' | 'warn' | 'bad'; icon: 'ok' | 'paused' | 'stopped' | 'fault' | 'waiting' }> = {
  completed: { tone: 'good', icon: 'ok' },
  max_tokens: { tone: 'info', icon: 'paused' },
  client_gone: { tone: 'warn', icon: 'stopped' },
  upstream_error_before_output: { tone: 'bad', icon: 'fault' },
  upstream_error_after_output: { tone: 'bad', icon: 'fault' },
  timeout: { tone: 'bad', icon: 'waiting' },
  gateway_error: { tone: 'bad', icon: 'fault' },
  gateway_lost: { tone: 'bad', icon: 'fault' },
};

const isEnding = (text: string): text is Ending => (endings as readonly string[]).includes(text);

/** The words for endings; one that is not known here is told as the API tells it. */
export function useEndingName(): (ending: string) => string {
  const t = useText(usageText);
  return (ending) => (isEnding(ending) ? t[`ending_${ending}`] : ending);
}

/** `wraps`: where there is little room, its words may stand below each other. */
export function EndingBadge({ ending, wraps = false }: { ending: string; wraps?: boolean }) {
  const name = useEndingName()(ending);
  return (
    <Badge wraps={wraps} {...(isEnding(ending) ? looks[ending] : {})}>
      {name}
    </Badge>
  );
}
