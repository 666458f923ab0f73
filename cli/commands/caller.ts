// tollgate caller: processes outside the installation that may call its services over gRPC.
import { Command } from 'commander';
import { type AccountLimit, type Caller, CreateCallerRequest } from '#proto/auth/v1/callers.js';
import { grantMeanings } from '#rules/access/callers.js';
import { issueFor, readAuthority, stageFiles, type StagedFiles } from '../callers/issue.js';
import type { Cli } from '../cli.js';
import { operatorCall } from '../connect.js';
import { CliError } from '../errors.js';
import { parseCount, parseOverlap, unknownWord } from '../options/parse.js';
import { callerView } from '../views/caller.js';

const daysDefault = 397;
const daysMax = 3650;

interface IssueOptions {
  readonly out: string;
  readonly days: number;
}

/** The noun `caller`. */
export function callerCommand(cli: Cli): Command {
  const caller = new Command('caller').description(
    'Processes that call the services over gRPC under their own name: their identities and grants.',
  );

  withIssuing(caller.command('add <name>'))
    .description('Add a caller, and issue its certificate: NAME.crt, NAME.key and ca.crt.')
    .requiredOption('--may <grant...>', 'add this grant, for example ledger.read', parseGrant)
    .option('--account <id...>', 'limit it to these accounts; every account by default')
    .option(
      '--identity <id>',
      'accept certificates of another PKI with this identity: spiffe://…, or CN=… for a common name; no certificate is issued',
    )
    .addHelpText('after', grantHelp)
    .action((name: string, options: { may: string[]; account?: string[]; identity?: string } & IssueOptions) => add(cli, name, options));

  caller
    .command('list')
    .description('List callers by name, with their grants and when they were last seen.')
    .option('--all', 'include revoked callers')
    .action((options: { all?: boolean }) =>
      cli.withServices(async ({ callers }) => {
        const { callers: all } = await callers.listCallers({}, operatorCall());
        cli.out.list(callerView, options.all === true ? all : all.filter(({ revokedAtMs }) => revokedAtMs === undefined));
      }),
    );

  caller
    .command('show <name>')
    .description('Show a caller.')
    .action((name: string) =>
      cli.withServices(async ({ callers }) => cli.out.show(callerView, (await callers.getCaller({ name }, operatorCall())).caller!)),
    );

  caller
    .command('update <name>')
    .description('Add and remove grants and accounts. Takes effect everywhere within a second.')
    .option('--may <grant...>', 'add grants', parseGrant)
    .option('--may-not <grant...>', 'remove grants', parseGrant)
    .option('--account <id...>', 'add accounts')
    .option('--not-account <id...>', 'remove accounts')
    .option('--all-accounts', 'remove the limit to accounts')
    .addHelpText('after', grantHelp)
    .action((name: string, options: UpdateOptions) => update(cli, name, options));

  caller
    .command('revoke <name>')
    .description('Revoke a caller everywhere within a second, and end its streams.')
    .action((name: string) =>
      cli.withServices(async ({ callers }) => {
        cli.out.show(callerView, (await callers.revokeCaller({ name }, operatorCall())).caller!);
      }),
    );

  withIssuing(caller.command('rotate <name>'))
    .description('Issue a new certificate to replace the current one, and replace its files.')
    .option(
      '--overlap <length>',
      'keep accepting the current certificate for this long, for example 24h; by default it stops working immediately',
      parseOverlap,
    )
    .action((name: string, options: { overlap?: bigint } & IssueOptions) => rotate(cli, name, options));

  return caller;
}

function withIssuing(command: Command): Command {
  return command
    .option('--out <folder>', 'the folder for the files', '.')
    .option('--days <count>', 'the number of days for which the certificate is valid', (text) => parseCount(text, 1, daysMax), daysDefault);
}

function parseGrant(grant: string, previous: string[] | undefined): string[] {
  if (!Object.hasOwn(grantMeanings, grant)) throw unknownWord(grant, Object.keys(grantMeanings));
  return [...(previous ?? []), grant];
}

function grantHelp(): string {
  const width = Math.max(...Object.keys(grantMeanings).map((grant) => grant.length));
  return `\nGrants:\n${Object.entries(grantMeanings)
    .map(([grant, meaning]) => `  ${grant.padEnd(width)}  ${meaning}`)
    .join('\n')}`;
}

/** Checks the name before the service sees it, because it becomes part of paths. */
function checkName(name: string): void {
  if (!/^[a-z][a-z0-9-]{1,62}$/.test(name))
    throw new CliError(
      `"${name}" is not a valid caller name: use 2 to 63 lower-case letters, digits and hyphens, beginning with a letter.`,
    );
}

/** Issues a certificate, registers it, and then puts its files in place. */
async function issued(
  cli: Cli,
  name: string,
  { out, days }: IssueOptions,
  mayReplace: boolean,
  register: (certificate: { sha256: Buffer; expiresAtMs: bigint; validUntilMs: undefined }) => Promise<Caller>,
): Promise<void> {
  const authority = readAuthority(cli.config());
  const certificate = await issueFor(authority, name, days);
  const files: StagedFiles = stageFiles(out, name, certificate, authority, mayReplace);
  let caller: Caller;
  try {
    caller = await register({ sha256: certificate.sha256, expiresAtMs: BigInt(certificate.expiresAtMs), validUntilMs: undefined });
  } catch (error) {
    files.discard();
    throw error;
  }
  files.commit();
  const { cert, key, ca } = files.paths;
  cli.out.show(callerView, caller, { files: { certificate: cert, key, ca } });
  cli.out.note(`Wrote ${cert}, ${key} and ${ca}. Keep the key secret; there is no other copy.`);
}

async function add(
  cli: Cli,
  name: string,
  options: { may: string[]; account?: string[]; identity?: string } & IssueOptions,
): Promise<void> {
  checkName(name);
  const request = CreateCallerRequest.fromPartial({
    name,
    grants: options.may,
    identity: options.identity ?? '',
    accountLimit: options.account === undefined ? undefined : { accountIds: options.account },
  });
  await cli.withServices(async ({ callers }) => {
    if (options.identity !== undefined) return cli.out.show(callerView, (await callers.createCaller(request, operatorCall())).caller!);
    await issued(
      cli,
      name,
      options,
      false,
      async (certificate) => (await callers.createCaller({ ...request, certificate }, operatorCall())).caller!,
    );
  });
}

async function rotate(cli: Cli, name: string, options: { overlap?: bigint } & IssueOptions): Promise<void> {
  checkName(name);
  await cli.withServices(({ callers }) =>
    issued(
      cli,
      name,
      options,
      true,
      async (certificate) =>
        (await callers.rotateCaller({ name, certificate, overlapMs: Number(options.overlap ?? 0n) }, operatorCall())).caller!,
    ),
  );
}

interface UpdateOptions {
  readonly may?: string[];
  readonly mayNot?: string[];
  readonly account?: string[];
  readonly notAccount?: string[];
  readonly allAccounts?: boolean;
}

async function update(cli: Cli, name: string, options: UpdateOptions): Promise<void> {
  if (Object.keys(options).length === 0)
    throw new CliError('No change was specified.', {
      fix: 'Specify --may, --may-not, --account, --not-account or --all-accounts.',
      exitCode: 2,
    });
  await cli.withServices(async ({ callers }) => {
    const { caller } = await callers.getCaller({ name }, operatorCall());
    const grants = [...new Set([...caller!.grants, ...(options.may ?? [])])].filter((grant) => options.mayNot?.includes(grant) !== true);
    const updated = await callers.updateCaller(
      { name, grants, accountLimit: limitAfter(caller!, options), version: caller!.version },
      operatorCall(),
    );
    cli.out.show(callerView, updated.caller!);
  });
}

function limitAfter({ accountLimit }: Caller, { account, notAccount, allAccounts }: UpdateOptions): AccountLimit | undefined {
  if (allAccounts === true) return undefined;
  if (accountLimit === undefined && account === undefined) return undefined;
  const accountIds = [...new Set([...(accountLimit?.accountIds ?? []), ...(account ?? [])])].filter(
    (id) => notAccount?.includes(id) !== true,
  );
  return { accountIds };
}
