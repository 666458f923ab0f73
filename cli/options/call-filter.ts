// The options that select calls by account, project, key, model and time.
import type { Command } from 'commander';
import type { UsageFilter } from '#proto/metering/v1/metering.js';
import type { Cli } from '../cli.js';
import { parseInstant } from './parse.js';

/** The values of these options. */
export interface CallFilterOptions {
  readonly account?: string;
  readonly project?: string;
  readonly key?: string;
  readonly model?: string;
  readonly from?: bigint;
  readonly until?: bigint;
}

/** Adds the options. `what` is what happened to the calls at the time that is filtered. */
export function withCallFilter(cli: Cli, command: Command, what: 'started' | 'refused'): Command {
  const parseTime = (text: string): bigint => parseInstant(text, cli.world.nowMs(), 'back');
  return command
    .option('--account <id>', 'only calls of this account')
    .option('--project <id>', 'only calls of this project')
    .option('--key <id>', 'only calls with this key')
    .option('--model <id>', 'only calls of this model')
    .option('--from <when>', `only calls ${what} at or after this time, for example 12h (ago) or 2027-01-31`, parseTime)
    .option('--until <when>', `only calls ${what} before this time`, parseTime);
}

/** Returns the filter of an RPC by these options; what is not given selects all. */
export function callFilterOf(options: CallFilterOptions): Omit<UsageFilter, 'outcome'> {
  return {
    accountId: options.account ?? '',
    projectIds: options.project === undefined ? [] : [options.project],
    keyId: options.key ?? '',
    keyIds: [],
    modelId: options.model ?? '',
    fromMs: options.from ?? 0n,
    untilMs: options.until ?? 0n,
  };
}
