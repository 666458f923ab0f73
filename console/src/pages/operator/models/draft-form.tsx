// The prices of a draft. Saving shows what the draft would change; it has no effect until it is published.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useId, useState } from 'react';
import { catalogKeys, type TokenClass, putDraft, type WholeModel } from '../../../api/operator-catalog.js';
import { useZone, zoneName } from '../../../format/time.js';
import { commonText } from '../../../i18n/common.js';
import { modelsText } from '../../../i18n/operator-models.js';
import { useText } from '../../../i18n/text.js';
import { useUnitName } from '../../../i18n/units.js';
import { Button } from '../../../ui/button.js';
import { Dialog } from '../../../ui/dialog.js';
import { TextField } from '../../../ui/field.js';
import { fieldError, FormError } from '../../../ui/notice.js';
import { Segmented } from '../../../ui/segmented.js';
import { toast } from '../../../ui/toasts/toast.js';
import { priceClasses } from './price-classes.js';
import { figuresOf, instantOf, type Typed, typedOf, type TypedUnit, typedUnitsOf, unitPricesOf, wallClock } from './price-form.js';
import { unitFieldPaths, UnitRows } from './unit-rows.js';

/** `onReview` is called instead of `onClose` when the saved draft is to be published. */
export function DraftDialog({ model, onClose, onReview }: { model: WholeModel; onClose: () => void; onReview: () => void }) {
  const t = useText(modelsText);
  const common = useText(commonText);
  const nameOf = useUnitName();
  const zone = useZone();
  const client = useQueryClient();
  const form = useId();
  // As it was when the form was opened: a draft that another operator saves meanwhile must not be replaced unseen.
  const [draft] = useState(model.draft);
  const present = draft ?? model.price;
  const [figures, setFigures] = useState<Typed>(() => typedOf(present?.usd_per_million_tokens));
  const [units, setUnits] = useState<readonly TypedUnit[]>(() => typedUnitsOf(present?.unit_prices));
  const [isLater, setLater] = useState(draft?.effective_from != null);
  const [startBefore] = useState(() => (draft?.effective_from == null ? '' : wallClock(draft.effective_from, zone)));
  const [start, setStart] = useState(startBefore);
  // The wall clock lacks seconds, and shows the hour in which the clocks are set back twice: an unchanged start stays exactly the same.
  const startsAt = start === startBefore ? (draft?.effective_from ?? null) : instantOf(start, zone);
  const [isStartMissing, setStartMissing] = useState(false);
  const save = useMutation({
    async mutationFn({ isReview }: { isReview: boolean }) {
      await putDraft(model.id, {
        usd_per_million_tokens: figuresOf(figures),
        unit_prices: unitPricesOf(units),
        effective_from: isLater ? startsAt : null,
        replaces_version: draft?.version ?? 0,
      });
      return isReview;
    },
    onSuccess: async (isReview) => {
      if (!isReview) toast(t.draftSaved);
      await client.invalidateQueries({ queryKey: catalogKeys.all });
      (isReview ? onReview : onClose)();
    },
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const isMissing = isLater && startsAt === null;
    setStartMissing(isMissing);
    if (!isMissing) save.mutate({ isReview: event.nativeEvent.submitter?.dataset['review'] !== undefined });
  };
  const fieldOf = (name: TokenClass): string => `usd_per_million_tokens.${name}`;
  return (
    <Dialog
      onClose={onClose}
      wide
      title={t.draftFormTitle({ id: model.id })}
      description={t.draftFormHint}
      footer={
        <>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button type="submit" form={form} busy={save.isPending}>
            {t.saveDraft}
          </Button>
          <Button look="primary" type="submit" form={form} busy={save.isPending} data-review>
            {t.review}
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={submit} className="flex flex-col gap-4">
        <div className="grid gap-4 sm:grid-cols-2">
          {priceClasses.map((name) => (
            <TextField
              key={name}
              label={nameOf(name)}
              hint={name === 'reasoning' ? t.reasoningHint : name.startsWith('cache') ? t.cacheHint : undefined}
              inputMode="decimal"
              required={name === 'input' || name === 'output'}
              value={figures[name]}
              onChange={(event) => setFigures({ ...figures, [name]: event.target.value })}
              error={fieldError(save.error, fieldOf(name))}
            />
          ))}
        </div>
        <UnitRows units={units} onChange={setUnits} error={save.error} />
        <div className="flex flex-wrap items-end gap-4">
          <div className="flex flex-col gap-1">
            <span className="text-sm font-medium">{t.startsWhen}</span>
            <Segmented
              label={t.startsWhen}
              value={isLater ? 'later' : 'now'}
              onChange={(value) => setLater(value === 'later')}
              options={[
                { value: 'now', label: t.startsNow },
                { value: 'later', label: t.startsLater },
              ]}
            />
          </div>
          {isLater && (
            <TextField
              // With the offset of the zone at that time, which may differ from the current one.
              label={t.startAt({ zone: zoneName(zone, new Date(startsAt ?? Date.now())) })}
              type="datetime-local"
              value={start}
              onChange={(event) => setStart(event.target.value)}
              error={
                isStartMissing
                  ? t.startMissing
                  : (fieldError(save.error, 'effective_from') ?? fieldError(save.error, 'price.effective_from_ms'))
              }
            />
          )}
        </div>
        <FormError
          error={save.error}
          fields={[
            ...priceClasses.map(fieldOf),
            ...unitFieldPaths(units),
            ...(isLater ? ['effective_from', 'price.effective_from_ms'] : []),
          ]}
        />
      </form>
    </Dialog>
  );
}
