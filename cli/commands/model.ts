// tollgate model: the models that callers can use.
import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { type Model, ModelState } from '#proto/catalog/v1/catalog.js';
import type { Cli } from '../cli.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';
import { modelView } from '../views/model.js';
import { priceCommand } from './price.js';

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
      'Create a model, or replace everything but its prices, from a JSON file ("-" for standard input) in the format of `model show --json`.',
    )
    .action(async (file: string) => {
      // Loaded only here: the schema library would double the start-up time of every other command.
      const { parseModelFile } = await import('../model-file.js');
      const wanted = parseModelFile(file === '-' ? await cli.world.readStdin() : await readText(file));
      await put(cli, () => Promise.resolve(wanted));
    });

  model
    .command('retire <model>')
    .description('Retire a model: calls are rejected from now on. Its records and prices are kept.')
    .action((modelId: string) =>
      put(cli, async (catalog) => {
        const { model: present } = await catalog.getModel({ modelId }, operatorCall());
        return { ...present!, state: ModelState.MODEL_STATE_RETIRED };
      }),
    );

  model
    .command('export')
    .description(
      'Export all models with their current prices as one JSON document, which `model import` accepts, here or on another installation.',
    )
    .action(() =>
      cli.withServices(async ({ catalog }) => {
        const { catalogText } = await import('../catalog-file.js');
        cli.world.stdout(catalogText((await catalog.listModels({}, operatorCall())).models));
      }),
    );

  model
    .command('import <file>')
    .description(
      'Import the models of a document that `model export` wrote. Prices that differ become drafts, to be reviewed and published one by one.',
    )
    .option('--dry-run', 'only show what would change')
    .action(async (file: string, { dryRun }: { dryRun?: boolean }) => {
      const { importModels, importView, parseCatalogFile } = await import('../catalog-file.js');
      const entries = parseCatalogFile(file === '-' ? await cli.world.readStdin() : await readText(file));
      await cli.withServices(async ({ catalog }) => {
        const outcomes = await importModels(catalog, entries, dryRun === true);
        cli.out.list(importView, outcomes);
        if (dryRun !== true && outcomes.some(({ price }) => price === 'drafted'))
          cli.out.note('\nNext: tollgate price drafts, then tollgate price diff <model> for each.');
      });
    });

  return model.addCommand(priceCommand(cli));
}

function put(cli: Cli, wanted: (catalog: Services['catalog']) => Promise<Model>): Promise<void> {
  return cli.withServices(async ({ catalog }) => {
    const { model } = await catalog.putModel({ model: await wanted(catalog) }, operatorCall());
    cli.out.show(modelView, model!);
    if (model!.price === undefined && model!.state !== ModelState.MODEL_STATE_RETIRED) {
      cli.out.note(`\nIt has no price, so calls are rejected. Next: tollgate price publish ${model!.id} --input <usd> --output <usd>`);
    }
  });
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new CliError(`The file ${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`, { exitCode: 2, cause: error });
  }
}
