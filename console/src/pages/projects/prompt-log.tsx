// Whether a project logs prompts and answers, and whether its account permits that.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { getPrivacy, type Project, updatePrivacy, updateProject } from '../../api/projects.js';
import { commonText } from '../../i18n/common.js';
import { promptLogText } from '../../i18n/prompt-log.js';
import { useText } from '../../i18n/text.js';
import { useAccount, useIsMember } from '../../session/account.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog, FormDialog } from '../../ui/dialog.js';
import { CheckField, TextField } from '../../ui/field.js';
import { Card, Section } from '../../ui/layout.js';
import { ErrorNotice, fieldError, FormError } from '../../ui/notice.js';
import { Fetched } from '../../ui/query.js';
import { toast } from '../../ui/toasts/toast.js';
import { privacyKey, useProjectsChanged } from './queries.js';

const daysDefault = 7;

function usePrivacy() {
  const { id } = useAccount();
  return useQuery({ queryKey: privacyKey(id), queryFn: ({ signal }) => getPrivacy(id, signal) });
}

/** The log of a project, which owners and admins turn on and off. */
export function PromptLogSection({ project }: { project: Project }) {
  const account = useAccount();
  const t = useText(promptLogText);
  const [isEditing, setEditing] = useState(false);
  const query = usePrivacy();
  const isMember = useIsMember();
  const days = project.prompt_log_days;
  const isPossible = query.data?.prompt_logging === true && !query.data.never_log_prompts && (isMember || days !== null);
  const mayChange = account.can('change projects') && project.deleted_at === null && isPossible;
  return (
    <Section title={t.log} actions={mayChange && <Button onClick={() => setEditing(true)}>{t.change}</Button>}>
      <Fetched query={query}>
        {(privacy) => (
          <Card>
            {!privacy.prompt_logging ? t.offHere : privacy.never_log_prompts ? t.neverHere : days === null ? t.off : t.on({ days })}
          </Card>
        )}
      </Fetched>
      {isEditing && <EditDialog project={project} onClose={() => setEditing(false)} />}
    </Section>
  );
}

function EditDialog({ project, onClose }: { project: Project; onClose: () => void }) {
  const account = useAccount();
  const [t, common] = [useText(promptLogText), useText(commonText)];
  const [isOn, setOn] = useState(project.prompt_log_days !== null);
  const [days, setDays] = useState(String(project.prompt_log_days ?? daysDefault));
  const [isChecked, setChecked] = useState(false);
  const changed = useProjectsChanged();
  const saving = useMutation({
    mutationFn: () => updateProject(account.id, project.id, { prompt_log_days: isOn ? Number(days) : null }),
    onSuccess: () => {
      changed();
      toast(t.wasSaved);
      onClose();
    },
  });
  const isFault = isOn && !/^([1-9]|[12]\d|30)$/.test(days.trim());

  function submit(): void {
    setChecked(true);
    if (!isFault && !saving.isPending) saving.mutate();
  }

  return (
    <FormDialog onClose={onClose} title={t.log} submit={common.save} busy={saving.isPending} onSubmit={submit} noValidate>
      <FormError error={saving.error} fields={['prompt_log_days']} />
      <CheckField label={t.turnOn} hint={t.offHint} checked={isOn} onChange={setOn} />
      {isOn && (
        <TextField
          label={t.days}
          hint={t.daysHint}
          error={isChecked && isFault ? t.daysFault : fieldError(saving.error, 'prompt_log_days')}
          type="number"
          min={1}
          max={30}
          value={days}
          onChange={(event) => setDays(event.target.value)}
        />
      )}
    </FormDialog>
  );
}

/** Whether any project of the account may log, which owners decide. */
export function PrivacySection() {
  const account = useAccount();
  const t = useText(promptLogText);
  const client = useQueryClient();
  const query = usePrivacy();
  const isMember = useIsMember();
  const [isForbidding, setForbidding] = useState(false);
  const saving = useMutation({
    mutationFn: (never: boolean) => updatePrivacy(account.id, { never_log_prompts: never }),
    onSuccess: (privacy) => {
      client.setQueryData(privacyKey(account.id), privacy);
      toast(privacy.never_log_prompts ? t.wasForbidden : t.wasPermitted);
      setForbidding(false);
    },
  });
  const isNever = query.data?.never_log_prompts === true;
  return (
    <Section
      title={t.privacy}
      actions={
        account.role === 'owner' &&
        query.data !== undefined &&
        (isMember || !isNever) && (
          <Button busy={saving.isPending} onClick={() => (isNever ? saving.mutate(false) : setForbidding(true))}>
            {isNever ? t.permit : t.never}
          </Button>
        )
      }
    >
      {!isForbidding && saving.error !== null && <ErrorNotice error={saving.error} />}
      <Fetched query={query}>
        {(privacy) => <Card>{privacy.never_log_prompts ? t.neverOn : privacy.prompt_logging ? t.mayLog : t.offHere}</Card>}
      </Fetched>
      <ConfirmDialog
        open={isForbidding}
        onClose={() => setForbidding(false)}
        onConfirm={() => saving.mutate(true)}
        title={t.neverTitle}
        description={t.neverHint}
        confirm={t.never}
        busy={saving.isPending}
      >
        {saving.error !== null && <ErrorNotice error={saving.error} />}
      </ConfirmDialog>
    </Section>
  );
}
