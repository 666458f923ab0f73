// Creates a management key, and shows its secret once.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { accountScopes, type Scope, scopes } from '../../../../proto/rules/access/scopes.js';
import { createManagementKey } from '../../api/management-keys.js';
import { clientBaseUrl } from '../../base.js';
import { useZone } from '../../format/time.js';
import { keysText } from '../../i18n/keys.js';
import { managementKeysText } from '../../i18n/management-keys.js';
import { projectsText } from '../../i18n/projects.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { CodeBlock } from '../../ui/code-block.js';
import { FormDialog } from '../../ui/dialog.js';
import { CheckField, SelectField, TextAreaField, TextField, useFieldError } from '../../ui/field.js';
import { fieldError, FormError } from '../../ui/notice.js';
import { ExpiryField } from '../keys/form/expiry-field.js';
import { addressesOf, type ExpiryForm, expiryOf } from '../keys/form/key-form.js';
import { SecretDialog } from '../keys/secret/secret-dialog.js';
import { useProjects } from '../projects/queries.js';
import { managementKeysKey } from './queries.js';

interface Form extends ExpiryForm {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly project: string;
  readonly addresses: string;
}

const emptyForm: Form = { name: '', scopes: [], project: '', addresses: '', expiry: '90', expiresAt: '' };

export function CreateManagementKey({ onClose }: { onClose: () => void }) {
  const account = useAccount();
  const zone = useZone();
  const [t, keys, projectWords] = [useText(managementKeysText), useText(keysText), useText(projectsText)];
  const client = useQueryClient();
  const nameRef = useRef<HTMLInputElement>(null);
  const [form, setForm] = useState(emptyForm);
  const [isChecked, setChecked] = useState(false);
  const projects = useProjects().data?.filter(({ deleted_at }) => deleted_at === null) ?? [];
  const change = (changes: Partial<Form>) => setForm({ ...form, ...changes });
  const granted = scopes.filter((scope) => form.scopes.includes(scope) && (form.project === '' || !accountScopes.includes(scope)));
  const expiry = expiryOf(form, zone, Date.now());
  const faults = {
    name: form.name.trim() === '' ? keys.faultMissing : undefined,
    scopes: granted.length === 0 ? t.faultScopes : undefined,
    expiry:
      expiry === undefined ? keys.faultExpiryForm : expiry !== null && expiry.getTime() <= Date.now() ? keys.faultExpiryPast : undefined,
  };
  const creation = useMutation({
    mutationFn: () =>
      createManagementKey(account.id, {
        name: form.name.trim(),
        scopes: granted,
        project_id: form.project === '' ? null : form.project,
        allowed_addresses: addressesOf(form),
        expires_at: expiry?.toISOString() ?? null,
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: managementKeysKey(account.id) }),
  });
  const error = (field: keyof typeof faults, ofApi: string) => (isChecked ? faults[field] : undefined) ?? fieldError(creation.error, ofApi);
  const [scopesError, onScopesInput] = useFieldError(error('scopes', 'scopes'));
  if (creation.data !== undefined) {
    const { key, secret } = creation.data;
    // Something that the key may read.
    const [what = ''] = key.scopes[0]!.split(':');
    const path = { usage: 'usage/records', billing: 'balance' }[what] ?? what;
    const code = `curl ${clientBaseUrl}/console/api/accounts/${account.id}/${path} \\\n  -H "Authorization: Bearer ${secret}"`;
    return (
      <SecretDialog title={t.revealTitle} name={key.name} secret={secret} onClose={onClose}>
        {(onCopied) => (
          <section>
            <h3 className="mb-2">{t.sample}</h3>
            <CodeBlock code={code} label={t.sample} onCopied={onCopied} />
          </section>
        )}
      </SecretDialog>
    );
  }

  function submit(): void {
    setChecked(true);
    if (Object.values(faults).some((fault) => fault !== undefined) || creation.isPending) return;
    creation.mutate();
  }

  return (
    <FormDialog
      onClose={onClose}
      title={t.createTitle}
      initialFocus={nameRef}
      submit={t.create}
      busy={creation.isPending}
      onSubmit={submit}
      noValidate
    >
      <FormError error={creation.error} fields={['name', 'scopes', 'expires_at', 'allowed_addresses']} />
      <TextField
        ref={nameRef}
        label={keys.name}
        hint={t.nameHint}
        error={error('name', 'name')}
        required
        maxLength={200}
        value={form.name}
        onChange={(event) => change({ name: event.target.value })}
      />
      {projects.length > 1 && (
        <SelectField
          label={projectWords.project}
          value={form.project}
          onChange={(project) => change({ project })}
          options={[{ value: '', label: t.allProjects }, ...projects.map(({ id, name }) => ({ value: id, label: name }))]}
        />
      )}
      <fieldset
        className="flex flex-col gap-2.5"
        onInput={onScopesInput}
        aria-describedby={scopesError === undefined ? undefined : 'scopes-error'}
      >
        <legend className="mb-1 text-sm font-medium">
          {t.scopes} <span className="font-normal text-soft">· {t.scopesHint}</span>
        </legend>
        {scopes.map((scope) => {
          const isOff = form.project !== '' && accountScopes.includes(scope);
          return (
            <CheckField
              key={scope}
              label={
                <>
                  <code>{scope}</code> {t[scope]}
                </>
              }
              hint={isOff ? t.accountOnly : undefined}
              disabled={isOff}
              checked={granted.includes(scope)}
              onChange={(isOn) => change({ scopes: isOn ? [...form.scopes, scope] : form.scopes.filter((each) => each !== scope) })}
            />
          );
        })}
        {scopesError !== undefined && (
          <p id="scopes-error" className="text-sm text-bad">
            {scopesError}
          </p>
        )}
      </fieldset>
      <ExpiryField form={form} onChange={change} error={error('expiry', 'expires_at')} />
      <TextAreaField
        label={keys.addresses}
        hint={keys.addressesHint}
        error={fieldError(creation.error, 'allowed_addresses')}
        optional
        spellCheck={false}
        value={form.addresses}
        onChange={(event) => change({ addresses: event.target.value })}
      />
    </FormDialog>
  );
}
