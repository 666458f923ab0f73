// One message and its answer, with its cost and duration.
import { Link } from 'wouter';
import { clientBaseUrl } from '../../base.js';
import { bodyOf } from '../../api/playground.js';
import { durationText } from '../../format/duration.js';
import { useNumber } from '../../format/number.js';
import { playgroundText } from '../../i18n/playground.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { CopyButton } from '../../ui/copy.js';
import { Disclosure } from '../../ui/disclosure.js';
import { Card } from '../../ui/layout.js';
import { ErrorNotice } from '../../ui/notice.js';
import { Usd } from '../../ui/values.js';
import { type Exchange, useFigures } from './conversation.js';

export function Answer({ exchange }: { exchange: Exchange }) {
  const t = useText(playgroundText);
  const account = useAccount();
  const number = useNumber();
  const { data: figures } = useFigures(account.id, exchange);
  return (
    <li className="mb-4">
      <p className="text-sm text-soft">{t.you}</p>
      <p className="mb-2 whitespace-pre-wrap wrap-anywhere">{exchange.question}</p>
      <Card>
        <p className="mb-1 text-sm text-soft">{exchange.model}</p>
        {exchange.reasoning !== '' && (
          <div className="mb-2">
            <Disclosure summary={t.reasoning}>
              <p className="whitespace-pre-wrap wrap-anywhere">{exchange.reasoning}</p>
            </Disclosure>
          </div>
        )}
        {exchange.state === 'waiting' && <p className="text-soft">{t.waiting}</p>}
        <p className="whitespace-pre-wrap wrap-anywhere" data-answer={exchange.state}>
          {exchange.text}
        </p>
        {exchange.state === 'stopped' && <p className="mt-2 text-sm text-warn">{t.stopped}</p>}
        {exchange.state === 'failed' && <ErrorNotice error={exchange.error} />}
        {figures !== undefined && (
          <dl className="mt-3 flex flex-wrap gap-x-5 gap-y-1 border-t border-line pt-2 text-sm">
            <Figure name={t.cost} value={<Usd value={figures.charge_usd} />} />
            <Figure name={t.firstToken} value={figures.first_output_ms === null ? '–' : durationText(figures.first_output_ms)} />
            <Figure name={t.duration} value={durationText(figures.duration_ms)} />
            <Figure name={t.tokens} value={`${number(inputOf(figures.tokens))} / ${number(figures.tokens.output)}`} />
          </dl>
        )}
        <div className="mt-2 flex flex-wrap items-center gap-3">
          {figures !== undefined && exchange.requestId !== undefined && (
            <Link className="link text-sm" to={account.path(`/usage/records/${exchange.requestId}`)}>
              {t.record}
            </Link>
          )}
          <CopyButton look="ghost" size="small" label={t.asCurl} text={curlOf(exchange)} />
        </div>
      </Card>
    </li>
  );
}

function Figure({ name, value }: { name: string; value: React.ReactNode }) {
  return (
    <div>
      <dt className="inline text-soft">{name}</dt> <dd className="inline font-medium tabular">{value}</dd>
    </div>
  );
}

const inputOf = (tokens: { input: number; cache_read: number; cache_write_5m: number; cache_write_1h: number }): number =>
  tokens.input + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h;

/** The same call for a shell, with the key in its environment. */
function curlOf({ call }: Exchange): string {
  const body = JSON.stringify(bodyOf(call)).replaceAll("'", `'\\''`);
  return `curl -sN ${clientBaseUrl}/v1/chat/completions -H "Authorization: Bearer $TOLLGATE_API_KEY" -H 'Content-Type: application/json' -d '${body}'`;
}
