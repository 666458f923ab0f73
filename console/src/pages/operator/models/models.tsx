// Every model with its price, and whether calls of it are served.
import { useQuery } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { memo, useDeferredValue, useMemo } from 'react';
import { Link, useSearchParams } from 'wouter';
import { catalogFileUrl, catalogKeys, listModels, type OperatorModel } from '../../../api/operator-catalog.js';
import { useNumber } from '../../../format/number.js';
import { useTime } from '../../../format/time.js';
import { commonText } from '../../../i18n/common.js';
import { modelsText } from '../../../i18n/operator-models.js';
import { useText } from '../../../i18n/text.js';
import { Badge } from '../../../ui/badge.js';
import { buttonClass, ButtonLink, CreateButton } from '../../../ui/button.js';
import { SelectField, TextField } from '../../../ui/field.js';
import { Card, Empty, PageHeader } from '../../../ui/layout.js';
import { Fetched } from '../../../ui/query.js';
import { DataTable } from '../../../ui/table.js';
import { NewModelDialog } from './model-form.js';

const shows = ['offered', 'served', 'unserved', 'drafts', 'retired', 'all'] as const;
type Show = (typeof shows)[number];

const isShown: Record<Show, (model: OperatorModel) => boolean> = {
  offered: ({ state }) => state !== 'retired',
  served: ({ served }) => served,
  unserved: ({ served, state }) => !served && state !== 'retired',
  drafts: ({ draft }) => draft !== null,
  retired: ({ state }) => state === 'retired',
  all: () => true,
};

export default function Models() {
  const t = useText(modelsText);
  const [params, setParams] = useSearchParams();
  const query = useQuery({ queryKey: catalogKeys.models, queryFn: ({ signal }) => listModels(signal) });
  const change = (name: string, value: string): void =>
    setParams(
      (present) => {
        if (value === '') present.delete(name);
        else present.set(name, value);
        return present;
      },
      { replace: name === 'q' },
    );
  return (
    <>
      <PageHeader
        title={t.title}
        description={t.description}
        actions={
          <>
            <a href={catalogFileUrl()} download className={buttonClass()}>
              <Download size={16} aria-hidden />
              {t.download}
            </a>
            <CreateButton onClick={() => change('new', '1')}>{t.newModel}</CreateButton>
          </>
        }
      />
      <Fetched query={query}>
        {({ data }) => <ModelList models={data} words={params.get('q') ?? ''} show={readShow(params.get('show'))} change={change} />}
      </Fetched>
      <NewModelDialog open={params.get('new') === '1'} onClose={() => change('new', '')} />
    </>
  );
}

function readShow(text: string | null): Show {
  return shows.find((each) => each === text) ?? 'offered';
}

function ModelList({
  models,
  words,
  show,
  change,
}: {
  models: readonly OperatorModel[];
  words: string;
  show: Show;
  change: (name: string, value: string) => void;
}) {
  const t = useText(modelsText);
  const common = useText(commonText);
  const showNames: Record<Show, string> = {
    offered: t.showOffered,
    served: t.served,
    unserved: t.showUnserved,
    drafts: t.showDrafts,
    retired: t.retired,
    all: common.all,
  };
  // Typing does not wait for the table, which takes a slow machine more than a second for a thousand models.
  const search = useDeferredValue(words);
  const shown = useMemo(() => {
    const wanted = search.toLowerCase().split(/\s+/);
    return models.filter((model) => {
      const text = [model.id, model.display_name, model.provider, ...model.aliases, ...model.targets.map(({ upstream_id }) => upstream_id)]
        .join('\n')
        .toLowerCase();
      return isShown[show](model) && wanted.every((word) => text.includes(word));
    });
  }, [models, search, show]);
  return (
    <>
      <div className="mb-3 flex flex-wrap items-end gap-3">
        <TextField
          label={common.search}
          type="search"
          placeholder={t.searchHint}
          value={words}
          onChange={(event) => change('q', event.target.value)}
          className="w-full sm:w-72"
        />
        <SelectField
          label={t.show}
          value={show}
          onChange={(value) => change('show', value === 'offered' ? '' : value)}
          options={shows.map((value) => ({ value, label: showNames[value] }))}
          className="w-full sm:w-48"
        />
        <p className="py-2 text-sm text-soft" role="status">
          {t.count({ shown: shown.length, all: models.length })}
        </p>
      </div>
      {shown.length === 0 ? (
        <Empty title={t.noneFit} action={<ButtonLink to="/operator/models?show=all">{t.showAll}</ButtonLink>}>
          {t.noneFitHint}
        </Empty>
      ) : (
        <ModelTable models={shown} />
      )}
    </>
  );
}

const ModelTable = memo(function ModelTable({ models }: { models: readonly OperatorModel[] }) {
  const t = useText(modelsText);
  const common = useText(commonText);
  const count = useNumber();
  return (
    <Card flush>
      <DataTable
        caption={t.title}
        rows={models}
        rowKey={({ id }) => id}
        columns={[
          { name: t.model, className: 'xl:min-w-64', cell: (model) => <Name model={model} /> },
          { name: t.state, cell: (model) => <StateBadges model={model} /> },
          { name: t.input, usd: ({ price }) => price?.usd_per_million_tokens.input ?? null },
          { name: t.output, usd: ({ price }) => price?.usd_per_million_tokens.output ?? null },
          { name: t.context, numeric: true, cell: (model) => count(model.context_limit_tokens) },
          { name: t.targets, cell: (model) => <Targets targets={model.targets} /> },
          { name: common.actions, hideName: true, className: 'num', cell: (model) => <PriceLink model={model} /> },
        ]}
      />
    </Card>
  );
});

function Name({ model: { id, display_name, aliases } }: { model: OperatorModel }) {
  const t = useText(modelsText);
  // The alias without the first part of the id is obvious and not shown.
  const others = aliases.filter((alias) => !id.endsWith(`/${alias}`));
  return (
    <>
      <Link to={`/operator/models/${id}`} className="link">
        {display_name}
      </Link>
      <span className="block text-sm font-normal text-soft wrap-anywhere">
        <code>{id}</code>
        {others.length > 0 && ` · ${t.alias({ names: others.join(', ') })}`}
      </span>
    </>
  );
}

/** Links to the form of the model's price, or to the draft that exists. */
function PriceLink({ model: { id, display_name, state, draft, pricing } }: { model: OperatorModel }) {
  const t = useText(modelsText);
  if (state === 'retired') return null;
  const word = draft !== null ? t.reviewDraft : pricing === 'unpriced' ? t.setPrice : t.changePrice;
  return (
    <Link
      to={`/operator/models/${id}${draft === null ? '?price' : ''}`}
      className="link whitespace-nowrap"
      aria-label={`${word}: ${display_name}`}
    >
      {word}
    </Link>
  );
}

/** Whether calls are served, why not, and what is about to change. */
export function StateBadges({
  model,
}: {
  model: Pick<OperatorModel, 'state' | 'pricing' | 'not_served_because' | 'next_price'> & { draft: object | null };
}) {
  const t = useText(modelsText);
  const time = useTime();
  const reason = model.not_served_because;
  return (
    <span className="flex flex-wrap gap-1">
      {reason === null && (
        <Badge tone="good" icon="ok">
          {t.served}
        </Badge>
      )}
      {reason === 'retired' && <Badge icon="stopped">{t.retired}</Badge>}
      {reason === 'paused' && (
        <Badge tone="warn" icon="paused">
          {t.paused}
        </Badge>
      )}
      {reason === 'no_enabled_upstream' && (
        <Badge tone="warn" icon="fault">
          {t.noUpstream}
        </Badge>
      )}
      {model.pricing === 'unpriced' && (
        <Badge tone="warn" icon="fault">
          {t.unpriced}
        </Badge>
      )}
      {model.pricing === 'free' && <Badge tone="info">{t.free}</Badge>}
      {model.state === 'deprecated' && <Badge tone="warn">{t.deprecated}</Badge>}
      {model.draft !== null && (
        <Badge tone="info" icon="open">
          {t.draft}
        </Badge>
      )}
      {model.next_price !== null && (
        <Badge tone="info" icon="waiting">
          {t.priceComes({ when: time.relative(model.next_price.effective_from) })}
        </Badge>
      )}
    </span>
  );
}

function Targets({ targets }: { targets: OperatorModel['targets'] }) {
  const t = useText(modelsText);
  // A model can have several targets at an upstream.
  return [...new Map(targets.map((target) => [target.upstream_id, target])).values()].map(({ upstream_id, state }) => (
    <span key={upstream_id} className="block">
      {upstream_id}
      {state !== 'ok' && <span className="text-soft"> ({state === 'disabled' ? t.upstreamDisabled : t.upstreamUnknown})</span>}
    </span>
  ));
}
