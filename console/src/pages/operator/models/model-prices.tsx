// The prices of a model: the one in force, the draft of the next, and all that were ever published.
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import type { DatedPrice, Figures, WholeModel } from '../../../api/operator-catalog.js';
import { exactDigitsOf } from '../../../format/money.js';
import { useNumber } from '../../../format/number.js';
import { useTime } from '../../../format/time.js';
import { modelsText } from '../../../i18n/operator-models.js';
import { useText } from '../../../i18n/text.js';
import { useUnitName } from '../../../i18n/units.js';
import { Badge } from '../../../ui/badge.js';
import { Button } from '../../../ui/button.js';
import { Card, Section } from '../../../ui/layout.js';
import { ShortId } from '../../../ui/short-id.js';
import { DataTable } from '../../../ui/table.js';
import { Usd, When } from '../../../ui/values.js';
import { DraftDialog } from './draft-form.js';
import { type DraftDialogName, DraftPanel } from './draft-panel.js';
import { priceClasses } from './price-classes.js';

export function ModelPrices({ model }: { model: WholeModel }) {
  const t = useText(modelsText);
  const { price } = model;
  const [params, setParams] = useSearchParams();
  const [open, setOpen] = useState<DraftDialogName>();
  // `?price` opens the form, so that the list of models can lead to it.
  const shown = open ?? (params.has('price') ? 'edit' : undefined);
  const show = (dialog: DraftDialogName | undefined): void => {
    setOpen(dialog);
    if (params.has('price')) setParams({}, { replace: true });
  };
  return (
    <>
      {model.draft !== null && <DraftPanel draft={model.draft} open={shown} onOpen={show} />}
      <Section
        title={t.inForce}
        description={t.perMillion}
        actions={
          model.draft === null && (
            <Button look="primary" onClick={() => show('edit')}>
              {price === null ? t.setPrice : t.changePrice}
            </Button>
          )
        }
      >
        <InForce model={model} />
      </Section>
      <Section title={t.history} description={t.historyHint}>
        {model.prices.length === 0 ? <p className="text-soft">{t.noHistory}</p> : <History prices={model.prices} />}
      </Section>
      {shown === 'edit' && <DraftDialog model={model} onClose={() => show(undefined)} onReview={() => show('publish')} />}
    </>
  );
}

function InForce({ model: { price, pricing } }: { model: WholeModel }) {
  const t = useText(modelsText);
  const count = useNumber();
  const nameOf = useUnitName();
  const time = useTime();
  if (price === null) return <Card className="text-soft">{t.noPrice}</Card>;
  return (
    <Card>
      {pricing === 'free' && <p className="mb-3">{t.freeNow}</p>}
      <dl className="grid grid-cols-2 gap-x-6 gap-y-3 sm:grid-cols-3 lg:grid-cols-6">
        {priceClasses.map((name) => (
          <div key={name}>
            <dt className="text-sm text-soft">{nameOf(name)}</dt>
            <dd className="font-semibold">
              <Figure figures={price.usd_per_million_tokens} name={name} />
            </dd>
          </div>
        ))}
        {price.unit_prices.map(({ unit, usd, max_per_call }) => (
          <div key={unit}>
            <dt className="text-sm text-soft">{nameOf(unit)}</dt>
            <dd className="font-semibold">
              <Usd exact value={usd} />
              {unit !== 'request' && (
                <span className="block text-sm font-normal text-soft">{t.mostPerCall({ max: count(max_per_call) })}</span>
              )}
            </dd>
          </div>
        ))}
      </dl>
      <p className="mt-3 text-sm text-soft">
        <time dateTime={price.effective_from} title={time.full(price.effective_from)}>
          {t.inForceSince({ when: time.minute(price.effective_from) })}
        </time>{' '}
        · <ShortId id={price.id} />
      </p>
    </Card>
  );
}

function Figure({ figures, name, digits }: { figures: Figures; name: keyof Figures; digits?: number }) {
  const t = useText(modelsText);
  const value = figures[name];
  if (value === null) return <span className="font-normal text-soft">{t.asOutput}</span>;
  return <Usd exact={digits === undefined} digits={digits} value={value} />;
}

function History({ prices }: { prices: readonly DatedPrice[] }) {
  const t = useText(modelsText);
  const nameOf = useUnitName();
  const units = [...new Set(prices.flatMap(({ unit_prices }) => unit_prices.map(({ unit }) => unit)))];
  return (
    <Card flush>
      <DataTable
        room="most"
        className="[&_thead_th]:whitespace-normal"
        caption={t.history}
        rows={prices}
        rowKey={({ id }) => id}
        columns={[
          { name: t.from, cell: ({ effective_from }) => <When at={effective_from} /> },
          { name: t.until, cell: ({ effective_until }) => <When at={effective_until} /> },
          { name: t.state, cell: ({ state }) => <State state={state} /> },
          ...priceClasses.map((name) => {
            const digits = exactDigitsOf(prices.map(({ usd_per_million_tokens: figures }) => figures[name]));
            return {
              name: nameOf(name),
              numeric: true,
              cell: (price: DatedPrice) => <Figure figures={price.usd_per_million_tokens} name={name} digits={digits} />,
            };
          }),
          ...units.map((name) => {
            const usd = ({ unit_prices }: DatedPrice) => unit_prices.find(({ unit }) => unit === name)?.usd ?? null;
            const digits = exactDigitsOf(prices.map(usd));
            return { name: nameOf(name), numeric: true, cell: (price: DatedPrice) => <Usd digits={digits} value={usd(price)} /> };
          }),
        ]}
      />
    </Card>
  );
}

function State({ state }: { state: DatedPrice['state'] }) {
  const t = useText(modelsText);
  if (state === 'in_force') {
    return (
      <Badge tone="good" icon="ok">
        {t.stateInForce}
      </Badge>
    );
  }
  return state === 'scheduled' ? (
    <Badge tone="info" icon="waiting">
      {t.stateScheduled}
    </Badge>
  ) : (
    <Badge>{t.statePast}</Badge>
  );
}
