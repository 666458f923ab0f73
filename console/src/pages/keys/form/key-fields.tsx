// The fields of a key: its name, and optional fields in collapsed sections.
import type { RefObject } from 'react';
import type { Project } from '../../../api/projects.js';
import { keysText } from '../../../i18n/keys.js';
import { projectsText } from '../../../i18n/projects.js';
import { rateLimitsText } from '../../../i18n/rate-limits.js';
import { useText } from '../../../i18n/text.js';
import { useAccount } from '../../../session/account.js';
import { Disclosure } from '../../../ui/disclosure.js';
import { SelectField, TextAreaField, TextField } from '../../../ui/field.js';
import { fieldError } from '../../../ui/notice.js';
import { Segmented } from '../../../ui/segmented.js';
import { BudgetFields } from '../../projects/budget-fields.js';
import { useProjects } from '../../projects/queries.js';
import { ExpiryField } from './expiry-field.js';
import { addressesMax, budgetsLeft, type KeyForm, type KeyFormFaults } from './key-form.js';
import { ModelPicker } from './model-picker.js';
import { RateLimitFields } from './rate-limit-fields.js';

/** The lifetime budget of a key is its limit. */
const keyPeriods = ['month', 'week', 'day'] as const;

/** `faults` are those found in the browser, `error` is the API's error. */
export function KeyFields({
  form,
  onChange,
  faults,
  error,
  isUnfolded = false,
  nameRef,
}: {
  form: KeyForm;
  onChange: (form: KeyForm) => void;
  faults: KeyFormFaults;
  error: unknown;
  isUnfolded?: boolean;
  nameRef?: RefObject<HTMLInputElement | null>;
}) {
  const t = useText(keysText);
  const rateLimits = useText(rateLimitsText);
  const names = useText(projectsText);
  const account = useAccount();
  const mayUse = ({ id, deleted_at }: Project): boolean => (deleted_at === null && account.can('change keys', id)) || id === form.project;
  const projects = useProjects().data?.filter(mayUse) ?? [];
  const change = (changes: Partial<KeyForm>) => onChange({ ...form, ...changes });
  const refused = (field: string) => fieldError(error, field);
  const nameError = faults.name === undefined ? refused('name') : t.faultMissing;
  const limitError =
    faults.limit_usd === undefined ? refused('limit_usd') : faults.limit_usd === 'zero' ? t.faultLimitZero : t.faultLimitForm;
  const expiryError =
    faults.expires_at === undefined ? refused('expires_at') : faults.expires_at === 'past' ? t.faultExpiryPast : t.faultExpiryForm;
  const modelsError = faults.models === undefined ? refused('models') : t.faultModels;
  const addressesError = faults.allowed_addresses === undefined ? refused('allowed_addresses') : t.faultAddresses({ max: addressesMax });
  return (
    <div className="flex flex-col gap-4">
      <TextField
        ref={nameRef}
        label={t.name}
        hint={t.nameHint}
        error={nameError}
        required
        maxLength={200}
        value={form.name}
        onChange={(event) => change({ name: event.target.value })}
      />
      {projects.length > 1 && (
        <SelectField
          label={names.project}
          error={refused('project_id')}
          value={form.project === '' ? (projects[0]?.id ?? '') : form.project}
          onChange={(project) => change({ project })}
          options={projects.map(({ id, name }) => ({ value: id, label: name }))}
        />
      )}
      <Disclosure
        open={
          isUnfolded ||
          faults.budgets !== undefined ||
          refused('budgets') !== undefined ||
          limitError !== undefined ||
          faults.rate_limits !== undefined ||
          expiryError !== undefined
        }
        summary={<Summary title={t.limits} hint={t.limitsHint} />}
      >
        <div className="flex flex-col gap-4">
          <TextField
            label={t.limit}
            hint={t.limitHint}
            error={limitError}
            optional
            inputMode="decimal"
            value={form.limit}
            onChange={(event) => change({ limit: event.target.value })}
          />
          <BudgetFields
            rows={form.budgets}
            onChange={(budgets) => change({ budgets })}
            isChecked={faults.budgets !== undefined}
            error={refused('budgets')}
            periods={keyPeriods}
            max={budgetsLeft(form)}
          />
          <RateLimitFields
            of="key"
            form={form.rateLimits}
            onChange={(rateLimits) => change({ rateLimits })}
            faults={faults.rate_limits ?? []}
          />
          <p className="-mt-2 text-sm text-soft">{rateLimits.hint}</p>
          <ExpiryField form={form} onChange={change} error={expiryError} />
        </div>
      </Disclosure>
      <Disclosure
        open={isUnfolded || modelsError !== undefined || addressesError !== undefined}
        summary={<Summary title={t.access} hint={t.accessHint} />}
      >
        <div className="flex flex-col gap-3">
          <Segmented
            label={t.accessLabel}
            value={form.access}
            onChange={(access) => change({ access })}
            options={[
              { value: 'all', label: t.accessAll },
              { value: 'some', label: t.accessSome },
            ]}
          />
          {form.access === 'some' && <ModelPicker chosen={form.models} onChange={(models) => change({ models })} error={modelsError} />}
          <TextAreaField
            label={t.addresses}
            hint={t.addressesHint}
            error={addressesError}
            optional
            spellCheck={false}
            value={form.addresses}
            onChange={(event) => change({ addresses: event.target.value })}
          />
        </div>
      </Disclosure>
    </div>
  );
}

function Summary({ title, hint }: { title: string; hint: string }) {
  return (
    <>
      {title} <span className="font-normal text-soft">· {hint}</span>
    </>
  );
}

/** The fields that show their own errors. */
export const shownFields = ['name', 'project_id', 'budgets', 'limit_usd', 'expires_at', 'models', 'allowed_addresses'];
