// One project: its budgets, its keys and what they used.
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import { keyStates, listKeys } from '../../api/keys.js';
import { deleteProject, getProject, type Project } from '../../api/projects.js';
import { budgetsText } from '../../i18n/budgets.js';
import { keysText } from '../../i18n/keys.js';
import { projectsText } from '../../i18n/projects.js';
import { rateLimitsText } from '../../i18n/rate-limits.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { liveMs } from '../../session/queries.js';
import { Badge } from '../../ui/badge.js';
import { Button, ButtonLink } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { Card, Facts, PageHeader, Section } from '../../ui/layout.js';
import { ErrorNotice } from '../../ui/notice.js';
import { Fetched } from '../../ui/query.js';
import { DataTable } from '../../ui/table.js';
import { toast } from '../../ui/toasts/toast.js';
import { When } from '../../ui/values.js';
import { UsageOf } from '../keys/key-usage.js';
import { KeyStateBadge, LimitInBrief, ModelChips, Spend } from '../keys/key-words.js';
import { keysKey } from '../keys/queries.js';
import { RateLimitWords } from '../keys/form/rate-limit-fields.js';
import { BudgetBars } from './budget-bars.js';
import { ProjectDialog } from './project-form.js';
import { PromptLogSection } from './prompt-log.js';
import { projectKey, useProjectsChanged } from './queries.js';

const keysShown = 20;
const inUse = keyStates.filter((state) => state !== 'revoked').join(',');

export default function ProjectPage() {
  const account = useAccount();
  const { project: id = '' } = useParams<{ project: string }>();
  const t = useText(projectsText);
  const query = useQuery({
    queryKey: projectKey(account.id, id),
    queryFn: ({ signal }) => getProject(account.id, id, signal),
    refetchInterval: liveMs,
  });
  return (
    <>
      {query.data === undefined && query.error !== null && <PageHeader title={t.project} back={[account.path('/projects'), t.back]} />}
      <Fetched query={query}>{(project) => <One project={project} />}</Fetched>
    </>
  );
}

function One({ project }: { project: Project }) {
  const account = useAccount();
  const [t, keys, budgets, limits] = [useText(projectsText), useText(keysText), useText(budgetsText), useText(rateLimitsText)];
  const [open, setOpen] = useState<'edit' | 'delete'>();
  const mayChange = account.can('change projects') && project.deleted_at === null;
  const close = (): void => setOpen(undefined);
  return (
    <>
      <PageHeader
        title={project.name}
        back={[account.path('/projects'), t.back]}
        description={
          project.deleted_at !== null ? (
            <Badge icon="stopped">{t.deleted}</Badge>
          ) : project.is_default && project.name !== t.isDefault ? (
            <Badge>{t.isDefault}</Badge>
          ) : undefined
        }
        actions={
          mayChange && (
            <>
              <Button onClick={() => setOpen('edit')}>{t.edit}</Button>
              {!project.is_default && (
                <Button look="danger" onClick={() => setOpen('delete')}>
                  {t.delete}
                </Button>
              )}
            </>
          )
        }
      />
      <Section title={budgets.title}>
        <Card>
          <BudgetBars budgets={project.budgets} />
        </Card>
      </Section>
      <Section title={t.overview}>
        <Card>
          <Facts
            facts={[
              [
                t.projectId,
                <span key="id" className="inline-flex flex-wrap items-center gap-2">
                  <code>{project.id}</code>
                  <CopyButton look="ghost" size="small" text={project.id} />
                </span>,
              ],
              [keys.models, <ModelChips key="models" models={project.models} all />],
              project.budget_fallback !== null && [
                t.fallback,
                t.fallbackOnce({ model: project.budget_fallback.model, percent: project.budget_fallback.from_percent }),
              ],
              [limits.title, <RateLimitWords key="limits" of="project" limits={project.rate_limits} />],
              [t.created, <When key="created" at={project.created_at} />],
              project.deleted_at !== null && [t.deletedAt, <When key="deleted" at={project.deleted_at} />],
            ]}
          />
        </Card>
      </Section>
      <PromptLogSection project={project} />
      <KeysOf project={project} />
      <UsageOf filter={{ project: project.id }} />
      {open === 'edit' && <ProjectDialog project={project} onClose={close} />}
      {open === 'delete' && <DeleteDialog project={project} onClose={close} />}
    </>
  );
}

function KeysOf({ project }: { project: Project }) {
  const account = useAccount();
  const [t, keys] = [useText(projectsText), useText(keysText)];
  const query = useQuery({
    queryKey: [...keysKey(account.id), 'of-project', project.id],
    queryFn: ({ signal }) => listKeys(account.id, { project: project.id, state: inUse, limit: keysShown }, signal),
    refetchInterval: liveMs,
  });
  const mayCreate = account.can('change keys', project.id) && project.deleted_at === null;
  return (
    <Section
      title={t.keys}
      actions={
        <>
          {mayCreate && <ButtonLink to={account.path(`/keys?create=1&project=${project.id}`)}>{t.createKey}</ButtonLink>}
          <Link className="link self-center" to={account.path(`/keys?project=${project.id}`)}>
            {t.moreKeys}
          </Link>
        </>
      }
    >
      <Fetched query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="text-soft">{t.noKeys}</p>
          ) : (
            <Card flush>
              <DataTable
                caption={t.keys}
                rows={data}
                rowKey={({ id }) => id}
                columns={[
                  {
                    name: t.name,
                    cell: (key) => (
                      <Link to={account.path(`/keys/${key.id}`)} className="link wrap-anywhere">
                        {key.name}
                      </Link>
                    ),
                  },
                  { name: keys.stateLabel, cell: (key) => <KeyStateBadge state={key.state} /> },
                  {
                    name: keys.spend,
                    usd: ({ spent_usd }) => spent_usd,
                    rounded: true,
                    cell: (key, digits) => <Spend apiKey={key} digits={digits} />,
                  },
                  { name: keys.limitShort, numeric: true, cell: (key) => <LimitInBrief apiKey={key} /> },
                ]}
              />
            </Card>
          )
        }
      </Fetched>
    </Section>
  );
}

function DeleteDialog({ project, onClose }: { project: Project; onClose: () => void }) {
  const account = useAccount();
  const t = useText(projectsText);
  const [, navigate] = useLocation();
  const changed = useProjectsChanged();
  const deletion = useMutation({
    mutationFn: () => deleteProject(account.id, project.id),
    onSuccess: () => {
      changed();
      toast(t.wasDeleted({ name: project.name }));
      navigate(account.path('/projects'));
    },
  });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => deletion.mutate()}
      title={t.deleteTitle({ name: project.name })}
      description={t.deleteHint}
      confirm={t.delete}
      busy={deletion.isPending}
    >
      {deletion.error !== null && <ErrorNotice error={deletion.error} />}
    </ConfirmDialog>
  );
}
