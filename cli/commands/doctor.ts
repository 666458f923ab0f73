// tollgate doctor: checks the installation and prints the fix for each fault.
import { Command } from 'commander';
import type { Cli } from '../cli.js';
import { examine, type Finding } from '../doctor/checks.js';
import { CliError } from '../errors.js';
import type { View } from '../output.js';

// The findings are printed as they arrive, so the column width cannot depend on the longest name.
const checkWidth = 'notification outbox'.length;

const findingView: View<Finding> = {
  json: (finding) => ({ check: finding.check, ok: finding.ok, detail: finding.detail, fix: finding.fix }),
  columns: [
    { title: '', text: (finding) => (finding.ok ? 'ok  ' : 'FAIL') },
    { title: 'check', text: (finding) => finding.check.padEnd(checkWidth) },
    { title: 'finding', text: (finding) => (finding.fix === '' ? finding.detail : `${finding.detail} → ${finding.fix}`) },
  ],
};

/** The command `doctor`. */
export function doctorCommand(cli: Cli): Command {
  return new Command('doctor')
    .description('Check that everything works; one line per check, with the fix. Exit code 1 when a check fails.')
    .action(async () => {
      const table = cli.out.table(findingView);
      let faults = 0;
      for await (const finding of examine(cli)) {
        if (!finding.ok) faults += 1;
        table.add([finding]);
      }
      if (faults > 0)
        throw new CliError(`${faults === 1 ? 'One check has' : `${faults} checks have`} failed.`, {
          fix: 'Follow the first fix, then run `tollgate doctor` again.',
        });
    });
}
