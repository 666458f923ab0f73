// What the classes of tokens and the warnings of a draft are called.
import type { ComparedDraft, TokenClass } from '../../api/operator-catalog.js';
import { modelsText } from '../../i18n/operator-models.js';
import { useText } from '../../i18n/text.js';

/** The name of each class. */
export function useClassNames(): Record<TokenClass, string> {
  const t = useText(modelsText);
  return {
    input: t.input,
    cache_read: t.cacheRead,
    cache_write_5m: t.cacheWrite5m,
    cache_write_1h: t.cacheWrite1h,
    output: t.output,
    reasoning: t.reasoning,
  };
}

/** A warning as a sentence. */
export function useWarningText(): (warning: ComparedDraft['diff']['warnings'][number]) => string {
  const t = useText(modelsText);
  const names = useClassNames();
  return ({ kind, class: tokenClass }) => {
    const name = tokenClass === null ? '' : names[tokenClass];
    switch (kind) {
      case 'free':
        return t.warnFree;
      case 'zero':
        return t.warnZero({ name });
      case 'output_below_input':
        return t.warnOutputBelowInput;
      case 'large_change':
        return t.warnLargeChange({ name });
      case 'first_price':
        return t.warnFirstPrice;
      case 'no_change':
        return t.warnNoChange;
      case 'start_passed':
        return t.warnStartPassed;
      case 'ended_by_later':
        return t.warnEndedByLater;
    }
  };
}
