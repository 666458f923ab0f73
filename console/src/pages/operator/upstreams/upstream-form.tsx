// Adds or changes an upstream. Its secret is never shown again.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { catalogKeys, createUpstream, updateUpstream, type Upstream, type UpstreamFields } from '../../../api/operator-catalog.js';
import { commonText } from '../../../i18n/common.js';
import { upstreamDialogsText } from '../../../i18n/operator-upstream-dialogs.js';
import { upstreamsText } from '../../../i18n/operator-upstreams.js';
import { differing } from '../../../format/differing.js';
import { useText } from '../../../i18n/text.js';
import { FormDialog } from '../../../ui/dialog.js';
import { CheckField, SelectField, TextField } from '../../../ui/field.js';
import { atField, fieldError, FormError } from '../../../ui/notice.js';
import { Segmented } from '../../../ui/segmented.js';
import { toast } from '../../../ui/toasts/toast.js';
import { UpstreamLimits } from './upstream-limits.js';
import { formFaults } from '../models/form-faults.js';

type SecretChange = 'keep' | 'replace' | 'drop';

const blank: UpstreamFields = {
  api_format: 'chat_completions',
  base_url: '',
  allow_private_network: false,
  enabled: true,
  whole_answers: false,
  allowed_fields: [],
  limits: {},
};

export function UpstreamDialog({ upstream, onClose }: { upstream?: Upstream; onClose: () => void }) {
  const page = useText(upstreamsText);
  const t = useText(upstreamDialogsText);
  const common = useText(commonText);
  const client = useQueryClient();
  const [id, setId] = useState('');
  const [before] = useState<UpstreamFields>(() => (upstream === undefined ? blank : fieldsOf(upstream)));
  const [fields, setFields] = useState(before);
  const [secretChange, setSecretChange] = useState<SecretChange>(upstream?.has_secret === true ? 'keep' : 'replace');
  const [secret, setSecret] = useState('');
  const [fieldNames, setFieldNames] = useState(() => fields.allowed_fields.join(', '));
  const save = useMutation({
    mutationFn: () => {
      if (upstream === undefined) return createUpstream(id.trim(), fields, secret.trim());
      const isUntouched = secretChange === 'keep' || (secretChange === 'replace' && !upstream.has_secret && secret.trim() === '');
      return updateUpstream(upstream.id, changesOf(before, fields), isUntouched ? undefined : secretChange === 'drop' ? '' : secret.trim());
    },
    onSuccess: async () => {
      toast(upstream === undefined ? t.addedNow : t.saved);
      await client.invalidateQueries({ queryKey: catalogKeys.all });
      onClose();
    },
  });
  const put = (changes: Partial<UpstreamFields>): void => setFields({ ...fields, ...changes });
  const { at, shown } = formFaults(save.error, 'upstream', atField);
  const secretFault = fieldError(save.error, 'secret');
  return (
    <FormDialog
      onClose={onClose}
      title={upstream === undefined ? t.addTitle : t.editTitle({ id: upstream.id })}
      submit={upstream === undefined ? page.add : common.save}
      busy={save.isPending}
      onSubmit={() => save.mutate()}
    >
      {upstream === undefined && (
        <TextField
          label={t.id}
          hint={t.idHint}
          required
          value={id}
          onChange={(event) => setId(event.target.value)}
          error={at('id')}
          spellCheck={false}
        />
      )}
      <SelectField
        label={page.format}
        value={fields.api_format}
        onChange={(api_format) => put({ api_format })}
        options={[
          { value: 'chat_completions', label: page.chatCompletions },
          { value: 'messages', label: page.messages },
          { value: 'responses', label: page.responses },
        ]}
      />
      <TextField
        label={t.baseUrl}
        hint={t.baseUrlHint}
        required
        inputMode="url"
        value={fields.base_url}
        onChange={(event) => put({ base_url: event.target.value.trim() })}
        error={at('base_url')}
        spellCheck={false}
      />
      {upstream?.has_secret === true && (
        <div className="flex flex-col items-start gap-1">
          <span className="text-sm font-medium">
            {upstream.secret_last_four === null ? page.secret : t.presentSecret({ lastFour: upstream.secret_last_four })}
          </span>
          <Segmented
            label={page.secret}
            value={secretChange}
            onChange={setSecretChange}
            options={[
              { value: 'keep', label: t.keepSecret },
              { value: 'replace', label: t.replaceSecret },
              { value: 'drop', label: t.dropSecret },
            ]}
          />
          {secretChange !== 'replace' && secretFault !== undefined && <p className="text-sm text-bad">{secretFault.text}</p>}
        </div>
      )}
      {secretChange === 'replace' && (
        <TextField
          label={upstream?.has_secret === true ? t.newSecret : page.secret}
          hint={t.secretHint}
          type="password"
          autoComplete="new-password"
          required={upstream?.has_secret === true}
          value={secret}
          onChange={(event) => setSecret(event.target.value)}
          error={secretFault}
        />
      )}
      <CheckField
        label={t.allowPrivate}
        hint={t.allowPrivateHint}
        checked={fields.allow_private_network}
        onChange={(allow_private_network) => put({ allow_private_network })}
      />
      <CheckField
        label={t.wholeAnswers}
        hint={t.wholeAnswersHint}
        checked={fields.whole_answers}
        onChange={(whole_answers) => put({ whole_answers })}
      />
      <TextField
        label={t.allowedFields}
        hint={t.allowedFieldsHint}
        value={fieldNames}
        onChange={(event) => {
          setFieldNames(event.target.value);
          put({ allowed_fields: event.target.value.split(/[\s,]+/).filter((name) => name !== '') });
        }}
        error={at('allowed_fields')}
        spellCheck={false}
      />
      <UpstreamLimits limits={fields.limits ?? {}} onChange={(limits) => put({ limits })} at={at} />
      <CheckField label={t.use} checked={fields.enabled} onChange={(enabled) => put({ enabled })} />
      <FormError error={save.error} fields={[...shown, 'secret']} />
    </FormDialog>
  );
}

/** Returns only what differs, so that what another operator changes meanwhile is kept. */
function changesOf(before: UpstreamFields, after: UpstreamFields): Partial<UpstreamFields> {
  const { limits, ...fields } = differing(before, after);
  return limits === undefined ? fields : { ...fields, limits: differing(before.limits ?? {}, limits) };
}

function fieldsOf({
  api_format,
  base_url,
  allow_private_network,
  enabled,
  whole_answers,
  allowed_fields,
  limits,
}: Upstream): UpstreamFields {
  return {
    // The sandbox is never edited.
    api_format: api_format === 'sandbox' ? 'chat_completions' : api_format,
    base_url: base_url ?? '',
    allow_private_network,
    enabled,
    whole_answers,
    allowed_fields,
    limits,
  };
}
