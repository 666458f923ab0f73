// A draft next to the price that it replaces: what changes, what calls would cost, what to review; and publishing it.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import {
  catalogKeys,
  type Change,
  type ComparedDraft,
  discardDraft,
  publishDraft,
  type TypicalCall,
} from '../../../api/operator-catalog.js';
import { exactDigitsOf } from '../../../format/money.js';
import { useNumber } from '../../../format/number.js';
import { useTime } from '../../../format/time.js';
import { modelsText } from '../../../i18n/operator-models.js';
import { useText } from '../../../i18n/text.js';
import { useUnitName } from '../../../i18n/units.js';
import { Badge } from '../../../ui/badge.js';
import { Button } from '../../../ui/button.js';
import { ConfirmDialog } from '../../../ui/dialog.js';
import { Card, Section } from '../../../ui/layout.js';
import { ErrorNotice, FormError, Notice } from '../../../ui/notice.js';
import { DataTable } from '../../../ui/table.js';
import { toast } from '../../../ui/toasts/toast.js';
import { Usd } from '../../../ui/values.js';
import { useWarningText } from './price-words.js';

/** A start within this time means that the price was published to take effect immediately. */
const soonMs = 5000;
const marginMs = 200;

/** The dialogs of a draft. */
export type DraftDialogName = 'edit' | 'publish' | 'discard';

export function DraftPanel({
  draft,
  open,
  onOpen,
}: {
  draft: ComparedDraft;
  open: DraftDialogName | undefined;
  onOpen: (dialog: DraftDialogName | undefined) => void;
}) {
  const t = useText(modelsText);
  const time = useTime();
  const client = useQueryClient();
  const renew = () => client.invalidateQueries({ queryKey: catalogKeys.all });
  const publish = useMutation({
    mutationFn: () => publishDraft(draft.model_id, draft),
    onSuccess: ({ effective_from }) => {
      toast(t.published);
      // A price that replaces another starts a moment later, so that every gateway knows it; then it is shown in force.
      const waitMs = Date.parse(effective_from) - Date.now();
      if (waitMs > 0 && waitMs < soonMs) setTimeout(() => void renew(), waitMs + marginMs);
    },
    // Refreshed even after a refusal, because another operator may have changed it.
    onSettled: async () => {
      onOpen(undefined);
      await renew();
    },
  });
  const discard = useMutation({
    mutationFn: () => discardDraft(draft.model_id, draft.version),
    onSuccess: async () => {
      onOpen(undefined);
      toast(t.discarded);
      await renew();
    },
  });
  const { diff } = draft;
  const start = draft.effective_from === null ? null : time.full(draft.effective_from);
  const isBlocked = diff.warnings.some(({ kind }) => kind === 'start_passed');
  return (
    <Section
      title={t.draft}
      description={
        draft.author === null ? time.relative(draft.updated_at) : t.draftBy({ author: draft.author, when: time.relative(draft.updated_at) })
      }
      actions={
        <>
          <Button onClick={() => onOpen('discard')}>{t.discard}</Button>
          <Button onClick={() => onOpen('edit')}>{t.editDraft}</Button>
          <Button look="primary" onClick={() => onOpen('publish')} disabled={isBlocked}>
            {t.publish}
          </Button>
        </>
      }
    >
      {publish.error !== null && <ErrorNotice error={publish.error} title={t.publishRefused} />}
      <Card className="border-accent">
        <p className="mb-3">
          {t.draftNote} {t.starts}: <strong>{start ?? t.whenPublished}</strong>
        </p>
        <Warnings draft={draft} />
        <h3 className="mt-4 mb-1">{t.whatChanges}</h3>
        <Changes changes={diff.changes} wasPriced={diff.before !== null} />
        <h3 className="mt-5 mb-1">{t.whatCallsCost}</h3>
        <Calls calls={diff.typical_calls} />
      </Card>
      <ConfirmDialog
        open={open === 'publish' && !isBlocked}
        onClose={() => onOpen(undefined)}
        onConfirm={() => publish.mutate()}
        busy={publish.isPending}
        danger={false}
        wide
        title={t.publishTitle}
        description={start === null ? t.publishNow : t.publishLater({ when: start })}
        confirm={t.publishConfirm}
      >
        <Warnings draft={draft} />
        <Changes changes={diff.changes.filter(isChange)} wasPriced={diff.before !== null} />
        <p className="mt-3 text-soft">{t.publishRule}</p>
      </ConfirmDialog>
      <ConfirmDialog
        open={open === 'discard'}
        onClose={() => onOpen(undefined)}
        onConfirm={() => discard.mutate()}
        busy={discard.isPending}
        title={t.discardTitle}
        description={t.discardText}
        confirm={t.discard}
      >
        <FormError error={discard.error} />
      </ConfirmDialog>
    </Section>
  );
}

/** If reasoning is charged as output before and after, it has no separate change. */
function isChange({ unit, before_usd, after_usd, change_percent, before_max_per_call, after_max_per_call }: Change): boolean {
  if (unit === 'reasoning' && before_usd === null && after_usd === null) return false;
  return before_usd !== after_usd || before_max_per_call !== after_max_per_call || (change_percent !== null && change_percent !== '0.00');
}

function Warnings({ draft }: { draft: ComparedDraft }) {
  const t = useText(modelsText);
  const words = useWarningText();
  const { warnings } = draft.diff;
  if (warnings.length === 0) return null;
  return (
    <Notice tone="warn" title={t.lookTwice}>
      <ul className="list-disc pl-5">
        {warnings.map((warning) => (
          <li key={`${warning.kind} ${warning.unit}`}>{words(warning)}</li>
        ))}
      </ul>
    </Notice>
  );
}

function Changes({ changes, wasPriced }: { changes: readonly Change[]; wasPriced: boolean }) {
  const t = useText(modelsText);
  const nameOf = useUnitName();
  const count = useNumber();
  const digits = exactDigitsOf(changes.flatMap(({ before_usd, after_usd }) => [before_usd, after_usd]));
  const figure = (usd: string | null, max: number | null, absent: string) =>
    usd === null ? (
      <span className="text-soft">{absent}</span>
    ) : (
      <>
        <Usd digits={digits} value={usd} />
        {max !== null && <span className="block text-sm font-normal text-soft">{t.mostPerCall({ max: count(max) })}</span>}
      </>
    );
  const absent = (unit: string): string => (unit === 'reasoning' ? t.asOutput : t.removed);
  return (
    <DataTable
      plain
      caption={t.whatChanges}
      rows={changes}
      rowKey={(change) => change.unit}
      columns={[
        { name: t.unit, cell: (change) => nameOf(change.unit) },
        {
          name: t.before,
          numeric: true,
          cell: ({ unit, before_usd, before_max_per_call }) =>
            figure(before_usd, before_max_per_call, wasPriced ? absent(unit) : t.unpriced),
        },
        {
          name: t.after,
          numeric: true,
          cell: ({ unit, after_usd, after_max_per_call }) => (
            <strong className="font-semibold">{figure(after_usd, after_max_per_call, absent(unit))}</strong>
          ),
        },
        { name: t.change, numeric: true, cell: (change) => <Rise change={change} /> },
      ]}
    />
  );
}

/** The change in percent, with a sign and an arrow, so that colour is not the only signal. */
function Rise({ change }: { change: Change }) {
  const t = useText(modelsText);
  const percent = change.change_percent;
  if (percent === null || (change.before_usd === null && change.after_usd === null)) return <span className="text-soft">–</span>;
  if (!isChange(change) || percent === '0.00') return <span className="text-soft">{t.same}</span>;
  const falls = percent.startsWith('-');
  return <Badge tone={falls ? 'good' : 'warn'}>{`${falls ? '↓ −' : '↑ +'}${percent.replace('-', '').replace(/\.?0+$/, '')}%`}</Badge>;
}

function Calls({ calls }: { calls: readonly TypicalCall[] }) {
  const t = useText(modelsText);
  const count = useNumber();
  const nameOf = useUnitName();
  const size = ({ tokens: { input, cache_read, output, reasoning }, units }: TypicalCall): string =>
    t.size({
      input: count(input),
      cached: count(cache_read),
      output: count(output),
      reasoning: count(reasoning),
      units: units.map(({ unit, quantity }) => `${count(quantity)} ${nameOf(unit).toLowerCase()}`).join(', '),
    });
  const digits = exactDigitsOf(calls.flatMap(({ before_usd, after_usd }) => [before_usd, after_usd]));
  return (
    <DataTable
      plain
      caption={t.whatCallsCost}
      rows={calls}
      rowKey={({ name }) => name}
      columns={[
        { name: t.call, cell: size },
        {
          name: t.before,
          numeric: true,
          cell: ({ before_usd }) =>
            before_usd === null ? <span className="text-soft">{t.refused}</span> : <Usd value={before_usd} digits={digits} />,
        },
        { name: t.after, numeric: true, cell: ({ after_usd }) => <Usd value={after_usd} digits={digits} /> },
      ]}
    />
  );
}
