// tollgate price: what models cost, and from when.
import { Command } from 'commander';
import { PriceVersion } from '#proto/catalog/v1/catalog.js';
import type { Cli } from '../cli.js';
import { operatorCall } from '../connect.js';
import { parseInstant, parsePrice } from '../parse.js';
import { priceView } from '../views/model.js';

interface PublishOptions {
  readonly input: bigint;
  readonly output: bigint;
  readonly cacheRead?: bigint;
  readonly cacheWrite5m?: bigint;
  readonly cacheWrite1h?: bigint;
  readonly reasoning?: bigint;
  readonly from?: bigint;
}

/** The noun `price`, which stands alone and below `model`. */
export function priceCommand(cli: Cli): Command {
  const price = new Command('price').description('Prices: what models cost, in USD per million tokens, and from when.');

  price
    .command('publish <model>')
    .description('Give a model a new price from now or a later instant on. Published prices never change; calls keep the price they began with.')
    .requiredOption('--input <usd>', 'uncached input', parsePrice)
    .requiredOption('--output <usd>', 'output', parsePrice)
    .option('--cache-read <usd>', 'input read from a cache; as input unless given', parsePrice)
    .option('--cache-write-5m <usd>', 'input written to a cache for five minutes; as input unless given', parsePrice)
    .option('--cache-write-1h <usd>', 'input written to a cache for one hour; as input unless given', parsePrice)
    .option('--reasoning <usd>', 'reasoning; as output unless given', parsePrice)
    .option('--from <when>', 'a later start, for example 7d or 2027-01-31', (text) => parseInstant(text, cli.world.nowMs(), 'ahead'))
    .action((modelId: string, options: PublishOptions) =>
      cli.withServices(async ({ catalog }) => {
        const wanted = PriceVersion.fromPartial({
          modelId,
          effectiveFromMs: options.from ?? 0n,
          inputNanoUsdPerMtok: options.input,
          cacheReadNanoUsdPerMtok: options.cacheRead ?? options.input,
          cacheWrite5mNanoUsdPerMtok: options.cacheWrite5m ?? options.input,
          cacheWrite1hNanoUsdPerMtok: options.cacheWrite1h ?? options.input,
          outputNanoUsdPerMtok: options.output,
          reasoningNanoUsdPerMtok: options.reasoning,
        });
        cli.out.show(priceView, (await catalog.publishPrice({ price: wanted }, operatorCall())).price!);
      }),
    );

  price
    .command('list <model>')
    .description('All prices of a model, latest start first.')
    .action((modelId: string) => cli.withServices(async ({ catalog }) => cli.out.list(priceView, (await catalog.listPriceVersions({ modelId }, operatorCall())).prices)));

  return price;
}
