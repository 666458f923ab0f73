// The operator's redemption codes: created, shown once, listed, voided.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { type Code, type CodeState, codeStates, listCodes, type CodesCreated, voidCodes } from '../../../api/codes.js';
import { codesText } from '../../../i18n/codes.js';
import { useText } from '../../../i18n/text.js';
import { Badge } from '../../../ui/badge.js';
import { CreateButton } from '../../../ui/button.js';
import { ConfirmDialog } from '../../../ui/dialog.js';
import { Card, Empty, PageHeader } from '../../../ui/layout.js';
import { ActionMenu } from '../../../ui/menu.js';
import { ErrorNotice } from '../../../ui/notice.js';
import { Segmented } from '../../../ui/segmented.js';
import { DataTable } from '../../../ui/table.js';
import { toast } from '../../../ui/toasts/toast.js';
import { When } from '../../../ui/values.js';
import { Listed } from '../../billing/parts.js';
import { MadeCodesDialog, MakeCodesDialog } from './make-codes.js';

const codesKey = ['codes'] as const;
/** The states that the API can filter by; an expired code is open there. */
const searchable = codeStates.filter((state) => state !== 'expired');

/** The code or batch to be voided. */
interface Voiding {
  readonly code: Code;
  readonly wholeBatch: boolean;
}

export default function Codes() {
  const t = useText(codesText);
  const client = useQueryClient();
  const [params, setParams] = useSearchParams();
  const state = searchable.find((each) => each === params.get('state')) ?? 'all';
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<CodesCreated>();
  const [voiding, setVoiding] = useState<Voiding>();
  const refresh = () => client.invalidateQueries({ queryKey: codesKey });
  const voids = useMutation({
    mutationFn: ({ code, wholeBatch }: Voiding) => voidCodes(wholeBatch ? code.batch_id : code.id),
    onSuccess: ({ voided }) => toast(t.voided({ count: voided })),
    onSettled: async () => {
      setVoiding(undefined);
      await refresh();
    },
  });
  const make = <CreateButton onClick={() => setMaking(true)}>{t.make}</CreateButton>;
  return (
    <>
      <PageHeader title={t.title} description={t.description} actions={make} />
      <div className="mb-4">
        <Segmented
          label={t.state}
          value={state}
          onChange={(next) => setParams(next === 'all' ? {} : { state: next }, { replace: true })}
          options={[{ value: 'all', label: t.all }, ...searchable.map((each) => ({ value: each, label: t[each] }))]}
        />
      </div>
      {voids.error !== null && <ErrorNotice error={voids.error} />}
      <Listed queryKey={[...codesKey, state]} fetch={(cursor, signal) => listCodes(state === 'all' ? '' : state, cursor, signal)}>
        {(pages) => {
          const codes = pages.flatMap(({ data }) => data);
          if (codes.length > 0) return <CodeTable codes={codes} onVoid={setVoiding} />;
          if (state !== 'all') return <Empty title={t.noneOfState} />;
          return (
            <Empty title={t.none} action={make}>
              {t.noneHint}
            </Empty>
          );
        }}
      </Listed>
      <MakeCodesDialog
        open={isMaking}
        onClose={() => {
          setMaking(false);
          // The codes of a lost response are in the list.
          void refresh();
        }}
        onMade={(codes) => {
          setMaking(false);
          setMade(codes);
          void refresh();
        }}
      />
      {made !== undefined && <MadeCodesDialog made={made} onClose={() => setMade(undefined)} />}
      <ConfirmDialog
        open={voiding !== undefined}
        onClose={() => setVoiding(undefined)}
        onConfirm={() => voiding !== undefined && voids.mutate(voiding)}
        title={voiding?.wholeBatch === true ? t.voidBatchTitle : t.voidTitle({ lastFour: voiding?.code.last_four ?? '' })}
        description={t.voidAbout}
        confirm={t.voidCode}
        busy={voids.isPending}
      />
    </>
  );
}

const looks = {
  open: ['info', 'open'],
  claimed: ['warn', 'changing'],
  redeemed: ['good', 'ok'],
  void: ['plain', 'stopped'],
  expired: ['plain', 'waiting'],
} as const satisfies Record<CodeState, readonly [string, string]>;

function CodeTable({ codes, onVoid }: { codes: readonly Code[]; onVoid: (voiding: Voiding) => void }) {
  const t = useText(codesText);
  return (
    <Card flush>
      <DataTable
        caption={t.codes}
        rows={codes}
        rowKey={({ id }) => id}
        columns={[
          { name: t.code, cell: ({ last_four }) => <code>…{last_four}</code> },
          {
            name: t.state,
            cell: ({ state }) => (
              <Badge tone={looks[state][0]} icon={looks[state][1]}>
                {t[state]}
              </Badge>
            ),
          },
          { name: t.worth, usd: ({ amount_usd }) => amount_usd },
          {
            name: t.account,
            cell: ({ account_id }) =>
              account_id !== null && (
                <Link to={`/operator/accounts/${account_id}`} className="link wrap-anywhere">
                  <code>{account_id}</code>
                </Link>
              ),
          },
          { name: t.expires, cell: ({ expires_at }) => expires_at !== null && <When at={expires_at} /> },
          {
            name: t.made,
            cell: ({ created_at, created_by }) => (
              <>
                <When at={created_at} />
                {created_by !== null && <span className="block text-sm text-soft wrap-anywhere">{t.by({ name: created_by })}</span>}
              </>
            ),
          },
          { name: t.note, className: 'wrap-anywhere', cell: ({ note }) => note },
          {
            name: t.voidCode,
            hideName: true,
            className: 'num',
            cell: (code) =>
              (code.state === 'open' || code.state === 'expired') && (
                <ActionMenu
                  label={t.actionsOf({ lastFour: code.last_four })}
                  actions={[
                    { label: t.voidCode, danger: true, onSelect: () => onVoid({ code, wholeBatch: false }) },
                    { label: t.voidBatch, danger: true, onSelect: () => onVoid({ code, wholeBatch: true }) },
                  ]}
                />
              ),
          },
        ]}
      />
    </Card>
  );
}
