// Shown if there are no calls: how to make the first one, or a way to reset a filter that matches nothing.
import { clientBaseUrl } from '../../base.js';
import { usageText } from '../../i18n/usage.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { Button, ButtonLink } from '../../ui/button.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Empty } from '../../ui/layout.js';
import { useCatalog } from '../keys/queries.js';
import { samplesFor } from '../keys/secret/samples.js';
import { suggestedModel } from '../keys/secret/suggested-model.js';
import { useCalledModels, useView } from './use-view.js';
import { filterParts, noFilter, type Range } from './view.js';

/** `widest`: the widest range that the page can show. */
export function NoCalls({ shown, widest }: { shown: Range; widest: Extract<Range, string> }) {
  const t = useText(usageText);
  const [view, change] = useView();
  const models = useCalledModels();
  const isFiltered = filterParts.some((part) => view[part] !== '');
  if (models?.length === 0) return <FirstCall />;
  return (
    <Empty
      title={t.noneFound}
      action={
        <>
          {isFiltered && (
            <Button look="primary" onClick={() => change(noFilter)}>
              {t.clearFilters}
            </Button>
          )}
          {shown !== widest && <Button onClick={() => change({ range: widest })}>{widest === 'all' ? t.showAll : t.showMonths}</Button>}
        </>
      }
    >
      {t.noneFoundHint}
    </Empty>
  );
}

function FirstCall() {
  const t = useText(usageText);
  const account = useAccount();
  const catalog = useCatalog();
  const model = suggestedModel((catalog.data ?? []).filter(({ available }) => available).map(({ id }) => id)) ?? 'sandbox/echo';
  const [sample] = samplesFor({ baseAddress: clientBaseUrl, secret: 'sk-tg-…', model });
  return (
    <Empty
      title={t.noCalls}
      action={
        account.can('change keys') && (
          <ButtonLink look="primary" to={account.path('/keys')}>
            {t.makeKey}
          </ButtonLink>
        )
      }
    >
      <p className="mb-3">{t.noCallsHint}</p>
      <div className="text-left">
        <CodeBlock label={t.sampleCall} code={sample!.blocks.map(({ code }) => code).join('\n')} />
      </div>
    </Empty>
  );
}
