// The options --budget and --alert-at, and budgets in output with what is spent of them.
import { type Command, InvalidArgumentError } from 'commander';
import { Budget, BudgetPeriod } from '#proto/budget/v1/budget.js';
import type { BudgetSpend } from '#proto/ledger/v1/ledger.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';
import { instant, instantJson, type Json, usd, usdJson } from '../output.js';
import { unlessUnavailable } from '../unavailable.js';
import { parseCount, parseLimit, parseList, wordsOf } from './parse.js';

const periods = wordsOf<BudgetPeriod>(BudgetPeriod, 'BUDGET_PERIOD_');
const alertPercentsDefault = [50, 80, 100];

/** A budget as given on the command line. */
interface Given {
  readonly period: BudgetPeriod;
  /** Undefined removes the budget. */
  readonly limitNanoUsd: bigint | undefined;
  readonly soft: boolean;
}

/** The options of a command that sets budgets. */
export interface BudgetOptions {
  readonly budget?: readonly Given[];
  readonly alertAt?: readonly number[];
}

/** Adds the options to a command; `isNew` if it creates what has the budgets, so that there are none to remove. */
export function withBudgets(command: Command, isNew = false): Command {
  return command
    .option(
      '--budget <period:usd>',
      `what may be spent per period, such as month:25, also for ${periods.all.join(', ')}; month:25:soft only sends alerts${isNew ? '' : ', month:none removes the budget'}; repeatable, at most two`,
      (text: string, before: readonly Given[] = []) => [...before, parseBudget(text)],
    )
    .option(
      '--alert-at <percents>',
      `the shares of these budgets at which alerts are sent, or none; ${alertPercentsDefault.join(',')} ${isNew ? 'by default' : 'for a new budget'}`,
      parsePercents,
    );
}

function parseBudget(text: string): Given {
  const [word = '', amount = '', mode, ...rest] = text.split(':');
  if (amount === '' || rest.length > 0 || (mode !== undefined && (mode !== 'soft' || amount === 'none')))
    throw new InvalidArgumentError('Specify a period and an amount in USD such as month:25, month:25:soft or month:none.');
  return {
    period: periods.parse(word),
    limitNanoUsd: parseLimit(amount),
    soft: mode === 'soft',
  };
}

const parsePercents = (text: string): number[] => (text === 'none' ? [] : parseList(text).map((each) => parseCount(each, 1, 1000)));

/** Returns budgets as the options change them; undefined if no option is given. Throws when the options contradict each other. */
export function changedBudgets(before: readonly Budget[], { budget: given, alertAt }: BudgetOptions): Budget[] | undefined {
  if (given === undefined) {
    if (alertAt === undefined) return undefined;
    throw new CliError('--alert-at needs a budget.', { fix: 'Specify --budget too, such as --budget month:25.', exitCode: 2 });
  }
  if (new Set(given.map(({ period }) => period)).size < given.length)
    throw new CliError('A period is specified twice.', { fix: 'Specify a different period for each --budget.', exitCode: 2 });
  const others = before.filter(({ period }) => given.every((each) => each.period !== period));
  const wanted = given.flatMap(({ period, limitNanoUsd, soft }) => {
    if (limitNanoUsd === undefined) return [];
    const alertPercents = alertAt ?? before.find((each) => each.period === period)?.alertPercents ?? alertPercentsDefault;
    return [Budget.fromPartial({ period, limitNanoUsd, soft, alertPercents: [...alertPercents] })];
  });
  return [...others, ...wanted];
}

/** The changes that the options make to a key, whose lifetime budget is its lifetime limit. */
export interface KeyBudgetChange {
  readonly budgets?: Budget[];
  /** Present when the limit changes; undefined removes it. */
  readonly lifetimeLimit?: { readonly nanoUsd: bigint | undefined };
}

/** Returns the changes that the options make to a key. */
export function changedKeyBudgets(before: readonly Budget[], options: BudgetOptions): KeyBudgetChange {
  const isLifetime = ({ period }: Given): boolean => period === BudgetPeriod.BUDGET_PERIOD_LIFETIME;
  const lifetime = options.budget?.find(isLifetime);
  const others = options.budget?.filter((each) => !isLifetime(each));
  if (lifetime?.soft === true)
    throw new CliError('The lifetime limit of a key cannot be soft.', {
      fix: 'Specify --budget lifetime:25, or a soft month, week or day.',
      exitCode: 2,
    });
  const rest = lifetime !== undefined && others!.length === 0 ? {} : { ...options, ...(others === undefined ? {} : { budget: others }) };
  const budgets = changedBudgets(before, rest);
  return {
    ...(budgets === undefined ? {} : { budgets }),
    ...(lifetime === undefined ? {} : { lifetimeLimit: { nanoUsd: lifetime.limitNanoUsd } }),
  };
}

/** The spend of budgets by their ids; undefined while the ledger is unavailable. */
export type SpendOfBudgets = ReadonlyMap<string, BudgetSpend> | undefined;

/** Returns the spend of budgets of an account. */
export async function spendOfBudgets({ auth, ledger }: Services, accountId: string, budgets: readonly Budget[]): Promise<SpendOfBudgets> {
  if (budgets.length === 0) return new Map();
  const { account } = await auth.getAccount({ accountId }, operatorCall());
  const request = { accountId, budgets: [...budgets], timeZone: account!.timeZone };
  const response = await unlessUnavailable(ledger.listBudgetSpend(request, operatorCall()));
  return response && new Map(response.budgets.map((spend) => [spend.budgetId, spend]));
}

/** Returns budgets as text such as "$25 per month ($3 spent, $22 left, resets 2027-02-01 00:00:00Z; alerts at 80, 100 %)"; "none" if there is none. */
export function budgetsText(budgets: readonly Budget[], spend?: SpendOfBudgets): string {
  const one = ({ id, period, limitNanoUsd, soft, alertPercents }: Budget): string => {
    const unit = period === BudgetPeriod.BUDGET_PERIOD_LIFETIME ? 'in its lifetime' : `per ${periods.of(period)}`;
    const alerts = alertPercents.length === 0 ? [] : [`alerts at ${alertPercents.join(', ')} %`];
    const notes = [...spendNotes(spend?.get(id)), ...(soft ? ['soft'] : []), ...alerts];
    return `${usd(limitNanoUsd)} ${unit}${notes.length === 0 ? '' : ` (${notes.join('; ')})`}`;
  };
  return budgets.length === 0 ? 'none' : budgets.map(one).join(', ');
}

function spendNotes(spend: BudgetSpend | undefined): string[] {
  if (spend === undefined) return [];
  const { spentNanoUsd, heldNanoUsd, leftNanoUsd, untilMs } = spend;
  const parts = [
    `${usd(spentNanoUsd)} spent`,
    ...(heldNanoUsd === 0n ? [] : [`${usd(heldNanoUsd)} held`]),
    `${usd(leftNanoUsd)} left`,
    ...(untilMs === 0n ? [] : [`resets ${instant(untilMs)}`]),
  ];
  return [parts.join(', ')];
}

/** Returns budgets as JSON; null for what is not known of their spend. */
export function budgetsJson(budgets: readonly Budget[], spend?: SpendOfBudgets): Json {
  return budgets.map(({ id, period, limitNanoUsd, soft, alertPercents }) => {
    const used = spend?.get(id);
    return {
      id,
      period: periods.of(period),
      ...usdJson('limit', limitNanoUsd),
      ...usdJson('spent', used?.spentNanoUsd),
      ...usdJson('held', used?.heldNanoUsd),
      ...usdJson('left', used?.leftNanoUsd),
      resets_at: instantJson(used?.untilMs),
      soft,
      alert_at: alertPercents,
    };
  });
}
