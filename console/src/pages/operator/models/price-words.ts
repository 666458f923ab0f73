// The texts of the warnings about a draft.
import type { ComparedDraft } from '../../../api/operator-catalog.js';
import { modelsText } from '../../../i18n/operator-models.js';
import { useText } from '../../../i18n/text.js';
import { useUnitName } from '../../../i18n/units.js';

/** A warning as a sentence. */
export function useWarningText(): (warning: ComparedDraft['diff']['warnings'][number]) => string {
  const t = useText(modelsText);
  const nameOf = useUnitName();
  return ({ kind, unit }) => {
    const name = unit === null ? '' : nameOf(unit);
    switch (kind) {
      case 'free':
        return t.warnFree;
      case 'zero':
        return t.warnZero({ name });
      case 'output_below_input':
        return t.warnOutputBelowInput;
      case 'cache_read_above_input':
        return t.warnCacheReadAboveInput;
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
