// The dialogs that add or edit an endpoint, and show its signing secret.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { type WebhookEventType, webhookEventTypes } from '#rules/webhook-events.js';
import { createWebhook, updateWebhook, type WebhookEndpoint } from '../../api/webhooks.js';
import { gatewayUrl } from '../../base.js';
import { differing } from '../../format/differing.js';
import { commonText } from '../../i18n/common.js';
import { useText } from '../../i18n/text.js';
import { webhooksText } from '../../i18n/webhooks.js';
import { useAccount } from '../../session/account.js';
import { useLeaveGuard } from '../../session/leave-guard.js';
import { Button } from '../../ui/button.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Dialog, FormDialog } from '../../ui/dialog.js';
import { CheckField, TextField } from '../../ui/field.js';
import { fieldError, FormError } from '../../ui/notice.js';

/** Adds an endpoint, or edits one. `onSaved` receives the secret of a new one. */
export function EndpointDialog({
  endpoint,
  onClose,
  onSaved,
}: {
  endpoint?: WebhookEndpoint;
  onClose: () => void;
  onSaved: (secret?: string) => void;
}) {
  const [t, common] = [useText(webhooksText), useText(commonText)];
  const account = useAccount();
  const [url, setUrl] = useState(endpoint?.url ?? '');
  const [description, setDescription] = useState(endpoint?.description ?? '');
  const [types, setTypes] = useState<readonly WebhookEventType[]>(endpoint?.event_types ?? webhookEventTypes);
  const [isChecked, setChecked] = useState(false);
  const saving = useMutation({
    mutationFn: async () => {
      const settings = { url: url.trim(), description, event_types: [...types] };
      if (endpoint === undefined) return (await createWebhook(account.id, settings)).secret;
      await updateWebhook(account.id, endpoint.id, differing(endpoint, settings));
      return undefined;
    },
    onSuccess: onSaved,
  });
  function submit(): void {
    setChecked(true);
    if (types.length > 0 && !saving.isPending) saving.mutate();
  }
  return (
    <FormDialog
      wide
      onClose={onClose}
      title={endpoint === undefined ? t.addTitle : t.editTitle}
      submit={endpoint === undefined ? t.add : common.save}
      busy={saving.isPending}
      onSubmit={submit}
      noValidate
    >
      <FormError error={saving.error} fields={['url', 'description']} />
      <TextField
        label={t.url}
        hint={t.urlHint}
        error={fieldError(saving.error, 'url')}
        type="url"
        required
        placeholder={t.urlForm}
        spellCheck={false}
        value={url}
        onChange={(event) => setUrl(event.target.value)}
      />
      <TextField
        label={t.description}
        error={fieldError(saving.error, 'description')}
        optional
        maxLength={200}
        value={description}
        onChange={(event) => setDescription(event.target.value)}
      />
      <fieldset>
        <legend className="mb-2 text-sm font-medium">{t.events}</legend>
        {isChecked && types.length === 0 && (
          <p role="alert" className="mb-2 text-sm text-bad">
            {t.needsEvent}
          </p>
        )}
        <div className="grid gap-2 sm:grid-cols-2">
          <CheckField
            label={t.allEvents}
            checked={types.length === webhookEventTypes.length}
            onChange={(isChosen) => setTypes(isChosen ? webhookEventTypes : [])}
          />
          {webhookEventTypes.map((type) => (
            <CheckField
              key={type}
              label={type}
              hint={type === 'balance.low' ? t.needsAlert : undefined}
              checked={types.includes(type)}
              onChange={(isChosen) => setTypes(webhookEventTypes.filter((each) => (each === type ? isChosen : types.includes(each))))}
            />
          ))}
        </div>
      </fieldset>
    </FormDialog>
  );
}

/** It cannot be lost by accident, since it is never shown again. */
export function SecretDialog({ secret, onClose }: { secret: string; onClose: () => void }) {
  const t = useText(webhooksText);
  const [isCopied, setCopied] = useState(false);
  useLeaveGuard(!isCopied);
  return (
    <Dialog
      sticky={!isCopied}
      onClose={onClose}
      title={t.secretTitle}
      description={t.secretAbout}
      footer={
        <Button look="primary" onClick={onClose}>
          {t.keptSecret}
        </Button>
      }
    >
      <CodeBlock code={secret} label={t.secretTitle} onCopied={() => setCopied(true)} />
      <p className="mt-3">
        <a className="link" href={`${gatewayUrl}docs/webhooks`} target="_blank" rel="noreferrer">
          {t.docs}
        </a>
      </p>
    </Dialog>
  );
}
