// The error output of the CLI: one line for the fault, one for the fix.
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Command, CommanderError } from 'commander';
import { ConfigError, durationText } from '#kit/config/settings.js';
import { isLoginRefused, isPoolExhausted, isUnreachable } from '#kit/db/errors.js';
import { AppError } from '#client/errors/app-error.js';
import { connectionFault } from './connection-fault.js';
import { fieldRules } from '#rules/errors/error-sentences.js';
import type { Reason } from '#rules/errors/reasons.js';
import { fill } from '#rules/errors/templates.js';

/** An error that the CLI itself detected. */
export class CliError extends Error {
  override readonly name = 'CliError';
  /** How to fix it. */
  readonly fix?: string;
  /** 1 for a failure, 2 for incorrect usage. */
  readonly exitCode: 1 | 2;

  constructor(message: string, options: { fix?: string; exitCode?: 1 | 2; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    if (options.fix !== undefined) this.fix = options.fix;
    this.exitCode = options.exitCode ?? 1;
  }
}

/** The output and exit code after an error. */
export interface Failure {
  /** For standard error; empty when it was already printed. */
  readonly lines: readonly string[];
  readonly exitCode: number;
}

const fixes: Partial<Record<Reason, string>> = {
  service_unavailable: 'Run `tollgate doctor` to see which service is down. If this was a change, it may have been made.',
  deadline_exceeded: 'Run `tollgate doctor` to see which service is slow. If this was a change, it may have been made.',
  overloaded: 'Nothing was changed; try again in a moment.',
  internal: "The service's log has the cause.",
  model_unknown: 'Run `tollgate model list` to see the models.',
  account_suspended: 'Run `tollgate account resume <account>` first.',
};

const fixesOfRules: Readonly<Record<string, string>> = {
  private_address: 'Add --allow-private-network if the upstream is in your own network.',
  upstream_exists: 'Choose another id, or change it with --replace.',
  credential_exists: 'Choose another name, or use `rotate`.',
  no_member: 'Run `tollgate member put <email> --role member` for the account of the project first.',
  public_address: 'Set TOLLGATE_AUTH_PRIVATE_WEBHOOKS=true for auth if all users may reach private networks.',
};

/** The name of the option or argument for a field of a request, where it is not the field's own name without its unit. */
const inputs: Readonly<Record<string, string>> = {
  'price.effective_from_ms': 'from',
  'upstream.api_format': 'format',
  'upstream.allowed_fields': 'allow-field',
  eject_for_ms: 'for',
  until_ms: 'until',
  expires_at_ms: 'expires',
  amount_nano_usd: 'usd',
};

const connectionFix = 'The request was not sent. Run `tollgate doctor`, which checks the address and the certificates of each service.';
const databaseFix =
  'Check the address, user and password in TOLLGATE_BACKUP_DATABASE_URL, TOLLGATE_RESTORE_DATABASE_URL or TOLLGATE_<SERVICE>_DATABASE_URL.';
const hungDatabaseFix = 'Check that the database server is neither hung nor overloaded, and try again.';
const diskIsFull = ['A disk is full', 'Free up space on it, or write to a folder on another disk.'];
const noAccess = ['A database cannot be used', 'Check that you may write to its folder, and that its file system is not read-only.'];

/** The fault and its fix, by the code of an error of the system or of SQLite. */
const systemFaults: Readonly<Record<string, readonly string[]>> = {
  ENOSPC: diskIsFull,
  SQLITE_FULL: diskIsFull,
  SQLITE_CANTOPEN: noAccess,
  SQLITE_READONLY: noAccess,
};

/** Describes any thrown value without a stack trace. `command` is the one that threw it, if one ran. */
export function explain(error: unknown, command?: Command): Failure {
  // Commander has printed its own message; help and version are not failures.
  if (error instanceof CommanderError) return { lines: [], exitCode: error.exitCode === 0 ? 0 : 2 };
  if (error instanceof CliError)
    return { lines: [`error: ${error.message}`, ...(error.fix === undefined ? [] : [error.fix])], exitCode: error.exitCode };
  if (error instanceof ConfigError) return { lines: [`error: ${error.message}`], exitCode: 2 };
  if (error instanceof AppError) {
    const noConnection = connectionFault(error);
    if (noConnection !== undefined)
      return { lines: [`error: ${error.message.replace(/\.$/, '')}: ${noConnection}.`, connectionFix], exitCode: 1 };
    const fix = fixesOfRules[error.details['rule'] ?? ''] ?? fixes[error.reason];
    return {
      lines: [`error: ${asTyped(error, command)}`, ...(fix === undefined ? [] : [fix])],
      exitCode: error.reason === 'invalid_request' ? 2 : 1,
    };
  }
  const fileFault = faultOfFile(error);
  if (fileFault !== undefined) return { lines: [`error: ${fileFault}`], exitCode: 2 };
  const message = error instanceof Error ? error.message : String(error);
  if (isUnreachable(error) || isLoginRefused(error))
    return {
      lines: [`error: The database cannot be used: ${message}.`, isPoolExhausted(error) ? hungDatabaseFix : databaseFix],
      exitCode: 1,
    };
  const [fault, fix] = systemFaults[(error as NodeJS.ErrnoException | undefined)?.code ?? ''] ?? [];
  if (fault !== undefined) return { lines: [`error: ${fault}: ${message}.`, fix!], exitCode: 1 };
  return {
    lines: [`error: ${message}`, 'This is a bug in the CLI; please report it.'],
    exitCode: 1,
  };
}

/** Returns the message of an error with the option or argument that the user typed instead of the field of the request, and with durations in words. */
function asTyped({ message, details }: AppError, command: Command | undefined): string {
  const { field, rule, min, max } = details;
  if (field === undefined) return message;
  const input = inputOf(field, command) ?? field;
  if (rule === 'range' && field.endsWith('_ms'))
    return `${input} ${fill(fieldRules.range, { min: durationText(Number(min)), max: durationText(Number(max)) })}.`;
  return message.replace(field, input);
}

/** Returns the option or the argument of the command for a field, for example --probe-interval for upstream.limits.probe_interval_ms. */
function inputOf(field: string, command: Command | undefined): string | undefined {
  const ownName = field
    .split('.')
    .at(-1)!
    .replace(/_(id|ms|nano_usd)$/, '')
    .replaceAll('_', '-');
  const name = inputs[field] ?? ownName;
  if (command?.options.some(({ long }) => long === `--${name}`) === true) return `--${name}`;
  return command?.registeredArguments.some((argument) => argument.name() === name) === true ? `<${name}>` : undefined;
}

/** Returns what is wrong with the path of a file or a folder that the user named; undefined for any other error. */
function faultOfFile(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, path: source, dest } = error as NodeJS.ErrnoException & { dest?: string };
  const path = dest ?? source;
  if (path === undefined) return undefined;
  switch (code) {
    case 'ENOENT': {
      const folder = dirname(path);
      return existsSync(folder) ? `The file ${path} does not exist.` : `The folder ${folder} does not exist.`;
    }
    case 'ENOTDIR':
      return `${path} cannot be used, because a part of it is a file and not a folder.`;
    case 'EISDIR':
      return `${path} is a folder; specify a file.`;
    case 'EEXIST':
      return `${path} already exists.`;
    case 'EACCES':
    case 'EPERM':
      return `You do not have permission to use ${path}.`;
    case 'EROFS':
      return `${path} is on a read-only file system.`;
    default:
      return undefined;
  }
}

/**
 * Reports whether a write that failed with this error may have taken effect, so that only a retry with the same idempotency key is safe.
 */
export function isOutcomeUnknown(error: unknown): boolean {
  return !(error instanceof AppError) || ['service_unavailable', 'deadline_exceeded', 'cancelled', 'internal'].includes(error.reason);
}
