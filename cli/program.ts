// The whole command line: its nouns, its common options and its exit codes.
import { Command } from 'commander';
import { type Cli, createCli, type World } from './cli.js';
import { accountCommand } from './commands/account.js';
import { alertCommand } from './commands/alert.js';
import { auditCommand } from './commands/audit.js';
import { backupCommand, restoreCommand } from './commands/backup.js';
import { balanceCommand } from './commands/balance.js';
import { callerCommand } from './commands/caller.js';
import { certificateCommand } from './commands/certificate.js';
import { codeCommand } from './commands/code.js';
import { configCommand } from './commands/config.js';
import { consoleCommand } from './commands/console.js';
import { doctorCommand } from './commands/doctor.js';
import { keyCommand } from './commands/key.js';
import { managementKeyCommand } from './commands/management-key.js';
import { memberCommand } from './commands/member.js';
import { notificationsCommand } from './commands/notifications.js';
import { projectCommand } from './commands/project.js';
import { userCommand } from './commands/user.js';
import { webhookCommand } from './commands/webhook.js';
import { ledgerCommand } from './commands/ledger.js';
import { modelCommand } from './commands/model.js';
import { priceCommand } from './commands/price.js';
import { refusalsCommand } from './commands/refusals.js';
import { secretKeyCommand } from './commands/secret-key.js';
import { statementCommand } from './commands/statement.js';
import { upstreamCommand } from './commands/upstream.js';
import { usageCommand } from './commands/usage.js';
import { explain } from './errors.js';

const nouns: readonly ((cli: Cli) => Command)[] = [
  accountCommand,
  userCommand,
  consoleCommand,
  memberCommand,
  projectCommand,
  keyCommand,
  managementKeyCommand,
  callerCommand,
  certificateCommand,
  balanceCommand,
  statementCommand,
  codeCommand,
  alertCommand,
  webhookCommand,
  notificationsCommand,
  ledgerCommand,
  usageCommand,
  refusalsCommand,
  modelCommand,
  priceCommand,
  upstreamCommand,
  auditCommand,
  backupCommand,
  restoreCommand,
  secretKeyCommand,
  doctorCommand,
  configCommand,
];

/** Runs the CLI with these arguments (without the program's name) and returns the exit code: 0, 1 for a failure, 2 for incorrect usage. */
export async function run(args: readonly string[], world: World): Promise<number> {
  const program = new Command('tollgate')
    .description('Operates Tollgate: accounts, projects, keys, balances, models and upstreams.')
    .version(world.version)
    .option('--json', 'write JSON: one object per line')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: (text) => world.stdout(text), writeErr: (text) => world.stderr(text) })
    .showHelpAfterError('Use --help to see the options.')
    .exitOverride();
  const cli = createCli(world, () => program.opts<{ json?: boolean }>().json === true);
  for (const noun of nouns) program.addCommand(noun(cli));
  for (const command of program.commands) inherit(program, command);
  let command: Command | undefined;
  program.hook('preAction', (_, action) => void (command = action));
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    const failure = explain(error, command);
    if (failure.lines.length > 0) world.stderr(`${failure.lines.join('\n')}\n`);
    return failure.exitCode;
  }
}

// Commander passes settings only to subcommands that it creates itself.
function inherit(parent: Command, child: Command): void {
  child.copyInheritedSettings(parent);
  for (const grandchild of child.commands) inherit(child, grandchild);
}
