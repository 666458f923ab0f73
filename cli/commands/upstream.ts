// tollgate upstream: the vendors and servers that models are reached through.
import { Command } from 'commander';
import { Upstream, type WireFormat } from '#proto/inference/v1/inference.js';
import type { Cli } from '../cli.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';
import { upstreamView, wireFormats } from '../views/upstream.js';

interface AddOptions {
  readonly format: WireFormat;
  readonly baseUrl: string;
  readonly secretStdin?: boolean;
  readonly secretEnv?: string;
  readonly secret: boolean;
  readonly allowPrivateNetwork?: boolean;
  readonly disabled?: boolean;
  readonly replace?: boolean;
}

/** The noun `upstream`. */
export function upstreamCommand(cli: Cli): Command {
  const upstream = new Command('upstream').description('Upstreams: the vendors and servers that models are reached through.');

  upstream
    .command('list')
    .description('All upstreams, without their secrets.')
    .action(() => cli.withServices(async ({ inference }) => cli.out.list(upstreamView, (await inference.listUpstreams({}, operatorCall())).upstreams)));

  // The secret is never an argument: the arguments of a process can be read by every user of the machine.
  upstream
    .command('add <id>')
    .description('Add an upstream. Its secret is asked for, or taken as the options say.')
    .requiredOption('--format <format>', `the wire format it speaks: ${wireFormats.all.join(', ')}`, wireFormats.parse)
    .requiredOption('--base-url <url>', 'up to and including the version segment, for example https://api.openai.com/v1')
    .option('--secret-stdin', 'read the secret from standard input')
    .option('--secret-env <name>', 'read the secret from this environment variable')
    .option('--no-secret', 'it needs none')
    .option('--allow-private-network', 'its address may be a private one (10/8, 192.168/16 …)')
    .option('--disabled', 'do not use it yet')
    .option('--replace', 'change the upstream of this id if there is one')
    .action(async (id: string, options: AddOptions) => {
      const secret = await readSecret(cli, id, options);
      await cli.withServices(async ({ inference }) => {
        if (options.replace !== true) await refuseExisting(inference, id);
        const wanted = Upstream.fromPartial({
          id,
          wireFormat: options.format,
          baseUrl: options.baseUrl,
          allowPrivateNetwork: options.allowPrivateNetwork === true,
          enabled: options.disabled !== true,
        });
        const response = await inference.putUpstream({ upstream: wanted, secret }, operatorCall());
        cli.out.show(upstreamView, response.upstream!);
        cli.out.note(`\nNext: name it in a model's routes: tollgate model show <model> --json > model.json, edit, tollgate model put model.json`);
      });
    });

  upstream
    .command('remove <id>')
    .description('Remove an upstream and its secret.')
    .action((upstreamId: string) =>
      cli.withServices(async ({ inference }) => {
        await inference.deleteUpstream({ upstreamId }, operatorCall());
        cli.out.show({ json: (id) => ({ id, removed: true }), columns: [{ title: 'removed', text: (id) => id }] }, upstreamId);
      }),
    );

  upstream
    .command('enable <id>')
    .description('Use an upstream again.')
    .action((id: string) => setEnabled(cli, id, true));

  upstream
    .command('disable <id>')
    .description('Do not use an upstream for now.')
    .action((id: string) => setEnabled(cli, id, false));

  return upstream;
}

async function readSecret(cli: Cli, id: string, options: AddOptions): Promise<string> {
  if (!options.secret) return '';
  if (options.secretEnv !== undefined) return notEmpty(cli.world.env[options.secretEnv], `The environment variable ${options.secretEnv} is not set.`);
  if (options.secretStdin === true) return notEmpty(await cli.world.readStdin(), 'Standard input was empty.');
  const typed = await cli.world.askSecret(`Secret of ${id} (not shown): `);
  return notEmpty(typed, 'No secret was given.');
}

function notEmpty(secret: string | undefined, fault: string): string {
  const trimmed = secret?.trim() ?? '';
  if (trimmed === '') throw new CliError(fault, { fix: 'Give it with --secret-stdin or --secret-env <name>, or say --no-secret.', exitCode: 2 });
  return trimmed;
}

async function find(inference: Services['inference'], id: string): Promise<Upstream | undefined> {
  const { upstreams } = await inference.listUpstreams({}, operatorCall());
  return upstreams.find((upstream) => upstream.id === id);
}

async function refuseExisting(inference: Services['inference'], id: string): Promise<void> {
  if ((await find(inference, id)) === undefined) return;
  throw new CliError(`There is an upstream ${id} already.`, { fix: 'Choose another id, or change it with --replace.' });
}

function setEnabled(cli: Cli, id: string, enabled: boolean): Promise<void> {
  return cli.withServices(async ({ inference }) => {
    const present = await find(inference, id);
    if (present === undefined) throw new CliError(`There is no upstream ${id}.`, { fix: '`tollgate upstream list` shows them.' });
    if (present.managed) throw new CliError(`The upstream ${id} is built in or set by configuration.`, { fix: 'Change it there, or retire the models that use it.' });
    // Without a secret the present one is kept.
    const response = await inference.putUpstream({ upstream: { ...present, enabled }, secret: undefined }, operatorCall());
    cli.out.show(upstreamView, response.upstream!);
  });
}
