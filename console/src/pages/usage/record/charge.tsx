// The arithmetic of a charge, line by line.
import type { UsageRecord } from '../../../api/usage.js';
import { gatewayUrl } from '../../../base.js';
import { exactDigitsOf, nanoUsdOf } from '../../../format/money.js';
import { useNumber } from '../../../format/number.js';
import { usageText } from '../../../i18n/usage.js';
import { useText } from '../../../i18n/text.js';
import { useUnitName } from '../../../i18n/units.js';
import { Card, Section } from '../../../ui/layout.js';
import { Notice } from '../../../ui/notice.js';
import { DataTable } from '../../../ui/table.js';
import { Usd } from '../../../ui/values.js';

interface Row {
  readonly id: string;
  readonly name: string;
  readonly quantity: string;
  readonly price: string | undefined;
  readonly per: number;
  readonly amount: string;
}

export function RecordCharge({ record }: { record: UsageRecord }) {
  const t = useText(usageText);
  const count = useNumber();
  const nameOf = useUnitName();
  const { line_items: lines, charge_usd: charge, tokens } = record;
  const rows: Row[] = lines.map((line) => ({
    id: line.unit,
    name: nameOf(line.unit),
    quantity: count(line.quantity),
    price: line.price_usd,
    per: line.per,
    amount: line.amount_usd,
  }));
  // Every digit, so that the lines add up on the screen.
  const digits = exactDigitsOf([...lines.map(({ amount_usd }) => amount_usd), charge]);
  return (
    <Section title={t.charge} description={t.chargeAbout}>
      {!addsUp(record) && <Notice tone="bad">{t.linesFault}</Notice>}
      {lines.length === 0 && (
        <p className="mb-3">
          {t.nothingCharged}{' '}
          {tokens.input + tokens.output > 0 && t.usedThough({ input: count(tokens.input), output: count(tokens.output) })}
        </p>
      )}
      <Card flush>
        <DataTable<Row>
          caption={t.charge}
          plain
          rows={[...rows, { id: 'total', name: t.total, quantity: '', price: undefined, per: 1, amount: charge }]}
          rowKey={({ id }) => id}
          columns={[
            { name: t.line, cell: ({ id, name }) => <span className={id === 'total' ? 'font-semibold' : undefined}>{name}</span> },
            { name: t.quantity, numeric: true, cell: (row) => row.quantity },
            {
              name: t.linePrice,
              numeric: true,
              cell: ({ price, per }) =>
                price !== undefined && (
                  <>
                    <Usd exact value={price} /> {per > 1 && <span className="text-soft">{t.perMillionTokens}</span>}
                  </>
                ),
            },
            {
              name: t.amount,
              numeric: true,
              cell: ({ id, amount }) => (
                <span className={id === 'total' ? 'font-semibold' : undefined}>
                  <Usd value={amount} digits={digits} />
                </span>
              ),
            },
          ]}
        />
      </Card>
      {record.price_version !== null && (
        <p className="mt-2 text-sm text-soft">
          {t.priceVersion}:{' '}
          <a className="link" href={`${gatewayUrl}models/${record.model}`}>
            <code>{record.price_version}</code>
          </a>
        </p>
      )}
    </Section>
  );
}

/** Reports whether each line is its quantity times its price, rounded up, and the lines add up to the charge. */
function addsUp({ line_items: lines, charge_usd: charge }: Pick<UsageRecord, 'line_items' | 'charge_usd'>): boolean {
  const isRight = lines.every(
    ({ quantity, price_usd: price, per, amount_usd: amount }) =>
      (BigInt(quantity) * nanoUsdOf(price) + BigInt(per) - 1n) / BigInt(per) === nanoUsdOf(amount),
  );
  return isRight && lines.reduce((sum, { amount_usd: amount }) => sum + nanoUsdOf(amount), 0n) === nanoUsdOf(charge);
}
