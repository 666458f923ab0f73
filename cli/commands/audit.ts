// tollgate audit: who did what, and whether the log is unchanged.
import { Command } from 'commander';
import { type AuditEvent, type AuditRestore, ListAuditEventsRequest } from '#proto/auth/v1/users.js';
import type { Cli } from '../cli.js';
import { operatorCall } from '../connect.js';
import { CliError } from '../errors.js';
import { instant, instantJson, type Json, type View } from '../output.js';
import { listPages, type PageOptions, withPaging } from '../pages.js';
import { parseInstant } from '../options/parse.js';

// Verification reads the whole log.
const verifyTimeoutMs = 10 * 60_000;

const auditView: View<AuditEvent> = {
  json: (entry) => ({
    id: entry.id,
    at: instantJson(entry.atMs),
    actor_user_id: entry.actorUserId === '' ? null : entry.actorUserId,
    actor: entry.actorName === '' ? null : entry.actorName,
    address: entry.clientAddress === '' ? null : entry.clientAddress,
    caller: entry.caller,
    account_id: entry.accountId === '' ? null : entry.accountId,
    action: entry.action,
    target_id: entry.targetId,
    detail: JSON.parse(entry.detailJson) as Json,
    number: entry.number === 0n ? null : Number(entry.number),
    hash: entry.hash.length === 0 ? null : Buffer.from(entry.hash).toString('hex'),
  }),
  columns: [
    { title: 'time', text: (entry) => instant(entry.atMs) },
    { title: 'who', text: (entry) => entry.actorName },
    { title: 'from', text: (entry) => entry.clientAddress },
    { title: 'action', text: (entry) => entry.action },
    { title: 'on', text: (entry) => entry.targetId },
    { title: 'detail', text: (entry) => (entry.detailJson === '{}' ? '' : entry.detailJson) },
  ],
};

interface FilterOptions {
  readonly account?: string;
  readonly actor?: string;
  readonly action?: string;
  readonly target?: string;
  readonly from?: bigint;
  readonly until?: bigint;
}

/** The noun `audit`. */
export function auditCommand(cli: Cli): Command {
  const audit = new Command('audit').description('The audit log: who did what, in the console and in the CLI.');
  const parseTime = (text: string): bigint => parseInstant(text, cli.world.nowMs(), 'back');

  withPaging(audit.command('list'))
    .description('List audit events, newest first.')
    .option('--account <id>', 'only events of this account')
    .option('--actor <who>', 'only events of this user: the id, or part of the email address')
    .option('--action <action>', 'only this action, such as key.create; or all actions of a kind, such as key')
    .option('--target <id>', 'only events about this object')
    .option('--from <when>', 'only events at or after this time, for example 12h (ago) or 2027-01-31', parseTime)
    .option('--until <when>', 'only events before this time', parseTime)
    .action((options: PageOptions & FilterOptions) =>
      cli.withServices(({ users }) =>
        listPages(cli, auditView, options, async (pageSize, pageToken) => {
          const {
            account: accountId = '',
            actor = '',
            action = '',
            target: targetId = '',
            from: fromMs = 0n,
            until: untilMs = 0n,
          } = options;
          const { events: entries, nextPageToken } = await users.listAuditEvents(
            ListAuditEventsRequest.fromPartial({ accountId, actor, action, targetId, fromMs, untilMs, pageSize, pageToken }),
            operatorCall(),
          );
          return { items: entries, nextPageToken };
        }),
      ),
    );

  audit
    .command('verify')
    .description('Recompute the hash chain of the log. Exit code 1 when an entry was changed, inserted or removed.')
    .option('--seen <number:hash>', 'the number and hash of an earlier entry, as printed by this command or an export', parseSeen)
    .action((options: { seen?: { number: bigint; hash: Buffer } }) =>
      cli.withServices(async ({ users }) => {
        const found = await users.verifyAuditLog(options.seen ?? { number: 0n, hash: Buffer.alloc(0) }, operatorCall(verifyTimeoutMs));
        const last = found.lastNumber === 0n ? '' : `${found.lastNumber}:${Buffer.from(found.lastHash).toString('hex')}`;
        const json = {
          ok: found.fault === '',
          fault: found.fault === '' ? null : found.fault,
          entries_checked: Number(found.eventsChecked),
          last: last === '' ? null : last,
          restore: restoreJson(found.restore),
        };
        cli.out.show(
          {
            json: () => json,
            columns: [
              { title: 'log', text: () => (json.ok ? 'unchanged' : json.restore === null ? 'changed' : 'restored') },
              { title: 'entries checked', text: () => found.eventsChecked.toString() },
              { title: 'last entry', text: () => last },
            ],
          },
          {},
        );
        if (!json.ok && found.restore !== undefined) throw restoreFault(found.fault, found.restore);
        if (!json.ok)
          throw new CliError(`The audit log was changed. ${found.fault}`, {
            fix: 'Copy the database of auth before anything else; then compare it with exports and backups.',
          });
        if (last !== '')
          cli.out.note(
            `\nKeep the last entry elsewhere; later \`tollgate audit verify --seen ${last}\` shows that nothing before it was changed.`,
          );
      }),
    );

  return audit;
}

function restoreJson(restore: AuditRestore | undefined): Json {
  if (restore === undefined) return null;
  return { at: instantJson(restore.atMs), backup_at: instantJson(restore.backupAtMs), last_number: Number(restore.lastNumber) };
}

/** Returns the error for a recorded entry that the backup did not contain. The event of a restore can be forged like any other. */
function restoreFault(fault: string, { atMs, backupAtMs, lastNumber }: AuditRestore): CliError {
  return new CliError(
    `${fault} The installation was restored on ${instant(atMs)} from the backup of ${instant(backupAtMs)}, whose last entry was ${lastNumber}; later entries are not in it.`,
    {
      fix:
        'This does not rule out that the log was changed: check that you know of this restore, that the time agrees with manifest.json of the backup, ' +
        `and with \`tollgate audit verify --seen <number:hash>\` that an entry up to ${lastNumber} is unchanged.`,
    },
  );
}

function parseSeen(text: string): { number: bigint; hash: Buffer } {
  const match = /^(\d{1,18}):([0-9a-f]{64})$/.exec(text);
  if (match === null || match[1] === '0')
    throw new CliError('--seen must be the number of an entry, a colon and its hash (64 hexadecimal digits).', { exitCode: 2 });
  return { number: BigInt(match[1]!), hash: Buffer.from(match[2]!, 'hex') };
}
