// tollgate model: the models that callers can use.
import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { Capability, ModelState, type PriceVersion, type PutModelRequest } from '#proto/catalog/v1/catalog.js';
import type { Cli } from '../cli.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';
import { parseCount, parseInstant, parseList } from '../options/parse.js';
import { modelsOfList } from '../models/upstream-models.js';
import { modelView, modelWords } from '../views/model.js';
import { type Figures, priceCommand, withDefaults, withFigures } from './price.js';

/** The noun `model`. */
export function modelCommand(cli: Cli): Command {
  const model = new Command('model').description('The models that callers can use, and the upstreams that serve them.');

  model
    .command('list')
    .description('List models with their current prices, in USD per million tokens.')
    .option('--retired', 'include retired models')
    .action((options: { retired?: boolean }) =>
      cli.withServices(async ({ catalog }) => {
        const { models } = await catalog.listModels({}, operatorCall());
        cli.out.list(modelView, options.retired === true ? models : models.filter((one) => one.state !== ModelState.MODEL_STATE_RETIRED));
      }),
    );

  model
    .command('show <model>')
    .description('Show a model, by its id or an alias.')
    .action((modelId: string) =>
      cli.withServices(async ({ catalog }) => cli.out.show(modelView, (await catalog.getModel({ modelId }, operatorCall())).model!)),
    );

  model
    .command('put <file>')
    .description(
      'Create a model, or replace all of it except its prices, from a JSON file ("-" for standard input) in the format of `model show --json`.',
    )
    .action(async (file: string) => {
      // Loaded only here: the schema library would double the start-up time of every other command.
      const { parseModelFile } = await import('../models/model-file.js');
      const wanted = parseModelFile(file === '-' ? await cli.world.readStdin() : await readText(file));
      await put(cli, () => Promise.resolve({ model: wanted }));
    });

  model
    .command('retire <model>')
    .description('Retire a model: calls to it are refused from now on. Its records and prices are kept.')
    .action((modelId: string) =>
      put(cli, async (catalog) => {
        const { model: present } = await catalog.getModel({ modelId }, operatorCall());
        return { model: { ...present!, state: ModelState.MODEL_STATE_RETIRED }, updateMask: ['state'] };
      }),
    );

  model
    .command('pause <model>')
    .description('Pause a model: calls are refused for a while, and nothing is charged or held.')
    .option('--until <time>', 'when the pause ends, for example 2027-01-31T14:00Z or 2h; by default when `model resume` is run', (text) =>
      parseInstant(text, cli.world.nowMs(), 'ahead'),
    )
    .option('--reason <text>', 'the reason, shown to callers', '')
    .action((modelId: string, { until: untilMs = 0n, reason }: { until?: bigint; reason: string }) =>
      cli.withServices(async ({ catalog }) => {
        const { model: paused } = await catalog.pauseModel({ modelId, untilMs, reason }, operatorCall());
        cli.out.show(modelView, paused!);
      }),
    );

  model
    .command('resume <model>')
    .description('Resume a paused model.')
    .action((modelId: string) =>
      cli.withServices(async ({ catalog }) => cli.out.show(modelView, (await catalog.resumeModel({ modelId }, operatorCall())).model!)),
    );

  model
    .command('export')
    .description(
      'Export all models with their current prices as one JSON document, which `model import` accepts, here or on another installation.',
    )
    .action(() =>
      cli.withServices(async ({ catalog }) => {
        const { catalogText } = await import('../models/catalog-file.js');
        cli.world.stdout(catalogText((await catalog.listModels({}, operatorCall())).models));
      }),
    );

  withFigures(cli, model.command('import [file]'))
    .description(
      'Import the models of a document that `model export` wrote (prices that differ become drafts), or the models that an upstream lists, with the given prices.',
    )
    .option('--dry-run', 'only show what would change')
    .option(
      '--from-upstream <id>',
      'import the models that this upstream lists and the catalog does not have; --input and --output, or --free, are required',
    )
    .option('--free', 'with --from-upstream: calls are free of charge')
    .option('--models <names>', "with --from-upstream: only these, by the upstream's names, separated by commas", parseList)
    .option('--prefix <text>', 'with --from-upstream: the prefix of their ids; by default the id of the upstream and a slash')
    .option(
      '--context <tokens>',
      'with --from-upstream: the context limit of models for which the upstream does not report one',
      parseTokens,
    )
    .option(
      '--max-output <tokens>',
      'with --from-upstream: the maximum output of one answer; by default what the upstream reports, or the context limit',
      parseTokens,
    )
    .option('--capabilities <words>', `with --from-upstream: ${modelWords.capability.all.join(', ')}`, (text) =>
      parseList(text).map(modelWords.capability.parse),
    )
    .option('--images', 'with --from-upstream: they read images')
    .option('--embeddings', 'with --from-upstream: they return vectors; only --input is required')
    .action(async (file: string | undefined, options: ImportOptions) => {
      if ((file === undefined) === (options.fromUpstream === undefined))
        throw new CliError('Either a file or --from-upstream <id> is required.', { exitCode: 2 });
      await (file === undefined ? importFromUpstream(cli, options.fromUpstream!, options) : importFile(cli, file, options.dryRun === true));
    });

  return model.addCommand(priceCommand(cli));
}

interface ImportOptions extends Figures {
  readonly dryRun?: boolean;
  readonly fromUpstream?: string;
  readonly free?: boolean;
  readonly models?: string[];
  readonly prefix?: string;
  readonly context?: number;
  readonly maxOutput?: number;
  readonly capabilities?: Capability[];
  readonly images?: boolean;
  readonly embeddings?: boolean;
}

const parseTokens = (text: string): number => parseCount(text, 1, 100_000_000);

async function importFile(cli: Cli, file: string, isDryRun: boolean): Promise<void> {
  const { importModels, importView, parseCatalogFile } = await import('../models/catalog-file.js');
  const entries = parseCatalogFile(file === '-' ? await cli.world.readStdin() : await readText(file));
  await cli.withServices(async ({ catalog }) => {
    const outcomes = await importModels(catalog, entries, isDryRun);
    cli.out.list(importView, outcomes);
    if (!isDryRun && outcomes.some(({ price }) => price === 'drafted'))
      cli.out.note('\nNext: tollgate price drafts, then tollgate price diff <model> for each.');
  });
}

async function importFromUpstream(cli: Cli, upstreamId: string, options: ImportOptions): Promise<void> {
  const { importListed, importView } = await import('../models/catalog-file.js');
  const { free, embeddings = false, images = false, capabilities = [Capability.CAPABILITY_SAMPLING] } = options;
  if (free === true && (options.input !== undefined || options.output !== undefined))
    throw new CliError('--free cannot be combined with prices.', { exitCode: 2 });
  const figures = free === true ? { input: 0n, output: 0n } : { ...options, ...(embeddings ? { output: 0n } : {}) };
  const priceOf = (modelId: string): PriceVersion => withDefaults(modelId, figures, undefined, ', or --free');
  // Missing prices are a fault even if there is nothing to import.
  priceOf('');
  await cli.withServices(async ({ catalog, inference }) => {
    const { models } = await inference.listUpstreamModels({ upstreamId }, operatorCall());
    const { prefix = `${upstreamId}/`, models: only, context, maxOutput } = options;
    const wanted = modelsOfList(upstreamId, models, { prefix, only, context, maxOutput, capabilities, images, embeddings });
    const outcomes = await importListed(catalog, wanted, priceOf, options.dryRun === true);
    cli.out.list(importView, outcomes);
    const [made] = outcomes.filter(({ fields }) => fields === 'new');
    if (made !== undefined && options.dryRun !== true)
      cli.out.note(
        `\nNext: tollgate upstream test ${upstreamId} --model ${wanted.find(({ id }) => id === made.id)!.targets[0]!.upstreamModel}`,
      );
  });
}

function put(cli: Cli, wanted: (catalog: Services['catalog']) => Promise<PutModelRequest>): Promise<void> {
  return cli.withServices(async ({ catalog }) => {
    const { model } = await catalog.putModel(await wanted(catalog), operatorCall());
    cli.out.show(modelView, model!);
    if (model!.price === undefined && model!.state !== ModelState.MODEL_STATE_RETIRED) {
      cli.out.note(`\nIt has no price, so calls to it are refused. Next: tollgate price publish ${model!.id} --input <usd> --output <usd>`);
    }
  });
}

/** Returns the text of a file. Errors of folders, which Node reports without their path, name it too. */
function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: object) => {
    throw Object.assign(error, { path: file });
  });
}
