// tollgate ledger: verifies the ledger, and exports the whole journal.
import { Command } from 'commander';
import type { Cli } from '../cli.js';
import { counted } from '../output.js';
import { CliError } from '../errors.js';
import { exportJournal, type ExportFormat, exportFormats } from '../journal-export.js';
import { assertAccount } from '../options/accounts.js';
import { parseInstant } from '../options/parse.js';
import { verifyBooks } from '../verify-books.js';
import { agrees, driftView, verificationView } from '../views/reconcile.js';

/** The noun `ledger`. */
export function ledgerCommand(cli: Cli): Command {
  const ledger = new Command('ledger').description('The ledger: verify it, and export the journal.');
  const parseTime = (text: string): bigint => parseInstant(text, cli.world.nowMs(), 'back');

  ledger
    .command('verify')
    .description('Compare usage records, prices, holds, balances and the journal with each other. Exit code 1 when anything differs.')
    .option('--account <id>', 'only this account; all by default')
    .action((options: { account?: string }) =>
      cli.withServices(async (services) => {
        await assertAccount(services.auth, options.account);
        const verification = await verifyBooks(services, options.account ?? '');
        cli.out.show(verificationView, verification);
        if (agrees(verification)) return;
        if (!cli.out.json) cli.out.list(driftView, verification.drifts);
        throw new CliError('Records, prices, holds, balances or the journal disagree.', {
          fix: 'Make a backup (`tollgate backup`) before anything else; docs/reconciling.md explains what each drift means and what to do.',
        });
      }),
    );

  ledger
    .command('export')
    .description('Export the whole journal, account by account, in the order of the entries. Amounts are integers in nano-USD.')
    .option('--account <id>', 'only this account; all by default')
    .option('--since <when>', 'only entries created at or after this time, for example 30d (ago) or 2027-01-31', parseTime)
    .option('--until <when>', 'only entries created before this time; the start of the export by default', parseTime)
    .option('--format <format>', `${exportFormats.join(' or ')}; jsonl by default`, parseFormat)
    .option('--out <file>', 'the file to write, created only when it is complete; standard output by default')
    .action((options: { account?: string; since?: bigint; until?: bigint; format?: ExportFormat; out?: string }) =>
      cli.withServices(async (services) => {
        await assertAccount(services.auth, options.account);
        const untilMs = options.until ?? BigInt(cli.world.nowMs());
        const request = { accountId: options.account ?? '', fromMs: options.since ?? 0n, untilMs };
        const { entries, accounts } = await exportJournal(services.ledger, request, options.format ?? 'jsonl', options.out ?? cli.world);
        cli.out.aside(
          `${counted(entries, 'entry', 'entries')} in ${counted(accounts, 'account')}, created before ${new Date(Number(untilMs)).toISOString()}.`,
        );
      }),
    );

  return ledger;
}

function parseFormat(text: string): ExportFormat {
  const format = exportFormats.find((each) => each === text);
  if (format === undefined) throw new CliError(`There is no format ${text}.`, { fix: `Use ${exportFormats.join(' or ')}.`, exitCode: 2 });
  return format;
}
