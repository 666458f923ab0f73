// The targets of an upstream with their health in all processes, and the actions with which operators drain or eject them.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { catalogKeys, listTargets, overrideTarget, type OverrideMode } from '../../../api/operator-catalog.js';
import { gatewayUrl } from '../../../base.js';
import { durationText } from '../../../format/duration.js';
import { useNumber } from '../../../format/number.js';
import { targetsText } from '../../../i18n/operator-targets.js';
import { useText } from '../../../i18n/text.js';
import { Badge } from '../../../ui/badge.js';
import { ConfirmDialog } from '../../../ui/dialog.js';
import { ActionMenu } from '../../../ui/menu.js';
import { FormError } from '../../../ui/notice.js';
import { DataTable } from '../../../ui/table.js';
import { toast } from '../../../ui/toasts/toast.js';
import { When } from '../../../ui/values.js';
import { type TargetRow, targetRows } from './target-rows.js';

const refreshMs = 5000;
/** Processes report the targets in service only while an operator looks, so the first answer may lack them. */
const firstRefreshMs = 1000;

interface PendingAction {
  readonly mode: Exclude<OverrideMode, 'return'>;
  readonly row: TargetRow;
}

export function UpstreamTargets({ upstreamId }: { upstreamId: string }) {
  const t = useText(targetsText);
  const number = useNumber();
  const client = useQueryClient();
  const [pending, setPending] = useState<PendingAction>();
  const query = useQuery({
    queryKey: catalogKeys.targets,
    queryFn: ({ signal }) => listTargets(signal),
    refetchInterval: ({ state }) => (state.dataUpdateCount > 1 ? refreshMs : firstRefreshMs),
  });
  const decide = useMutation({
    mutationFn: ({ mode, row: { target, credential } }: { mode: OverrideMode; row: TargetRow }) =>
      overrideTarget(target.upstream_id, target.upstream_model, credential, mode),
    onSuccess: (_target, { mode }) => toast({ drain: t.drainedNow, eject: t.ejectedNow, return: t.returnedNow }[mode]),
    onSettled: async () => {
      setPending(undefined);
      await client.invalidateQueries({ queryKey: catalogKeys.targets });
    },
  });
  const rows = targetRows((query.data?.data ?? []).filter(({ upstream_id }) => upstream_id === upstreamId));
  if (rows.length === 0) return null;
  return (
    <div className="mt-4">
      <h3 className="mb-2 font-medium">{t.title}</h3>
      <DataTable
        caption={t.caption({ id: upstreamId })}
        rows={rows}
        rowKey={({ key }) => key}
        columns={[
          { name: t.target, cell: (row) => <Name row={row} />, className: 'wrap-anywhere' },
          { name: t.state, cell: (row) => <State row={row} nowMs={query.dataUpdatedAt} /> },
          {
            name: t.recent,
            numeric: true,
            cell: ({ calls, failures }) => (calls === 0 ? '–' : t.failuresOf({ failures: number(failures), calls: number(calls) })),
          },
          { name: t.latency, numeric: true, cell: ({ latencyMs }) => (latencyMs === null ? '–' : durationText(latencyMs)) },
          {
            name: t.actions,
            hideName: true,
            cell: (row) => (
              <ActionMenu
                label={t.actionsOf({ model: nameOf(row) })}
                actions={[
                  row.state !== 'drained' && { label: t.drain, onSelect: () => setPending({ mode: 'drain', row }) },
                  row.state !== 'drained' && { label: t.eject, onSelect: () => setPending({ mode: 'eject', row }) },
                  { label: t.return, onSelect: () => decide.mutate({ mode: 'return', row }) },
                ]}
              />
            ),
          },
        ]}
      />
      <FormError error={decide.error} />
      <ConfirmDialog
        open={pending !== undefined}
        onClose={() => setPending(undefined)}
        onConfirm={() => pending !== undefined && decide.mutate(pending)}
        busy={decide.isPending}
        title={
          pending === undefined
            ? ''
            : (pending.mode === 'drain' ? t.drainTitle : t.ejectTitle)({ model: nameOf(pending.row), id: upstreamId })
        }
        description={pending?.mode === 'eject' ? t.ejectText : t.drainText}
        confirm={pending?.mode === 'eject' ? t.eject : t.drain}
      />
    </div>
  );
}

const nameOf = ({ target, credential }: TargetRow): string =>
  [target.upstream_model, ...(credential === null ? [] : [credential])].join(' · ');

function Name({ row: { target, credential } }: { row: TargetRow }) {
  const t = useText(targetsText);
  return credential === null ? (
    <code>{target.upstream_model}</code>
  ) : (
    <span className="font-normal text-soft">
      <code>{target.upstream_model}</code> · {t.credential({ name: credential })}
    </span>
  );
}

const looks = {
  available: { tone: 'good', icon: 'ok' },
  cooling: { tone: 'warn', icon: 'waiting' },
  ejected: { tone: 'bad', icon: 'fault' },
  failing: { tone: 'bad', icon: 'fault' },
  drained: { tone: 'plain', icon: 'paused' },
  unknown: { tone: 'plain', icon: 'open' },
} as const;

function State({ row: { state, worst, processes }, nowMs }: { row: TargetRow; nowMs: number }) {
  const t = useText(targetsText);
  const isOut = state === 'ejected' || state === 'cooling';
  const isWrong = isOut || state === 'failing';
  return (
    <div className="flex flex-col items-start gap-1">
      <span className="flex flex-wrap items-center gap-2">
        <Badge {...looks[state]}>{t[`state_${state}`]}</Badge>
        {isWrong && processes.all > 1 && <span className="text-sm text-soft">{t.inProcesses(processes)}</span>}
      </span>
      {isWrong && worst !== undefined && (
        <p className="text-sm text-soft">
          {worst.cause !== null && t[`cause_${worst.cause}`]}
          {worst.cause !== null && worst.reason !== null && ' · '}
          {worst.reason !== null && (
            <>
              <a className="link" href={`${gatewayUrl}docs/errors/${worst.reason}`}>
                <code>{worst.reason}</code>
              </a>
            </>
          )}
          {isOut && (
            <>
              {(worst.cause !== null || worst.reason !== null) && ' · '}
              {t.since} <When at={worst.since} style="second" /> ·{' '}
              {state === 'ejected' && Date.parse(worst.until ?? '') <= nowMs ? (
                t.trialDue
              ) : (
                <>
                  {state === 'ejected' ? t.nextTrial : t.until} <When at={worst.until} style="second" />
                </>
              )}
            </>
          )}
        </p>
      )}
    </div>
  );
}
