// tollgate project: the projects of an account, which group its keys.
import { Command, InvalidArgumentError } from 'commander';
import {
  type BudgetFallback,
  CreateProjectRequest,
  ListProjectsRequest,
  type ModelPermission,
  type Project,
  UpdateProjectRequest,
} from '#proto/auth/v1/auth.js';
import { chooseAccount, withAccount } from '../options/accounts.js';
import { type BudgetOptions, changedBudgets, spendOfBudgets, withBudgets } from '../options/budgets.js';
import type { Cli } from '../cli.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';
import { listPages, type PageOptions, withPaging } from '../pages.js';
import { parseModels } from '../options/parse.js';
import { noteUnknownModels } from '../options/unknown-models.js';
import { changedRateLimits, hasRateLimits, newRateLimits, type RateLimitOptions, withRateLimits } from '../options/rate-limits.js';
import { projectView } from '../views/project.js';

interface SettingOptions extends RateLimitOptions, BudgetOptions {
  readonly models?: ModelPermission;
  readonly budgetFallback?: BudgetFallback | 'none';
}

const fallbackOption = [
  '--budget-fallback <model:percent>',
  'use this model instead of more expensive ones once this share of a budget of the project is spent; or none',
  parseFallback,
] as const;
const modelsOption = ['--models <ids>', 'only these models, separated by commas, or all', parseModels] as const;

/** The noun `project`. */
export function projectCommand(cli: Cli): Command {
  const project = new Command('project').description(
    'Projects, which group the keys of an account, with models, limits and budgets of their own.',
  );

  withBudgets(withRateLimits(withAccount(project.command('create <name>'))), true)
    .description('Create a project.')
    .option(...modelsOption)
    .option(...fallbackOption)
    .option('--idempotency-key <key>', 'a retry with the same key creates no second project')
    .action((name: string, options: SettingOptions & { account?: string; idempotencyKey?: string }) =>
      cli.withServices(async (services) => {
        const { auth } = services;
        const request = CreateProjectRequest.fromPartial({
          accountId: await chooseAccount(auth, options.account),
          name,
          idempotencyKey: options.idempotencyKey ?? '',
          budgets: changedBudgets([], options) ?? [],
        });
        request.models = options.models;
        request.rateLimits = newRateLimits(options);
        request.budgetFallback = fallbackOf(options);
        await show(cli, services, (await auth.createProject(request, operatorCall())).project!);
        await noteUnknownModels(cli, services, options.models);
      }),
    );

  withPaging(withAccount(project.command('list')))
    .description('List the projects of an account, in order of creation.')
    .action((options: { account?: string } & PageOptions) =>
      cli.withServices(async (services) => {
        const { auth } = services;
        const accountId = await chooseAccount(auth, options.account);
        await listPages(cli, projectView, options, async (pageSize, pageToken) => {
          const request = ListProjectsRequest.fromPartial({ accountId, pageSize, pageToken, withKeyCounts: true });
          const { projects, keyCounts, nextPageToken } = await auth.listProjects(request, operatorCall());
          const budgets = projects.flatMap((each) => each.budgets);
          const spend = await spendOfBudgets(services, accountId, budgets);
          return { items: projects.map((each, index) => ({ project: each, keys: keyCounts[index], spend })), nextPageToken };
        });
      }),
    );

  project
    .command('show <project>')
    .description('Show a project with the spend of its budgets.')
    .action((projectId: string) =>
      cli.withServices(async (services) => {
        const { project: found, keyCount } = await services.auth.getProject({ projectId, accountId: '' }, operatorCall());
        await show(cli, services, found!, keyCount);
      }),
    );

  withBudgets(withRateLimits(project.command('update <project>')))
    .description('Change a project. Takes effect everywhere within a second. Settings without an option do not change.')
    .option('--name <name>', 'a new name')
    .option(...modelsOption)
    .option(...fallbackOption)
    .option(
      '--prompt-log <days>',
      'shorten the log of prompts and answers to this many days, or none; only admins of the account can extend it, in the console',
      parsePromptLogDays,
    )
    .action((projectId: string, options: SettingOptions & { name?: string; promptLog?: number }) =>
      cli.withServices(async (services) => {
        const before = await findProject(services, projectId);
        const change: Partial<UpdateProjectRequest> = {};
        if (options.name !== undefined) change.name = options.name;
        if (options.models !== undefined) change.models = options.models;
        if (hasRateLimits(options)) change.rateLimits = changedRateLimits(before.rateLimits, options);
        if (options.budgetFallback !== undefined) change.budgetFallback = fallbackOf(options);
        if (options.promptLog !== undefined) change.promptLogDays = options.promptLog;
        const budgets = changedBudgets(before.budgets, options);
        if (budgets !== undefined) change.budgets = budgets;
        const updateMask = Object.keys(change).map((name) => maskNames[name] ?? name);
        if (updateMask.length === 0)
          throw new CliError('No change was specified.', { fix: 'Use --help to see what can be changed.', exitCode: 2 });
        const request = { ...UpdateProjectRequest.fromPartial({ projectId, accountId: before.accountId, updateMask }), ...change };
        await show(cli, services, (await services.auth.updateProject(request, operatorCall())).project!);
        await noteUnknownModels(cli, services, options.models);
      }),
    );

  project
    .command('delete <project>')
    .description('Delete a project whose keys are all revoked or moved. Its past usage is kept.')
    .action((projectId: string) =>
      cli.withServices(async (services) => {
        const { accountId } = await findProject(services, projectId);
        await show(cli, services, (await services.auth.deleteProject({ projectId, accountId }, operatorCall())).project!);
      }),
    );

  return project;
}

const maskNames: Readonly<Record<string, string>> = {
  rateLimits: 'rate_limits',
  budgetFallback: 'budget_fallback',
  promptLogDays: 'prompt_log_days',
};

const fallbackOf = ({ budgetFallback }: SettingOptions): BudgetFallback | undefined =>
  budgetFallback === 'none' ? undefined : budgetFallback;

function parsePromptLogDays(text: string): number {
  if (text !== 'none' && !/^([1-9]|[12]\d|30)$/.test(text)) throw new InvalidArgumentError('Specify 1 to 30 days, or none.');
  return text === 'none' ? 0 : Number(text);
}

function parseFallback(text: string): BudgetFallback | 'none' {
  if (text === 'none') return text;
  const [, modelId, percent] = /^(.+):(\d{1,3})%?$/.exec(text) ?? [];
  if (modelId === undefined) throw new InvalidArgumentError('Specify a model and a percentage such as openai/gpt-5-mini:80, or none.');
  return { modelId, fromPercent: Number(percent) };
}

/** Returns a project of any account. */
async function findProject({ auth }: Services, projectId: string): Promise<Project> {
  return (await auth.getProject({ projectId, accountId: '' }, operatorCall())).project!;
}

async function show(cli: Cli, services: Services, project: Project, keys?: number): Promise<void> {
  const spend = await spendOfBudgets(services, project.accountId, project.budgets);
  cli.out.show(projectView, { project, keys, spend });
}
