// tollgate price: the prices of models, and when they start.
import { Command, InvalidArgumentError } from 'commander';
import { PriceVersion, type PutPriceDraftResponse, type UnitPrice } from '#proto/catalog/v1/catalog.js';
import { hasReason } from '#client/errors/app-error.js';
import type { Cli } from '../cli.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';
import { parseInstant, parsePrice } from '../options/parse.js';
import { isUnitName, requestUnit } from '#rules/money/pricing.js';
import { priceView } from '../views/model.js';
import { changeView, draftView, type Estimated, estimatedJson, typicalCallView, warningText } from '../views/price-draft.js';

/** The figures that options give. */
export interface Figures {
  readonly input?: bigint;
  readonly output?: bigint;
  readonly cacheRead?: bigint;
  readonly cacheWrite5m?: bigint;
  readonly cacheWrite1h?: bigint;
  readonly reasoning?: bigint | 'as-output';
  readonly unit?: readonly UnitChange[];
  /** Epoch milliseconds; 0: immediately. */
  readonly from?: bigint;
}

interface PublishOptions extends Figures {
  readonly draft?: bigint;
  readonly replaces?: string;
}

/** The noun `price`, which is available by itself and under `model`. */
export function priceCommand(cli: Cli): Command {
  const price = new Command('price').description(
    'The prices of models, in USD per million tokens and per other unit, and when they start.',
  );

  withFigures(cli, price.command('draft <model>'))
    .description(
      'Prepare a price and show what it would change. Prices without an option are taken from the existing draft, otherwise from the current price.',
    )
    .option('--author <name>', 'the author of the draft', 'CLI')
    .action((modelId: string, { author, ...figures }: Figures & { author: string }) =>
      cli.withServices(async (services) => {
        const wanted = withDefaults(modelId, figures, await presentFigures(services.catalog, modelId));
        await show(cli, services, await services.catalog.putPriceDraft({ price: wanted, author }, operatorCall()));
      }),
    );

  price
    .command('diff <model>')
    .description('Show what publishing the draft would change: each unit, and the cost of typical calls before and after.')
    .action((modelId: string) =>
      cli.withServices(async (services) => show(cli, services, await services.catalog.getPriceDraft({ modelId }, operatorCall()))),
    );

  price
    .command('drafts')
    .description('List drafts.')
    .action(() =>
      cli.withServices(async ({ catalog }) => cli.out.list(draftView, (await catalog.listPriceDrafts({}, operatorCall())).drafts)),
    );

  withFigures(cli, price.command('publish <model>'))
    .description(
      'Publish a new price for a model: its draft, or the given figures. Published prices never change; calls keep the price they started with.',
    )
    .option('--draft <version>', 'publish the draft with this version, as shown by `price diff`; a retry changes nothing', parseVersion)
    .option('--replaces <price>', 'with --draft: publish only if the draft still replaces this price, or "none"')
    .action((modelId: string, options: PublishOptions) => cli.withServices(({ catalog }) => publish(cli, catalog, modelId, options)));

  price
    .command('discard <model>')
    .description('Discard the draft of a model.')
    .option('--draft <version>', 'discard only if the draft has this version', parseVersion)
    .action((modelId: string, { draft }: { draft?: bigint }) =>
      cli.withServices(async ({ catalog }) => {
        await catalog.deletePriceDraft({ modelId, ...(draft === undefined ? {} : { version: draft }) }, operatorCall());
        cli.out.show({ json: (id) => ({ model_id: id, discarded: true }), columns: [{ title: 'discarded', text: (id) => id }] }, modelId);
      }),
    );

  price
    .command('list <model>')
    .description('List the prices of a model, latest start first.')
    .action((modelId: string) =>
      cli.withServices(async ({ catalog }) =>
        cli.out.list(priceView, (await catalog.listPriceVersions({ modelId }, operatorCall())).prices),
      ),
    );

  return price;
}

/** Adds the options for figures. */
export function withFigures(cli: Cli, command: Command): Command {
  return command
    .option('--input <usd>', 'the price of uncached input', parsePrice)
    .option('--output <usd>', 'the price of output', parsePrice)
    .option('--cache-read <usd>', 'the price of input read from a cache; by default that of input', parsePrice)
    .option('--cache-write-5m <usd>', 'the price of input written to a cache for five minutes; by default that of input', parsePrice)
    .option('--cache-write-1h <usd>', 'the price of input written to a cache for one hour; by default that of input', parsePrice)
    .option('--reasoning <usd>', 'the price of reasoning, or as-output', (text) => (text === 'as-output' ? text : parsePrice(text)))
    .option(
      '--unit <name=usd>',
      `the price of one unit other than tokens: request=0.001, web_search=0.01 or a name of your own; web_search=0.01,max=5 also sets the most that one call can use (default: ${unitsPerCallDefault}); web_search=none removes the price; can be repeated`,
      parseUnit,
    )
    .option('--from <when>', 'when it starts, for example 7d or 2027-01-31, or now', (text) =>
      text === 'now' ? 0n : parseInstant(text, cli.world.nowMs(), 'ahead'),
    );
}

/** The most of a unit that one call can use, unless the operator or the current price specifies it. */
const unitsPerCallDefault = 10;

/** The change that an option makes to the price of a unit. */
interface UnitChange {
  readonly unit: string;
  /** Undefined: the unit is removed. */
  readonly nanoUsd: bigint | undefined;
  /** Undefined: as before. */
  readonly maxPerCall: number | undefined;
}

function parseUnit(text: string, earlier: readonly UnitChange[] = []): UnitChange[] {
  const [, unit = '', usd = '', max] = /^([^=]*)=([^,]*)(?:,max=(\d{1,10}))?$/.exec(text) ?? [];
  if (!isUnitName(unit)) throw new InvalidArgumentError('Use a name and a price, for example web_search=0.01 or web_search=0.01,max=5.');
  if (earlier.some((each) => each.unit === unit)) throw new InvalidArgumentError(`"${unit}" already has a price.`);
  const nanoUsd = usd === 'none' ? undefined : parsePrice(usd);
  return [...earlier, { unit, nanoUsd, maxPerCall: max === undefined ? undefined : Number(max) }];
}

/** Returns the units of `present` with these changes. */
function changedUnits(changes: readonly UnitChange[], present: readonly UnitPrice[]): UnitPrice[] {
  const units = new Map(present.map((price) => [price.unit, price]));
  for (const { unit, nanoUsd, maxPerCall } of changes) {
    const before = units.get(unit)?.maxPerCall ?? (unit === requestUnit ? 1 : unitsPerCallDefault);
    if (nanoUsd === undefined) units.delete(unit);
    else units.set(unit, { unit, nanoUsd, maxPerCall: maxPerCall ?? before });
  }
  return [...units.values()];
}

function parseVersion(text: string): bigint {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('Use the version that `price diff` shows.');
  return BigInt(text);
}

async function publish(cli: Cli, catalog: Services['catalog'], modelId: string, options: PublishOptions): Promise<void> {
  const { draft, replaces, ...figures } = options;
  if (draft === undefined) {
    const price = withDefaults(
      modelId,
      figures,
      undefined,
      `, or publish the draft with the command that \`price diff ${modelId}\` prints`,
    );
    return cli.out.show(priceView, (await catalog.publishPrice({ price }, operatorCall())).price!);
  }
  if (Object.keys(figures).length > 0)
    throw new CliError('Prices cannot be changed while a draft is published.', {
      fix: 'Pass prices to `tollgate price draft`, or omit --draft.',
      exitCode: 2,
    });
  const beforePriceId = replaces === undefined ? {} : { beforePriceId: replaces === 'none' ? '' : replaces };
  const response = await catalog.publishPriceDraft({ modelId, version: draft, ...beforePriceId }, operatorCall());
  cli.out.show(priceView, response.price!);
}

/**
 * Takes figures that are not given from `present`; without one, derives them from input and output. Raises a CliError without these, whose fix
 * ends with `orElse`.
 */
export function withDefaults(modelId: string, figures: Figures, present: PriceVersion | undefined, orElse = ''): PriceVersion {
  const input = figures.input ?? present?.inputNanoUsdPerMtok;
  const output = figures.output ?? present?.outputNanoUsdPerMtok;
  if (input === undefined || output === undefined)
    throw new CliError('The prices of input and output are required.', {
      fix: `Specify --input <usd> and --output <usd>${orElse}.`,
      exitCode: 2,
    });
  const reasoning = figures.reasoning === 'as-output' ? undefined : (figures.reasoning ?? present?.reasoningNanoUsdPerMtok);
  return PriceVersion.fromPartial({
    modelId,
    effectiveFromMs: figures.from ?? present?.effectiveFromMs ?? 0n,
    inputNanoUsdPerMtok: input,
    cacheReadNanoUsdPerMtok: figures.cacheRead ?? present?.cacheReadNanoUsdPerMtok ?? input,
    cacheWrite5mNanoUsdPerMtok: figures.cacheWrite5m ?? present?.cacheWrite5mNanoUsdPerMtok ?? input,
    cacheWrite1hNanoUsdPerMtok: figures.cacheWrite1h ?? present?.cacheWrite1hNanoUsdPerMtok ?? input,
    outputNanoUsdPerMtok: output,
    reasoningNanoUsdPerMtok: reasoning,
    units: changedUnits(figures.unit ?? [], present?.units ?? []),
  });
}

/** Returns the existing draft, otherwise the current price; a draft with its figures would start immediately. */
async function presentFigures(catalog: Services['catalog'], modelId: string): Promise<PriceVersion | undefined> {
  try {
    return (await catalog.getPriceDraft({ modelId }, operatorCall())).draft!.price;
  } catch (error) {
    if (!hasReason(error, 'not_found')) throw error;
  }
  const { price } = (await catalog.getModel({ modelId }, operatorCall())).model!;
  return price === undefined ? undefined : { ...price, effectiveFromMs: 0n };
}

async function show(cli: Cli, { metering }: Services, { draft, diff }: PutPriceDraftResponse): Promise<void> {
  const tokens = diff!.typicalCalls.map((call) => call.tokens!);
  const prices = diff!.before === undefined ? [draft!.price!] : [draft!.price!, diff!.before];
  const { estimates } = await metering.estimateCharges({ prices, tokens }, operatorCall());
  const calls = diff!.typicalCalls.map((call, index): Estimated => ({
    call,
    afterNanoUsd: estimates[index]!.chargeNanoUsd,
    beforeNanoUsd: estimates[tokens.length + index]?.chargeNanoUsd,
  }));
  const replaces = diff!.before?.id ?? 'none';
  if (cli.out.json) return cli.out.show(draftView, draft!, { replaces: diff!.before?.id ?? null, ...estimatedJson(diff!, calls) });
  cli.out.show(draftView, draft!);
  cli.out.note('');
  cli.out.list(changeView(diff!.before !== undefined), diff!.changes);
  cli.out.note('');
  cli.out.list(typicalCallView, calls);
  for (const warning of diff!.warnings) cli.out.note(`\nNote: ${warningText(warning)}`);
  cli.out.note(`\nNext: tollgate price publish ${draft!.price!.modelId} --draft ${draft!.version} --replaces ${replaces}`);
}
