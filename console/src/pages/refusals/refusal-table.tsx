// The rows of refused calls, and one refused call in place of its usage record.
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { listRefusals, type Refusal } from '../../api/refusals.js';
import { gatewayUrl } from '../../base.js';
import { useNumber } from '../../format/number.js';
import { errorWords } from '../../i18n/error-text.js';
import { refusalText } from '../../i18n/refusals.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { Card } from '../../ui/layout.js';
import { Notice, useErrorsFetched } from '../../ui/notice.js';
import { DataTable } from '../../ui/table.js';
import { When } from '../../ui/values.js';
import { KeyLink } from '../billing/parts.js';
import { useReasonName } from './reasons.js';

export function RefusalTable({ rows }: { rows: readonly Refusal[] }) {
  const t = useText(refusalText);
  const account = useAccount();
  return (
    <Card flush>
      <DataTable
        caption={t.title}
        room="much"
        rows={rows}
        rowKey={({ request_id }) => request_id}
        columns={[
          {
            name: t.when,
            className: 'min-w-44',
            cell: ({ refused_at, request_id }) => (
              <>
                <Link to={account.path(`/usage/records/${request_id}`)} className="link">
                  <When at={refused_at} style="second" />
                </Link>
                <code className="block font-normal text-soft wrap-anywhere">{request_id}</code>
              </>
            ),
          },
          {
            name: t.keyAndModel,
            className: 'min-w-36 wrap-anywhere',
            cell: ({ key_id, model, requested_model }) => (
              <>
                <KeyLink keyId={key_id} />
                <span className="block text-soft">{model ?? requested_model}</span>
              </>
            ),
          },
          { name: t.why, className: 'wrap-anywhere', cell: (refusal) => <Why refusal={refusal} /> },
          { name: t.figures, className: 'wrap-anywhere', cell: (refusal) => <Figures refusal={refusal} /> },
        ]}
      />
    </Card>
  );
}

/** Shows the reason as a word, and as a sentence in the reader's language. */
function Why({ refusal: { reason, rule, params, param, message, status } }: { refusal: Refusal }) {
  const t = useText(refusalText);
  const reasonName = useReasonName();
  useErrorsFetched();
  const { text, detail } = errorWords({ code: reason, rule, params, field: param, message: message ?? '' });
  return (
    <>
      <span className="font-medium">{reasonName(reason)}</span>{' '}
      <span className="text-soft">
        <a className="link" href={`${gatewayUrl}docs/errors/${reason}`}>
          <code>{reason}</code>
        </a>{' '}
        · {t.status({ status })}
      </span>
      <span className="block">{text}</span>
      {detail !== undefined && (
        <span lang="en" className="block text-sm text-soft">
          {detail}
        </span>
      )}
    </>
  );
}

function Figures({ refusal: { figures, retry_after_ms, param } }: { refusal: Refusal }) {
  const t = useText(refusalText);
  const count = useNumber();
  const lines: ReactNode[] = Object.entries(figures).map(([name, value]) => (
    <span key={name} className="block">
      <code>{name}</code> {value}
    </span>
  ));
  return (
    <span className="text-sm">
      {param !== null && <code className="block">{param}</code>}
      {lines}
      {retry_after_ms !== null && <span className="block">{t.retryAfter({ seconds: count(Math.ceil(retry_after_ms / 1000)) })}</span>}
    </span>
  );
}

/** Shows the refusal of a call that has no usage record, or `otherwise` if there is none. */
export function RefusedInstead({ requestId, otherwise }: { requestId: string; otherwise: ReactNode }) {
  const t = useText(refusalText);
  const account = useAccount();
  const { data, error } = useQuery({
    queryKey: ['refusals', account.id, 'one', requestId],
    queryFn: ({ signal }) => listRefusals(account.id, { request_id: requestId }, null, signal),
  });
  const refusal = data?.data[0];
  if (refusal === undefined) return data === undefined && error === null ? null : otherwise;
  return (
    <>
      <Notice tone="warn" title={t.refused}>
        {t.refusedHint}
      </Notice>
      <RefusalTable rows={[refusal]} />
    </>
  );
}
