// Everything that an operator sets for a model except its prices.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Plus, Trash2 } from 'lucide-react';
import { useId, useState } from 'react';
import { useLocation } from 'wouter';
import {
  catalogKeys,
  createModel,
  listUpstreams,
  type ModelFields,
  type ModelState,
  updateModel,
  type WholeModel,
} from '../../../api/operator-catalog.js';
import { commonText } from '../../../i18n/common.js';
import { modelsText } from '../../../i18n/operator-models.js';
import { useText } from '../../../i18n/text.js';
import { Button, IconButton } from '../../../ui/button.js';
import { Dialog } from '../../../ui/dialog.js';
import {
  type ApiFieldError,
  CheckField,
  type FieldError,
  SelectField,
  TextAreaField,
  TextField,
  useFieldError,
} from '../../../ui/field.js';
import { Form } from '../../../ui/form.js';
import { Card } from '../../../ui/layout.js';
import { atField, FormError } from '../../../ui/notice.js';
import { toast } from '../../../ui/toasts/toast.js';
import { formFaults } from './form-faults.js';

const blank: ModelFields = {
  display_name: '',
  description: '',
  provider: '',
  context_limit_tokens: 128_000,
  output_limit_tokens: 8192,
  input_modalities: ['text'],
  output_modalities: ['text'],
  capabilities: ['tools', 'sampling'],
  targets: [{ upstream_id: '', upstream_model: '' }],
  tokenizer: 'o200k',
  state: 'active',
  image_tokens_max: 0,
  prefix_affinity: true,
  hedge_after_ms: null,
  aliases: [],
};

/** Creates a model and opens its page. */
export function NewModelDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const t = useText(modelsText);
  return (
    <Dialog open={open} onClose={onClose} wide title={t.newModel}>
      {open && <NewModel />}
    </Dialog>
  );
}

function NewModel() {
  const t = useText(modelsText);
  const client = useQueryClient();
  const [, go] = useLocation();
  const [id, setId] = useState('');
  const create = useMutation({
    mutationFn: (fields: ModelFields) => createModel({ id: id.trim(), ...fields }),
    onSuccess: async (model) => {
      toast(t.created);
      go(`/operator/models/${model.id}`);
      await client.invalidateQueries({ queryKey: catalogKeys.all });
    },
  });
  const { at } = formFaults(create.error, 'model', atField);
  return (
    <ModelForm
      initial={blank}
      error={create.error}
      busy={create.isPending}
      submit={t.create}
      onSubmit={(fields) => create.mutate(fields)}
      known={['id']}
    >
      <TextField
        label={t.id}
        hint={t.idHint}
        required
        value={id}
        onChange={(event) => setId(event.target.value)}
        error={at('id')}
        spellCheck={false}
        className="sm:col-span-2"
      />
    </ModelForm>
  );
}

/** Changes a model. */
export function EditModel({ model }: { model: WholeModel }) {
  const t = useText(modelsText);
  const common = useText(commonText);
  const client = useQueryClient();
  const [saved, setSaved] = useState(() => fieldsOf(model));
  const save = useMutation({
    // Only the fields changed in this form: others may have been changed elsewhere since.
    mutationFn: (fields: ModelFields) => updateModel(model.id, differences(saved, fields)),
    onSuccess: async (_changed, fields) => {
      // Not the answer, whose other fields may have been changed elsewhere: the form does not show those.
      setSaved(fields);
      toast(t.saved);
      await client.invalidateQueries({ queryKey: catalogKeys.all });
    },
  });
  return (
    <Card className="max-w-3xl">
      <ModelForm initial={saved} error={save.error} busy={save.isPending} submit={common.save} onSubmit={(fields) => save.mutate(fields)} />
    </Card>
  );
}

interface FormProps {
  readonly initial: ModelFields;
  readonly error: unknown;
  readonly busy: boolean;
  readonly submit: string;
  readonly onSubmit: (fields: ModelFields) => void;
  /** Fields of `children`. */
  readonly known?: readonly string[];
  readonly children?: React.ReactNode;
}

function ModelForm({ initial, error, busy, submit, onSubmit, known = [], children }: FormProps) {
  const t = useText(modelsText);
  const [fields, setFields] = useState(initial);
  const [aliases, setAliases] = useState(initial.aliases.join(' '));
  const put = (changes: Partial<ModelFields>): void => setFields({ ...fields, ...changes });
  const { at, shown } = formFaults(error, 'model', atField);
  const states: Record<ModelState, string> = { active: t.active, deprecated: t.deprecated, retired: t.retired };
  const modalities = [
    ['text', t.text],
    ['image', t.image],
    ['document', t.document],
    ['audio', t.audio],
  ] as const;
  const capabilities = [
    ['tools', t.tools],
    ['reasoning', t.canReason],
    ['structured_output', t.structured_output],
    ['prompt_cache', t.prompt_cache],
    ['sampling', t.sampling],
  ] as const;
  const count = (name: 'context_limit_tokens' | 'output_limit_tokens' | 'image_tokens_max', label: string, hint?: string) => (
    <TextField
      label={label}
      hint={hint}
      type="number"
      min={0}
      step={1}
      required
      value={String(fields[name])}
      onChange={(event) => put({ [name]: Math.trunc(event.target.valueAsNumber || 0) })}
      error={at(name)}
    />
  );
  return (
    <Form
      onSubmit={() => onSubmit({ ...fields, aliases: aliases.split(/[\s,]+/).filter((alias) => alias !== '') })}
      className="grid gap-4 sm:grid-cols-2"
    >
      {children}
      <TextField
        label={t.name}
        required
        value={fields.display_name}
        onChange={(event) => put({ display_name: event.target.value })}
        error={at('display_name')}
      />
      <TextField
        label={t.provider}
        value={fields.provider}
        onChange={(event) => put({ provider: event.target.value })}
        error={at('provider')}
      />
      <TextAreaField
        label={t.descriptionField}
        value={fields.description}
        onChange={(event) => put({ description: event.target.value })}
        error={at('description')}
        className="sm:col-span-2"
      />
      {count('context_limit_tokens', t.contextLimit, t.contextHint)}
      {count('output_limit_tokens', t.outputLimit)}
      <Choices
        legend={t.takes}
        options={modalities}
        chosen={fields.input_modalities}
        onChange={(input_modalities) => put({ input_modalities })}
        error={at('input_modalities')}
      />
      <Choices
        legend={t.gives}
        options={[...modalities, ['embedding', t.embedding]]}
        chosen={fields.output_modalities}
        onChange={(output_modalities) => put({ output_modalities })}
        error={at('output_modalities')}
      />
      <Choices
        legend={t.can}
        options={capabilities}
        chosen={fields.capabilities}
        onChange={(chosen) => put({ capabilities: chosen })}
        error={at('capabilities')}
      />
      <div className="flex flex-col gap-4">
        <SelectField
          label={t.state}
          value={fields.state}
          onChange={(state) => put({ state })}
          options={(['active', 'deprecated', 'retired'] as const).map((value) => ({ value, label: states[value] }))}
          error={at('state')}
        />
        <SelectField
          label={t.tokenizer}
          hint={t.tokenizerHint}
          value={fields.tokenizer}
          onChange={(tokenizer) => put({ tokenizer })}
          options={(['o200k', 'anthropic', 'sandbox'] as const).map((value) => ({ value, label: value }))}
          error={at('tokenizer')}
        />
      </div>
      {count('image_tokens_max', t.imageTokens, t.imageHint)}
      <TextField
        label={t.aliases}
        hint={t.aliasesHint}
        value={aliases}
        onChange={(event) => setAliases(event.target.value)}
        error={at('aliases')}
        spellCheck={false}
      />
      <Targets targets={fields.targets} onChange={(targets) => put({ targets })} at={at} />
      <TextField
        label={t.hedgeAfter}
        hint={t.hedgeAfterHint}
        type="number"
        min={50}
        step={1}
        className="sm:col-span-2"
        value={fields.hedge_after_ms ?? ''}
        onChange={(event) => put({ hedge_after_ms: numberOf(event.target.value) ?? null })}
        error={at('hedge_after_ms')}
      />
      <div className="sm:col-span-2">
        <CheckField
          label={t.prefixAffinity}
          hint={t.prefixAffinityHint}
          checked={fields.prefix_affinity}
          onChange={(prefix_affinity) => put({ prefix_affinity })}
        />
      </div>
      <div className="sm:col-span-2">
        <FormError error={error} fields={[...shown, ...known.map((name) => `model.${name}`)]} />
        <Button type="submit" look="primary" busy={busy}>
          {submit}
        </Button>
      </div>
    </Form>
  );
}

function differences(before: ModelFields, after: ModelFields): Partial<ModelFields> {
  const names = Object.keys(blank) as (keyof ModelFields)[];
  return Object.fromEntries(
    names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name])).map((name) => [name, after[name]]),
  );
}

/** Returns only the fields of the form; a model from the API has more. */
function fieldsOf(model: WholeModel): ModelFields {
  const targets = model.targets.map(({ state: _state, ...target }) => target);
  return Object.fromEntries(
    Object.keys(blank).map((name) => [name, name === 'targets' ? targets : model[name as keyof ModelFields]]),
  ) as unknown as ModelFields;
}

function Choices<W extends string>({
  legend,
  options,
  chosen,
  onChange,
  error,
}: {
  legend: string;
  options: readonly (readonly [W, string])[];
  chosen: readonly W[];
  onChange: (chosen: W[]) => void;
  error: FieldError | undefined;
}) {
  const id = useId();
  const [shown, onInput] = useFieldError(error);
  return (
    <fieldset onInput={onInput} aria-describedby={shown === undefined ? undefined : id}>
      <legend className="text-sm font-medium">{legend}</legend>
      {options.map(([value, label]) => (
        <div key={value} className="flex min-h-8 items-center">
          <CheckField
            label={label}
            checked={chosen.includes(value)}
            onChange={(isOn) => onChange(isOn ? [...chosen, value] : chosen.filter((each) => each !== value))}
          />
        </div>
      ))}
      {shown !== undefined && (
        <p id={id} className="text-sm text-bad">
          {shown}
        </p>
      )}
    </fieldset>
  );
}

/** Returns the typed number; undefined if empty, which means the default. */
const numberOf = (value: string): number | undefined => (value === '' ? undefined : Math.trunc(Number(value)));

function Targets({
  targets,
  onChange,
  at,
}: {
  targets: ModelFields['targets'];
  onChange: (targets: ModelFields['targets']) => void;
  at: (field: string) => ApiFieldError | undefined;
}) {
  const t = useText(modelsText);
  const upstreams = useQuery({ queryKey: catalogKeys.upstreams, queryFn: ({ signal }) => listUpstreams(signal) });
  const put = (index: number, changes: Partial<ModelFields['targets'][number]>): void =>
    onChange(targets.map((target, each) => (each === index ? { ...target, ...changes } : target)));
  const options = (present: string) => {
    const ids = new Set([...(upstreams.data?.data.map(({ id }) => id) ?? []), present].filter((id) => id !== ''));
    return [{ value: '', label: t.chooseUpstream }, ...[...ids].map((id) => ({ value: id, label: id }))];
  };
  return (
    <fieldset className="sm:col-span-2">
      <legend className="text-sm font-medium">{t.targetsTitle}</legend>
      <p className="mb-2 text-sm text-soft">{t.routesHint}</p>
      <ol className="flex flex-col gap-3">
        {targets.map((target, index) => (
          <li key={index} className="flex items-start gap-2">
            <div className="grid flex-1 gap-2 sm:grid-cols-[2fr_2fr_1fr_1fr]">
              <SelectField
                label={t.upstream}
                value={target.upstream_id}
                onChange={(upstream_id) => put(index, { upstream_id })}
                options={options(target.upstream_id)}
                error={at(`targets[${index}].upstream_id`)}
              />
              <TextField
                label={t.upstreamModel}
                value={target.upstream_model}
                onChange={(event) => put(index, { upstream_model: event.target.value })}
                error={at(`targets[${index}].upstream_model`)}
                spellCheck={false}
              />
              <TextField
                label={t.priority}
                type="number"
                min={0}
                step={1}
                placeholder={String(index)}
                value={target.priority ?? ''}
                onChange={(event) => put(index, { priority: numberOf(event.target.value) })}
                error={at(`targets[${index}].priority`)}
              />
              <TextField
                label={t.weight}
                type="number"
                min={1}
                step={1}
                placeholder="1"
                value={target.weight ?? ''}
                onChange={(event) => put(index, { weight: numberOf(event.target.value) })}
                error={at(`targets[${index}].weight`)}
              />
            </div>
            <IconButton
              label={t.removeTarget({ number: index + 1 })}
              className="mt-6"
              onClick={() => onChange(targets.filter((_, each) => each !== index))}
            >
              <Trash2 size={16} aria-hidden />
            </IconButton>
          </li>
        ))}
      </ol>
      {at('targets') !== undefined && <p className="text-sm text-bad">{at('targets')?.text}</p>}
      <Button size="small" className="mt-2" onClick={() => onChange([...targets, { upstream_id: '', upstream_model: '' }])}>
        <Plus size={14} aria-hidden />
        {t.addTarget}
      </Button>
    </fieldset>
  );
}
