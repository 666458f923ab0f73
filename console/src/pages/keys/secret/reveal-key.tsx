// Shows the secret of a key, with samples, and confirms the first call.
import { useEffect, useState } from 'react';
import type { KeyWithSecret } from '../../../api/keys.js';
import { clientBaseUrl } from '../../../base.js';
import { storedChoice } from '../../../format/stored-choice.js';
import { keysText } from '../../../i18n/keys.js';
import { useText } from '../../../i18n/text.js';
import { CodeBlock } from '../../../ui/code-block.js';
import { CopyButton } from '../../../ui/copy.js';
import { Tabs } from '../../../ui/tabs.js';
import { FirstCall } from './first-call.js';
import { useCatalog } from '../queries.js';
import { sampleIds, samplesFor } from './samples.js';
import { SecretDialog } from './secret-dialog.js';
import { suggestedModel } from './suggested-model.js';

/** A secret that has just been created. */
export interface Revealed extends KeyWithSecret {
  /** When the key was rotated; absent for a new key. */
  readonly since?: string;
}

const sampleChoice = storedChoice('tollgate.sample', sampleIds, () => 'curl');

export function RevealKeyDialog({ revealed, onClose }: { revealed: Revealed; onClose: () => void }) {
  const { key, secret, since } = revealed;
  const t = useText(keysText);
  const model = useSampleModel(key.models);
  return (
    <SecretDialog title={since === undefined ? t.revealCreated : t.revealRotated} name={key.name} {...{ secret, onClose }}>
      {(onCopied) => (
        <>
          <FirstCall apiKey={key} since={since} model={model} />
          <Samples secret={secret} model={model} onCopied={onCopied} />
        </>
      )}
    </SecretDialog>
  );
}

function Samples({ secret, model, onCopied }: { secret: string; model: string; onCopied: () => void }) {
  const t = useText(keysText);
  const choice = sampleChoice.use();
  return (
    <section>
      <h3 className="mb-2">{t.samples}</h3>
      <div className="mb-3 flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="text-soft">{t.baseAddress}</span>
        <code className="wrap-anywhere">{clientBaseUrl}</code>
        <CopyButton look="ghost" size="small" text={clientBaseUrl} />
      </div>
      <Tabs
        label={t.samples}
        value={choice}
        onChange={(next) => sampleChoice.set(sampleIds.find((id) => id === next) ?? 'curl')}
        tabs={samplesFor({ baseAddress: clientBaseUrl, secret, model }).map(({ id, title, blocks }) => ({
          value: id,
          label: title,
          content: (
            <div className="flex flex-col gap-3">
              {blocks.map(({ file, code }) => (
                <div key={file ?? ''}>
                  <p className="mb-1 text-sm text-soft">{file === undefined ? t.inShell : <code>{file}</code>}</p>
                  <CodeBlock
                    code={code}
                    label={`${t.sampleCode({ title })} (${file ?? t.inShell})`}
                    onCopied={code.includes(secret) ? onCopied : undefined}
                  />
                </div>
              ))}
            </div>
          ),
        }))}
      />
    </section>
  );
}

/** A model for the samples and the test call: one that the key may call, the free one first. */
function useSampleModel(allowed: readonly string[] | null): string {
  const available = (useCatalog().data ?? []).filter((model) => model.available).map(({ id }) => id);
  // Fixed when the dialog opens, because samples must not change while the user copies them.
  const [chosen, choose] = useState<string>();
  const candidates = allowed === null ? available : allowed.filter((id) => available.length === 0 || available.includes(id));
  const best = suggestedModel(candidates) ?? allowed?.[0];
  useEffect(() => {
    if (best !== undefined && available.length > 0) choose((before) => before ?? best);
  }, [best, available.length]);
  return chosen ?? best ?? 'sandbox/echo';
}
