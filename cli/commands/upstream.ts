// tollgate upstream: the vendors and servers that serve models.
import { Command } from 'commander';
import { ModelState } from '#proto/catalog/v1/catalog.js';
import { type ApiFormat, Upstream } from '#proto/inference/v1/inference.js';
import { declaredProbes } from '#rules/upstreams/capability-probes.js';
import type { Cli } from '../cli.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';
import { parseCount, parseTimeLimit } from '../options/parse.js';
import { credentialCommand } from './upstream-credential.js';
import { addHealthCommands } from './upstream-health.js';
import { findUpstream, readSecret, type SecretOptions } from './upstream-secret.js';
import { addedFormatNames, parseAddedFormat, testJson, testStepView, upstreamView } from '../views/upstream.js';

// The service ends a test within 15 s; the response still has to arrive.
const testTimeoutMs = 25_000;
const probeTimeoutMs = 10_000;

interface AddOptions extends SecretOptions {
  readonly format: ApiFormat;
  readonly baseUrl: string;
  readonly secret: boolean;
  readonly allowPrivateNetwork?: boolean;
  readonly wholeAnswers?: boolean;
  readonly connectTimeout?: number;
  readonly firstTokenTimeout?: number;
  readonly slowFirstToken?: number;
  readonly idleTimeout?: number;
  readonly totalTimeout?: number;
  readonly callsMax?: number;
  readonly rpm?: number;
  readonly tpm?: number;
  readonly probeInterval?: number;
  readonly allowField?: string[];
  readonly disabled?: boolean;
  readonly replace?: boolean;
}

/** The noun `upstream`. */
export function upstreamCommand(cli: Cli): Command {
  const upstream = new Command('upstream').description('The vendors and servers that serve models.');

  upstream
    .command('list')
    .description('List upstreams, without their secrets.')
    .action(() =>
      cli.withServices(async ({ inference }) =>
        cli.out.list(upstreamView, (await inference.listUpstreams({ withTests: true }, operatorCall())).upstreams),
      ),
    );

  upstream
    .command('show <id>')
    .description('Show an upstream, with the steps of its last test.')
    .action((id: string) =>
      cli.withServices(async ({ inference }) => {
        const shown = await findUpstream(inference, id);
        cli.out.show(upstreamView, shown);
        if (shown.lastTest === undefined || cli.out.json) return;
        cli.out.note('');
        cli.out.list(testStepView, shown.lastTest.steps);
      }),
    );

  upstream
    .command('test <id>')
    .description(
      'Test an upstream step by step: address, DNS, connection, TLS, secret, model list, and what a model can do. Exit code 1 when a step fails.',
    )
    .option(
      '--model <name>',
      "also make a call of at most 16 output tokens with this model (the vendor's name for it), and one of at most 1024 for each capability that the catalog lists for it; the vendor bills you for them, and no account is charged",
    )
    .action((id: string, options: { model?: string }) => cli.withServices((services) => test(cli, services, id, options.model)));

  upstream
    .command('add <id>')
    .description('Add an upstream. Prompts for its secret unless an option says where to read it.')
    .requiredOption('--format <format>', `the API format: ${addedFormatNames.join(', ')}`, parseAddedFormat)
    .requiredOption('--base-url <url>', 'the base URL up to and including the version segment, for example https://api.openai.com/v1')
    .option('--secret-stdin', 'read the secret from standard input')
    .option('--secret-env <name>', 'read the secret from this environment variable')
    .option('--no-secret', 'the upstream needs no secret')
    .option('--allow-private-network', 'allow a private address (10/8, 192.168/16 …)')
    .option(
      '--whole-answers',
      'do not stream short responses when the client does not stream: uses less CPU, but the first-token timeout applies to the whole response',
    )
    .option('--connect-timeout <time>', 'connect timeout, for example 5s', parseTimeLimit)
    .option(
      '--first-token-timeout <time>',
      'time limit from sending a request to the first event, or to the end of a whole answer',
      parseTimeLimit,
    )
    .option(
      '--slow-first-token <time>',
      'an answer that begins later than this counts as a failure in the failure rate (half of the first-token timeout)',
      parseTimeLimit,
    )
    .option('--idle-timeout <time>', 'idle timeout within a response', parseTimeLimit)
    .option('--total-timeout <time>', 'time limit of one attempt', parseTimeLimit)
    .option('--calls-max <n>', 'maximum number of calls in flight from one process', (text) => parseCount(text, 1, 100_000))
    .option(
      '--probe-interval <time>',
      'how often to request its list of models while a target is ejected, to detect when it works again (never)',
      parseTimeLimit,
    )
    .option('--rpm <n>', 'requests per minute that the vendor allows each credential', (text) => parseCount(text, 1, 1_000_000))
    .option('--tpm <n>', 'tokens per minute, input and output, that the vendor allows each credential', (text) =>
      parseCount(text, 1, 1_000_000_000),
    )
    .option(
      '--allow-field <names...>',
      'request fields that clients may send to it in addition to the standard fields, for example top_a or options.num_ctx; you pay whatever they cost in addition to tokens',
    )
    .option('--disabled', 'add it disabled')
    .option('--replace', 'replace an existing upstream with this id')
    .action(async (id: string, options: AddOptions) => {
      const secret = options.secret ? await readSecret(cli, id, options, ', or use --no-secret') : '';
      await cli.withServices(async ({ inference }) => {
        const wanted = Upstream.fromPartial({
          id,
          apiFormat: options.format,
          baseUrl: options.baseUrl,
          allowPrivateNetwork: options.allowPrivateNetwork === true,
          enabled: options.disabled !== true,
          wholeAnswers: options.wholeAnswers === true,
          limits: {
            connectTimeoutMs: options.connectTimeout,
            firstTokenTimeoutMs: options.firstTokenTimeout,
            slowFirstTokenMs: options.slowFirstToken,
            idleTimeoutMs: options.idleTimeout,
            totalTimeoutMs: options.totalTimeout,
            callsMax: options.callsMax,
            requestsPerMinute: options.rpm,
            tokensPerMinute: options.tpm,
            probeIntervalMs: options.probeInterval,
          },
          allowedFields: options.allowField ?? [],
        });
        await inference.putUpstream({ upstream: wanted, secret, createOnly: options.replace !== true }, operatorCall());
        cli.out.show(upstreamView, await findUpstream(inference, id));
        cli.out.note(`\nNext, check that it works: tollgate upstream test ${id}`);
        cli.out.note(
          `Then import its models: tollgate model import --from-upstream ${id} --input <usd> --output <usd>\n` +
            `Or add it to a model's targets: tollgate model show <model> --json > model.json, edit, tollgate model put model.json`,
        );
      });
    });

  upstream
    .command('remove <id>')
    .description('Remove an upstream and its secret. Fails while models are routed to it.')
    .option('--force', 'remove it even if models are routed to it; it then no longer serves them')
    .action((upstreamId: string, { force }: { force?: boolean }) =>
      cli.withServices(async ({ inference, catalog }) => {
        if (force !== true) await refuseUsed(catalog, upstreamId);
        await inference.deleteUpstream({ upstreamId }, operatorCall());
        cli.out.show({ json: (id) => ({ id, removed: true }), columns: [{ title: 'removed', text: (id) => id }] }, upstreamId);
      }),
    );

  upstream
    .command('enable <id>')
    .description('Enable an upstream.')
    .action((id: string) => setEnabled(cli, id, true));

  upstream
    .command('disable <id>')
    .description('Disable an upstream.')
    .action((id: string) => setEnabled(cli, id, false));

  upstream.addCommand(credentialCommand(cli));
  addHealthCommands(upstream, cli);
  return upstream;
}

async function test(cli: Cli, { inference, catalog }: Services, upstreamId: string, upstreamModel: string | undefined): Promise<void> {
  const { models } = upstreamModel === undefined ? { models: [] } : await catalog.listModels({}, operatorCall());
  const probes = declaredProbes(models, upstreamId, upstreamModel ?? '');
  const response = await inference.testUpstream(
    { upstreamId, upstreamModel, probes },
    operatorCall(testTimeoutMs + probes.length * probeTimeoutMs),
  );
  const result = response.test!;
  if (cli.out.json) cli.out.show({ json: (id) => ({ upstream: id, ...testJson(result) }), columns: [] }, upstreamId);
  else cli.out.list(testStepView, result.steps);
  if (!result.ok)
    throw new CliError(`The upstream ${upstreamId} failed at the step "${result.failedStep}".`, {
      fix: probedSteps.includes(result.failedStep)
        ? 'Remove the capabilities that the model lacks from its catalog entries, or configure its server to support them.'
        : `The finding above says why; \`tollgate upstream show ${upstreamId}\` shows it again.`,
    });
}

const probedSteps = ['tools', 'structured_output', 'images'];

async function refuseUsed(catalog: Services['catalog'], upstreamId: string): Promise<void> {
  const { models } = await catalog.listModels({}, operatorCall());
  const used = models
    .filter(
      ({ state, targets: routes }) => state !== ModelState.MODEL_STATE_RETIRED && routes.some((route) => route.upstreamId === upstreamId),
    )
    .map(({ id }) => id);
  if (used.length === 0) return;
  throw new CliError(`Models are routed to ${upstreamId}: ${used.join(', ')}.`, {
    fix: 'Change their targets first, disable the upstream, or use --force.',
  });
}

function setEnabled(cli: Cli, id: string, enabled: boolean): Promise<void> {
  return cli.withServices(async ({ inference }) => {
    const { lastTest, ...known } = await findUpstream(inference, id);
    if (known.managed)
      throw new CliError(`The upstream ${id} is built in or set by configuration.`, {
        fix: 'Change it there, or retire the models that use it.',
      });
    // Without a secret the current one is kept.
    const response = await inference.putUpstream(
      { upstream: { ...known, enabled }, secret: undefined, updateMask: ['enabled'] },
      operatorCall(),
    );
    cli.out.show(upstreamView, { ...response.upstream!, lastTest });
  });
}
