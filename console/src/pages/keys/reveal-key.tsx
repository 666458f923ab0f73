// Shows a secret, once. It cannot be lost by accident: neither Escape, nor a click outside, nor navigation closes it before the
// secret was copied, or the user confirms that it is saved.
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { KeyRotated } from '../../api/keys.js';
import { clientBaseUrl } from '../../base.js';
import { storedChoice } from '../../format/stored-choice.js';
import { keysText } from '../../i18n/keys.js';
import { useText } from '../../i18n/text.js';
import { Button } from '../../ui/button.js';
import { CodeBlock } from '../../ui/code-block.js';
import { CopyButton } from '../../ui/copy.js';
import { Dialog } from '../../ui/dialog.js';
import { Notice } from '../../ui/notice.js';
import { Tabs } from '../../ui/tabs.js';
import { FirstCall } from './first-call.js';
import { useCatalog } from './queries.js';
import { sampleIds, samplesFor } from './samples.js';
import { suggestedModel } from './suggested-model.js';
import { useStaying } from '../../session/staying.js';

/** A secret that has just been created. */
export interface Revealed extends KeyRotated {
  /** Of a rotation, when it was; absent for a new key. */
  readonly since?: string;
}

const sampleChoice = storedChoice('tollgate.sample', sampleIds, () => 'curl');

export function RevealKeyDialog({ revealed, onClose }: { revealed: Revealed; onClose: () => void }) {
  const { key, secret, since } = revealed;
  const t = useText(keysText);
  const shown = useRef<HTMLElement>(null);
  const [isCopied, setCopied] = useState(false);
  const model = useSampleModel(key.models);
  useStaying(!isCopied);
  return (
    <Dialog
      open
      sticky={!isCopied}
      wide
      onClose={onClose}
      title={since === undefined ? t.revealCreated : t.revealRotated}
      description={t.revealOnce}
      footer={
        <>
          {!isCopied && <p className="mr-auto self-center text-sm text-soft">{t.notSaved}</p>}
          <Button look={isCopied ? 'primary' : 'secondary'} onClick={onClose}>
            {t.saved}
          </Button>
        </>
      }
    >
      <p className="mb-1 text-sm font-medium">
        {t.secret} · {key.name}
      </p>
      <div className="mb-4 flex flex-wrap items-center gap-2 rounded-md border border-edge bg-panel p-2.5">
        <code ref={shown} data-testid="secret" className="min-w-0 flex-1 basis-72 wrap-anywhere select-all">
          {secret}
        </code>
        <CopyButton look="primary" text={secret} label={t.copyKey} source={shown} onCopied={() => setCopied(true)} />
      </div>
      <Notice tone="warn">{t.advice}</Notice>
      <FirstCall apiKey={key} since={since} model={model} />
      <Samples secret={secret} model={model} onCopied={() => setCopied(true)} />
    </Dialog>
  );
}

function Samples({ secret, model, onCopied }: { secret: string; model: string; onCopied: () => void }) {
  const t = useText(keysText);
  const choice = useSyncExternalStore(sampleChoice.subscribe, sampleChoice.get);
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
  // As it was when the dialog opened: samples that are being copied must not change.
  const [chosen, choose] = useState<string>();
  const candidates = allowed === null ? available : allowed.filter((id) => available.length === 0 || available.includes(id));
  const best = suggestedModel(candidates) ?? allowed?.[0];
  useEffect(() => {
    if (best !== undefined && available.length > 0) choose((before) => before ?? best);
  }, [best, available.length]);
  return chosen ?? best ?? 'sandbox/echo';
}
