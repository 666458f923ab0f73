// tollgate model: what callers can name.
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
  const model = new Command('model').description('Models: what callers can name, and which upstreams serve it.');

  model
    .command('list')
    .description('All models with the price in force, in USD per million tokens.')
    .option('--retired', 'retired ones too')
    .action((options: { retired?: boolean }) =>
      cli.withServices(async ({ catalog }) => {
        const { models } = await catalog.listModels({}, operatorCall());
        cli.out.list(modelView, options.retired === true ? models : models.filter((one) => one.state !== ModelState.MODEL_STATE_RETIRED));
      }),
    );

  model
    .command('show <model>')
    .description('One model, by its id or an alias.')
    .action((modelId: string) =>
      cli.withServices(async ({ catalog }) => cli.out.show(modelView, (await catalog.getModel({ modelId }, operatorCall())).model!)),
    );

  model
    .command('put <file>')
    .description(
      'Make a model, or replace all of it but its prices, from a JSON file ("-" for standard input) as `model show --json` writes it.',
    )
    .action(async (file: string) => {
      // Loaded only here: the schema library would double the time that every other command takes to start.
      const { parseModelFile } = await import('../model-file.js');
      const wanted = parseModelFile(file === '-' ? await cli.world.readStdin() : await readText(file));
      await put(cli, () => Promise.resolve(wanted));
    });

  model
    .command('retire <model>')
    .description('Refuse a model from now on. Its records and prices stay.')
    .action((modelId: string) =>
      put(cli, async (catalog) => {
        const { model: present } = await catalog.getModel({ modelId }, operatorCall());
        return { ...present!, state: ModelState.MODEL_STATE_RETIRED };
      }),
    );

  model
    .command('export')
    .description('All models with their prices in force as one JSON document, which `model import` takes, here or elsewhere.')
    .action(() =>
      cli.withServices(async ({ catalog }) => {
        const { catalogText } = await import('../catalog-file.js');
        cli.world.stdout(catalogText((await catalog.listModels({}, operatorCall())).models));
      }),
    );

  model
    .command('import <file>')
    .description(
      'Put the models of a document as `model export` writes it. Prices that differ become drafts, which are looked at and published one by one.',
    )
    .option('--dry-run', 'only say what would be done')
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
      cli.out.note(`\nIt has no price, so calls are refused. Next: tollgate price publish ${model!.id} --input <usd> --output <usd>`);
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
