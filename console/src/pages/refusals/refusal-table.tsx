// The rows of refused calls, and one refused call in place of its usage record.
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { getKey } from '../../api/keys.js';
import { listRefusals, type Refusal } from '../../api/refusals.js';
import { gatewayUrl } from '../../base.js';
import { usdText } from '../../format/money.js';
import { useNumber } from '../../format/number.js';
import { errorWords } from '../../i18n/error-text.js';
import { refusalText } from '../../i18n/refusals.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { ButtonLink } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy.js';
import { Card, Facts } from '../../ui/layout.js';
import { Notice, useErrorsFetched } from '../../ui/notice.js';
import { DataTable } from '../../ui/table.js';
import { When } from '../../ui/values.js';
import { KeyLink } from '../billing/parts.js';
import { keyKey } from '../keys/queries.js';
import { useReasonName } from './reasons.js';
import { useMend } from './refusing.js';

/** One line per call; the record page has the details. */
export function RefusalTable({ rows }: { rows: readonly Refusal[] }) {
  const t = useText(refusalText);
  const account = useAccount();
  const reasonName = useReasonName();
  const sentence = useSentence();
  return (
    <Card flush>
      <DataTable
        caption={t.title}
        room="most"
        dense
        className="two-lines of-links"
        rows={rows}
        rowKey={({ request_id }) => request_id}
        columns={[
          {
            name: t.time,
            className: 'line-1',
            cell: ({ refused_at, request_id }) => (
              <Link to={account.path(`/usage/records/${request_id}`)} className="link" title={request_id}>
                <When at={refused_at} style="line" />
              </Link>
            ),
          },
          {
            name: t.reason,
            className: 'line-1 cut share wide',
            cell: ({ reason }) => <span title={reason}>{reasonName(reason)}</span>,
          },
          { name: t.statusCode, numeric: true, cell: ({ status }) => status },
          { name: t.key, className: 'line-2 cut share', cell: ({ key_id }) => <KeyLink keyId={key_id} /> },
          {
            name: t.model,
            className: 'line-2 cut share',
            cell: ({ model, requested_model: requested }) => (
              <span title={model ?? requested ?? undefined}>{model ?? requested ?? '–'}</span>
            ),
          },
          {
            name: t.figures,
            className: 'cut share widest',
            cell: (refusal) => {
              const { text } = sentence(refusal);
              return (
                <span className="text-soft" title={text}>
                  {text}
                </span>
              );
            },
          },
        ]}
      />
    </Card>
  );
}

/** Returns a function that says in the reader's language what was wrong with a call. */
function useSentence(): (refusal: Refusal) => { readonly text: string; readonly detail?: string | undefined } {
  useErrorsFetched();
  return ({ reason, rule, params, param, message }) => errorWords({ code: reason, rule, params, field: param, message: message ?? '' });
}

/** The reasons whose figures are amounts. */
const ofMoney: readonly string[] = ['balance_empty', 'balance_held', 'budget_reached', 'key_limit_reached'];
const figureNames = ['needed', 'available', 'held', 'spent', 'limit', 'credited', 'affordable_output_tokens'] as const;

function OneRefusal({ refusal }: { refusal: Refusal }) {
  const t = useText(refusalText);
  const account = useAccount();
  const count = useNumber();
  const key = useQuery({
    queryKey: keyKey(account.id, refusal.key_id),
    queryFn: ({ signal }) => getKey(account.id, refusal.key_id, signal),
  }).data;
  const mend = useMend();
  const toMend = key === undefined ? undefined : mend(key, refusal.reason);
  const reasonName = useReasonName();
  const { text, detail } = useSentence()(refusal);
  const {
    request_id: id,
    refused_at: at,
    key_id,
    model,
    requested_model: requested,
    reason,
    status,
    param,
    figures,
    retry_after_ms,
  } = refusal;
  return (
    <>
      <Notice
        tone="warn"
        title={`${t.refused}: ${reasonName(reason)}`}
        action={
          toMend !== undefined && (
            <ButtonLink look="primary" to={toMend.to}>
              {toMend.name}
            </ButtonLink>
          )
        }
      >
        <p>{text}</p>
        {detail !== undefined && <p lang="en">{detail}</p>}
        <p>{t.refusedHint}</p>
      </Notice>
      <Card>
        <Facts
          facts={[
            [t.time, <When key="time" at={at} style="full" />],
            [
              t.requestId,
              <span key="id" className="inline-flex flex-wrap items-center gap-2">
                <code className="wrap-anywhere">{id}</code>
                <CopyButton look="ghost" size="small" text={id} />
              </span>,
            ],
            [
              t.reason,
              <span key="why">
                <a className="link" href={`${gatewayUrl}docs/errors/${reason}`}>
                  <code>{reason}</code>
                </a>{' '}
                · {t.status({ status })}
              </span>,
            ],
            [t.key, <KeyLink key="key" keyId={key_id} />],
            (model ?? requested) !== null && [t.model, model ?? requested],
            param !== null && [t.param, <code key="param">{param}</code>],
            // The sentence has the other figures, such as those of a rate limit.
            ...(ofMoney.includes(reason) ? figureNames : []).map((name) => {
              const figure = figures[name];
              return (
                figure !== undefined &&
                ([t[`figure_${name}`], name === 'affordable_output_tokens' ? count(Number(figure)) : usdText(figure)] as const)
              );
            }),
            retry_after_ms !== null && [t.retry, t.retryAfter({ seconds: count(Math.ceil(retry_after_ms / 1000)) })],
          ]}
        />
      </Card>
    </>
  );
}

/** Shows the refusal of a call that has no usage record, or `otherwise` if there is none. */
export function RefusedInstead({ requestId, otherwise }: { requestId: string; otherwise: ReactNode }) {
  const account = useAccount();
  const { data, error } = useQuery({
    queryKey: ['refusals', account.id, 'one', requestId],
    queryFn: ({ signal }) => listRefusals(account.id, { request_id: requestId }, null, signal),
  });
  const refusal = data?.data[0];
  if (refusal === undefined) return data === undefined && error === null ? null : otherwise;
  return <OneRefusal refusal={refusal} />;
}
