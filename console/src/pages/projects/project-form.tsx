// The dialog that creates or changes a project.
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { newIdempotencyKey } from '../../api/client.js';
import { createProject, type Project, updateProject, type UpdateProject } from '../../api/projects.js';
import { type BudgetRow, budgetRowsOf, budgetsOf, hasBudgetFaults, sameBudgets } from '../../format/budgets.js';
import {
  emptyRateLimits,
  type RateLimitForm,
  rateLimitFaults,
  rateLimitFormOf,
  rateLimitsOf,
  sameRateLimits,
} from '../../format/rate-limits.js';
import { commonText } from '../../i18n/common.js';
import { keysText } from '../../i18n/keys.js';
import { projectsText } from '../../i18n/projects.js';
import { rateLimitsText } from '../../i18n/rate-limits.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { FormDialog } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { fieldError, FormError } from '../../ui/notice.js';
import { Segmented } from '../../ui/segmented.js';
import { toast } from '../../ui/toasts/toast.js';
import { ModelPicker } from '../keys/form/model-picker.js';
import { RateLimitFields } from '../keys/form/rate-limit-fields.js';
import { BudgetFields } from './budget-fields.js';
import { useProjectsChanged } from './queries.js';

const shownFields = ['name', 'models', 'budgets', 'budget_fallback'];

interface Form {
  readonly name: string;
  readonly budgets: readonly BudgetRow[];
  readonly rateLimits: RateLimitForm;
  /** Null: all models. */
  readonly models: readonly string[] | null;
  /** Empty: none. */
  readonly fallbackModel: string;
  readonly fallbackPercent: string;
}

const emptyForm: Form = { name: '', budgets: [], rateLimits: emptyRateLimits, models: null, fallbackModel: '', fallbackPercent: '80' };

const formOf = ({ name, budgets, rate_limits, models, budget_fallback }: Project): Form => ({
  name,
  budgets: budgetRowsOf(budgets),
  rateLimits: rateLimitFormOf(rate_limits),
  models,
  fallbackModel: budget_fallback?.model ?? '',
  fallbackPercent: String(budget_fallback?.from_percent ?? 80),
});

const fallbackOf = ({ fallbackModel, fallbackPercent }: Form): Project['budget_fallback'] =>
  fallbackModel.trim() === '' ? null : { model: fallbackModel.trim(), from_percent: Number(fallbackPercent) };

/** Returns only what differs, so that nothing else is changed. */
function changesOf(before: Form, after: Form): UpdateProject {
  return {
    ...(before.name.trim() === after.name.trim() ? {} : { name: after.name.trim() }),
    ...(sameBudgets(before.budgets, after.budgets) ? {} : { budgets: budgetsOf(after.budgets) }),
    ...(sameRateLimits(before.rateLimits, after.rateLimits) ? {} : { rate_limits: rateLimitsOf(after.rateLimits) }),
    ...(JSON.stringify(fallbackOf(before)) === JSON.stringify(fallbackOf(after)) ? {} : { budget_fallback: fallbackOf(after) }),
    ...(JSON.stringify(before.models) === JSON.stringify(after.models) ? {} : { models: after.models === null ? null : [...after.models] }),
  };
}

/** Creates a project if there is none. */
export function ProjectDialog({ project, onClose }: { project?: Project; onClose: () => void }) {
  const account = useAccount();
  const [t, common, keys, limits] = [useText(projectsText), useText(commonText), useText(keysText), useText(rateLimitsText)];
  const nameRef = useRef<HTMLInputElement>(null);
  const [before] = useState(() => (project === undefined ? emptyForm : formOf(project)));
  const [form, setForm] = useState<Form>(before);
  const [isChecked, setChecked] = useState(false);
  const changed = useProjectsChanged();
  // One idempotency key while the form is unchanged: a request sent twice creates one project.
  const repeat = useRef({ key: newIdempotencyKey(), form });
  const saving = useMutation({
    mutationFn: () => {
      const changes = changesOf(before, form);
      if (project !== undefined)
        return Object.keys(changes).length === 0 ? Promise.resolve(project) : updateProject(account.id, project.id, changes);
      if (repeat.current.form !== form) repeat.current = { key: newIdempotencyKey(), form };
      return createProject(account.id, { ...changes, name: form.name.trim() }, repeat.current.key);
    },
    onSuccess: ({ name }) => {
      changed();
      toast(project === undefined ? t.wasCreated({ name }) : t.wasSaved({ name }));
      onClose();
    },
  });
  const change = (changes: Partial<Form>): void => setForm({ ...form, ...changes });
  const refused = (field: string) => fieldError(saving.error, field);
  const rateFaults = rateLimitFaults(form.rateLimits);
  const hasNoName = form.name.trim() === '';
  const hasNoModels = form.models?.length === 0;

  function submit(): void {
    setChecked(true);
    if (!hasNoName && !hasNoModels && rateFaults.length === 0 && !hasBudgetFaults(form.budgets) && !saving.isPending) saving.mutate();
  }

  return (
    <FormDialog
      wide
      onClose={onClose}
      title={project === undefined ? t.createTitle : t.editTitle({ name: project.name })}
      initialFocus={nameRef}
      submit={project === undefined ? t.create : common.save}
      busy={saving.isPending}
      onSubmit={submit}
      noValidate
    >
      <FormError error={saving.error} fields={shownFields} />
      <TextField
        ref={nameRef}
        label={t.name}
        error={isChecked && hasNoName ? t.faultMissing : refused('name')}
        required
        maxLength={200}
        value={form.name}
        onChange={(event) => change({ name: event.target.value })}
      />
      <BudgetFields rows={form.budgets} onChange={(budgets) => change({ budgets })} isChecked={isChecked} error={refused('budgets')} />
      <div className="grid gap-3 sm:grid-cols-[1fr_8rem]">
        <TextField
          label={t.fallback}
          hint={t.fallbackHint}
          optional
          error={refused('budget_fallback')}
          value={form.fallbackModel}
          onChange={(event) => change({ fallbackModel: event.target.value })}
        />
        {form.fallbackModel !== '' && (
          <TextField
            label={t.fallbackFrom}
            type="number"
            min={1}
            max={100}
            value={form.fallbackPercent}
            onChange={(event) => change({ fallbackPercent: event.target.value })}
          />
        )}
      </div>
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-2 text-sm font-medium">{limits.title}</legend>
        <RateLimitFields
          of="project"
          form={form.rateLimits}
          onChange={(rateLimits) => change({ rateLimits })}
          faults={isChecked ? rateFaults : []}
        />
        <p className="text-sm text-soft">{limits.hint}</p>
      </fieldset>
      <div className="flex flex-col gap-3">
        <div className="flex flex-col items-start gap-1">
          <span className="text-sm font-medium">{keys.accessLabel}</span>
          <Segmented
            label={keys.accessLabel}
            value={form.models === null ? 'all' : 'some'}
            onChange={(access) => change({ models: access === 'all' ? null : (before.models ?? []) })}
            options={[
              { value: 'all', label: keys.accessAll },
              { value: 'some', label: keys.accessSome },
            ]}
          />
        </div>
        {form.models !== null && (
          <ModelPicker
            chosen={form.models}
            onChange={(models) => change({ models })}
            error={isChecked && hasNoModels ? keys.faultModels : refused('models')}
          />
        )}
      </div>
    </FormDialog>
  );
}
