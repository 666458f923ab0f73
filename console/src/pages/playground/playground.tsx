// The playground: one or two models side by side, charged to a key of the account.
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, type KeyboardEvent, useState } from 'react';
import { useSearchParams } from 'wouter';
import { api, type Page } from '../../api/client.js';
import { type CatalogModel, listCatalog } from '../../api/models.js';
import { playgroundText } from '../../i18n/playground.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { Button, ButtonLink } from '../../ui/button.js';
import { Disclosure } from '../../ui/disclosure.js';
import { CheckField, SelectField, TextAreaField, TextField } from '../../ui/field.js';
import { Card, Empty, PageHeader } from '../../ui/layout.js';
import { Fetched } from '../../ui/query.js';
import { suggestedModel } from '../keys/secret/suggested-model.js';
import { Answer } from './answer.js';
import { type CallSettings, type Exchange, useConversation } from './conversation.js';

interface CallableKey {
  readonly id: string;
  readonly name: string;
  readonly project_id: string;
  readonly last_four: string;
  readonly models: readonly string[] | null;
  readonly refusing: object | null;
}

export default function Playground() {
  const t = useText(playgroundText);
  const account = useAccount();
  const mayCall = account.can('change keys');
  const keys = useQuery({
    queryKey: ['keys', account.id, 'callable'],
    queryFn: async ({ signal }) => {
      const query = { limit: 200, state: 'active,rotating' };
      const { data } = await api.get<Page<CallableKey>>(`/accounts/${account.id}/keys`, { signal, query });
      return data.filter(({ project_id }) => account.can('change keys', project_id));
    },
    enabled: mayCall,
  });
  const models = useQuery({ queryKey: ['catalog'], queryFn: ({ signal }) => listCatalog(signal), enabled: mayCall });
  return (
    <>
      <PageHeader title={t.title} description={t.description} />
      {!mayCall ? (
        <Empty title={t.notAllowed} />
      ) : (
        <Fetched query={keys}>
          {(usable) =>
            usable.length === 0 ? (
              <Empty
                title={t.noKeys}
                action={
                  <ButtonLink look="primary" to={account.path('/keys')}>
                    {t.makeKey}
                  </ButtonLink>
                }
              >
                {t.noKeysHint}
              </Empty>
            ) : (
              <Fetched query={models}>
                {(all) => (
                  <Table
                    keys={usable}
                    models={all.filter(({ available, output_modalities }) => available && output_modalities.includes('text'))}
                  />
                )}
              </Fetched>
            )
          }
        </Fetched>
      )}
    </>
  );
}

function Table({ keys, models }: { keys: readonly CallableKey[]; models: readonly CatalogModel[] }) {
  const t = useText(playgroundText);
  const { id: accountId } = useAccount();
  const [params, setParams] = useSearchParams();
  const wanted = params.get('model') ?? '';
  const mayCall = (key: CallableKey, model: string): boolean => key.models === null || key.models.includes(model);
  // A user who comes from a model's page needs a key that may call it. A key whose calls are being refused is chosen only if there is no other.
  const [keyId, setKeyId] = useState(() => {
    const able = keys.filter((each) => wanted === '' || mayCall(each, wanted));
    return (able.find(({ refusing }) => refusing === null) ?? able[0] ?? keys[0]!).id;
  });
  const key = keys.find(({ id }) => id === keyId) ?? keys[0]!;
  const callable = models.filter(({ id }) => mayCall(key, id));
  const [chosenSecond, setChosenSecond] = useState('');
  const [isComparing, setComparing] = useState(false);
  const [settings, setSettings] = useState<CallSettings>({ system: '', maxTokens: '1024', temperature: '' });
  const [message, setMessage] = useState('');
  // On narrow screens the message would be below all of them.
  const [isWide] = useState(() => matchMedia('(min-width: 64rem)').matches);
  const sides = [useConversation(accountId), useConversation(accountId)] as const;
  const shown = isComparing ? sides : sides.slice(0, 1);
  // The second model may still be running after the comparison was switched off.
  const isRunning = sides.some((side) => side.isRunning);
  const ids = callable.map(({ id }) => id);
  const first = ids.find((id) => id === wanted) ?? suggestedModel(ids) ?? '';
  // The second side begins with a different model than the first, if there is one.
  const second = ids.find((id) => id === chosenSecond) ?? suggestedModel(ids.filter((id) => id !== first)) ?? first;
  const modelOf = (side: number): string => (side === 0 ? first : second);
  const setWanted = (model: string): void => setParams({ model }, { replace: true });
  const set = (change: Partial<CallSettings>): void => setSettings({ ...settings, ...change });

  function send(event?: FormEvent): void {
    event?.preventDefault();
    if (message.trim() === '' || isRunning || callable.length === 0) return;
    shown.forEach((side, index) => void side.ask(key.id, modelOf(index), message, settings));
    setMessage('');
  }

  function onKey(event: KeyboardEvent): void {
    // While an input method composes, Enter chooses a word.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  }

  return (
    <div className="grid gap-5 lg:grid-cols-[16rem_minmax(0,1fr)]">
      <section aria-label={t.settings} className="flex flex-col gap-3">
        <SelectField
          label={t.key}
          value={key.id}
          onChange={setKeyId}
          options={keys.map((each) => ({ value: each.id, label: `${each.name} (…${each.last_four})` }))}
        />
        {shown.map((_, index) => (
          <SelectField
            key={index}
            label={index === 0 ? t.model : t.secondModel}
            value={modelOf(index)}
            onChange={index === 0 ? setWanted : setChosenSecond}
            error={index === 0 && wanted !== '' && wanted !== first ? t.notCallable({ model: wanted }) : undefined}
            options={callable.map(({ id }) => ({ value: id, label: id }))}
          />
        ))}
        <CheckField label={t.compare} checked={isComparing} onChange={setComparing} />
        <Disclosure summary={t.more} open={isWide}>
          <div className="flex flex-col gap-3">
            <TextAreaField
              label={t.system}
              hint={t.systemHint}
              value={settings.system}
              onChange={(event) => set({ system: event.target.value })}
            />
            <TextField
              label={t.maxTokens}
              inputMode="numeric"
              value={settings.maxTokens}
              onChange={(event) => set({ maxTokens: event.target.value.replace(/\D/g, '') })}
            />
            <TextField
              label={t.temperature}
              hint={t.temperatureHint}
              type="number"
              min="0"
              max="2"
              step="0.1"
              value={settings.temperature}
              onChange={(event) => set({ temperature: event.target.value })}
            />
          </div>
        </Disclosure>
      </section>
      <div className="min-w-0">
        <div className={isComparing ? 'grid gap-4 md:grid-cols-2' : ''}>
          {shown.map((side, index) => (
            <Side key={index} label={`${t.conversation}: ${modelOf(index)}`} exchanges={side.exchanges} />
          ))}
        </div>
        <form onSubmit={send} className="sticky bottom-14 mt-4 bg-ground pb-2 md:bottom-0">
          <TextAreaField
            label={t.message}
            hint={t.enterHint}
            value={message}
            onChange={(event) => setMessage(event.target.value)}
            onKeyDown={onKey}
          />
          <div className="mt-2 flex flex-wrap justify-end gap-2">
            <Button onClick={() => sides.forEach((side) => side.clear())} disabled={sides.every((side) => side.exchanges.length === 0)}>
              {t.clear}
            </Button>
            {isRunning ? (
              <Button onClick={() => sides.forEach((side) => side.stop())}>{t.stop}</Button>
            ) : (
              <Button look="primary" type="submit" disabled={message.trim() === ''}>
                {t.send}
              </Button>
            )}
          </div>
        </form>
      </div>
    </div>
  );
}

function Side({ label, exchanges }: { label: string; exchanges: readonly Exchange[] }) {
  const t = useText(playgroundText);
  return (
    <section aria-label={label} className="min-w-0">
      {exchanges.length === 0 ? (
        <Card className="py-8 text-center text-soft">{t.empty}</Card>
      ) : (
        <ul>
          {exchanges.map((exchange) => (
            <Answer key={exchange.id} exchange={exchange} />
          ))}
        </ul>
      )}
    </section>
  );
}
