// The projects of an account, and the budgets of the account itself.
import { useState } from 'react';
import { Link } from 'wouter';
import type { Project } from '../../api/projects.js';
import { budgetsText } from '../../i18n/budgets.js';
import { keysText } from '../../i18n/keys.js';
import { projectsText } from '../../i18n/projects.js';
import { rateLimitsText } from '../../i18n/rate-limits.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { Badge } from '../../ui/badge.js';
import { CreateButton } from '../../ui/button.js';
import { Disclosure } from '../../ui/disclosure.js';
import { Card, PageHeader, Section } from '../../ui/layout.js';
import { Fetched } from '../../ui/query.js';
import { DataTable } from '../../ui/table.js';
import { ModelChips } from '../keys/key-words.js';
import { RateLimitWords } from '../keys/form/rate-limit-fields.js';
import { AccountBudgetSection } from './account-budgets.js';
import { BudgetBars } from './budget-bars.js';
import { ProjectDialog } from './project-form.js';
import { PrivacySection } from './prompt-log.js';
import { useProjects } from './queries.js';

export default function ProjectsPage() {
  const account = useAccount();
  const t = useText(projectsText);
  const [isCreating, setCreating] = useState(false);
  const query = useProjects({ isLive: true });
  const mayChange = account.can('change projects');
  return (
    <>
      <PageHeader
        title={t.title}
        description={mayChange ? t.about : `${t.about} ${t.mayNot}`}
        actions={mayChange && <CreateButton onClick={() => setCreating(true)}>{t.create}</CreateButton>}
      />
      {account.can('look') && <AccountBudgetSection />}
      <Section title={t.projects}>
        <Fetched query={query}>
          {(projects) => {
            const deleted = projects.filter(({ deleted_at }) => deleted_at !== null);
            return (
              <div className="flex flex-col gap-4">
                <ProjectTable caption={t.projects} projects={projects.filter(({ deleted_at }) => deleted_at === null)} />
                {deleted.length > 0 && (
                  <Disclosure summary={t.showDeleted({ count: deleted.length })}>
                    <ProjectTable caption={t.deleted} projects={deleted} />
                  </Disclosure>
                )}
              </div>
            );
          }}
        </Fetched>
      </Section>
      <PrivacySection />
      {isCreating && <ProjectDialog onClose={() => setCreating(false)} />}
    </>
  );
}

function ProjectTable({ caption, projects }: { caption: string; projects: readonly Project[] }) {
  const account = useAccount();
  const [t, keys, budgets, limits] = [useText(projectsText), useText(keysText), useText(budgetsText), useText(rateLimitsText)];
  return (
    <Card flush>
      <DataTable<Project>
        caption={caption}
        rows={projects}
        rowKey={({ id }) => id}
        columns={[
          {
            name: t.name,
            cell: (project) => (
              <span className="inline-flex flex-wrap items-center gap-2">
                <Link to={account.path(`/projects/${project.id}`)} className="link wrap-anywhere">
                  {project.name}
                </Link>
                {project.is_default && project.name !== t.isDefault && <Badge>{t.isDefault}</Badge>}
              </span>
            ),
          },
          { name: t.keys, numeric: true, cell: (project) => project.keys },
          { name: budgets.title, cell: (project) => <BudgetBars budgets={project.budgets} brief /> },
          { name: limits.title, cell: (project) => <RateLimitWords of="project" limits={project.rate_limits} /> },
          { name: keys.models, cell: (project) => <ModelChips models={project.models} /> },
        ]}
      />
    </Card>
  );
}
