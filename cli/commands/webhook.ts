// tollgate webhook: the endpoints to which the events of an account are posted, and the deliveries.
import { Command, InvalidArgumentError, Option } from 'commander';
import { dayMs } from '#kit/clock.js';
import { type Notification, NotificationChannel, NotificationState } from '#proto/auth/v1/notifications.js';
import { UpdateWebhookEndpointRequest, type WebhookEndpoint } from '#proto/auth/v1/webhooks.js';
import { webhookEventTypes } from '#rules/webhook-events.js';
import { chooseAccount, withAccount } from '../options/accounts.js';
import { parseOverlap, unknownWord } from '../options/parse.js';
import type { Cli } from '../cli.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';
import { listPages, type PageOptions, withPaging } from '../pages.js';
import { endpointView, webhookDeliveryView } from '../views/webhook.js';

const attemptTimeoutMs = 20_000;
const overlapMsMax = 7 * dayMs;

interface AccountOption {
  readonly account?: string;
}

interface Settings extends AccountOption {
  readonly url?: string;
  readonly event?: string[];
  readonly description?: string;
  readonly enable?: boolean;
  readonly disable?: boolean;
}

/** The noun `webhook`. */
export function webhookCommand(cli: Cli): Command {
  const webhook = new Command('webhook').description('The endpoints to which the events of an account are posted.');
  const events = `the events to receive: ${webhookEventTypes.join(', ')}; without it all`;

  withAccount(webhook.command('list'))
    .description('List the endpoints.')
    .action((options: AccountOption) =>
      cli.withServices(async (services) => {
        cli.out.list(endpointView, await endpointsOf(services, await chooseAccount(services.auth, options.account)));
      }),
    );

  withAccount(webhook.command('create'))
    .description('Add an endpoint, and show its signing secret once.')
    .argument('<url>', 'the address that receives the requests')
    .option('--event <type...>', events, parseEventTypes)
    .option('--description <text>', 'what the endpoint is for', '')
    .action((url: string, options: Settings) =>
      cli.withServices(async ({ auth, webhooks }) => {
        const accountId = await chooseAccount(auth, options.account);
        const { description = '', event: eventTypes = [...webhookEventTypes] } = options;
        const request = { accountId, url, description, eventTypes, language: '' };
        const { endpoint, secret } = await webhooks.createWebhookEndpoint(request, operatorCall());
        showSecret(cli, endpoint!, secret);
      }),
    );

  withAccount(webhook.command('update'))
    .description('Change an endpoint. Settings without an option do not change.')
    .argument('<endpoint>', 'the id of the endpoint')
    .option('--url <url>', 'the address that receives the requests')
    .option('--event <type...>', 'the events to receive instead of the current ones', parseEventTypes)
    .option('--description <text>', 'what the endpoint is for')
    .addOption(new Option('--enable', 'send events to it again').conflicts('disable'))
    .option('--disable', 'send no events to it')
    .action((endpointId: string, options: Settings) =>
      cli.withServices(async ({ auth, webhooks }) => {
        const { url, description, event, enable, disable } = options;
        const updateMask = [
          ...(url === undefined ? [] : ['url']),
          ...(description === undefined ? [] : ['description']),
          ...(event === undefined ? [] : ['event_types']),
          ...(enable === true || disable === true ? ['enabled'] : []),
        ];
        if (updateMask.length === 0)
          throw new CliError('No change was specified.', {
            fix: 'Specify --url, --event, --description, --enable or --disable.',
            exitCode: 2,
          });
        const accountId = await chooseAccount(auth, options.account);
        const request = UpdateWebhookEndpointRequest.fromPartial({ accountId, endpointId, url, description, eventTypes: event ?? [] });
        const { endpoint } = await webhooks.updateWebhookEndpoint({ ...request, enabled: enable === true, updateMask }, operatorCall());
        cli.out.show(endpointView, endpoint!);
      }),
    );

  withAccount(webhook.command('delete'))
    .description('Delete an endpoint.')
    .argument('<endpoint>', 'the id of the endpoint')
    .action((endpointId: string, options: AccountOption) =>
      cli.withServices(async ({ auth, webhooks }) => {
        await webhooks.deleteWebhookEndpoint({ accountId: await chooseAccount(auth, options.account), endpointId }, operatorCall());
        cli.out.note('The endpoint was deleted.');
      }),
    );

  withAccount(webhook.command('rotate'))
    .description('Give an endpoint a new signing secret, and show it once.')
    .argument('<endpoint>', 'the id of the endpoint')
    .option(
      '--overlap <time>',
      'how long the previous secret also signs, for example 1h or none; at most 7d, and 24h by default',
      parseSignedOverlap,
    )
    .action((endpointId: string, { overlap = dayMs, ...options }: AccountOption & { overlap?: number }) =>
      cli.withServices(async ({ auth, webhooks }) => {
        const accountId = await chooseAccount(auth, options.account);
        const request = { accountId, endpointId, overlapSeconds: overlap / 1000 };
        const { endpoint, secret } = await webhooks.rotateWebhookSecret(request, operatorCall());
        showSecret(cli, endpoint!, secret);
      }),
    );

  withAccount(webhook.command('test'))
    .description('Send an example of an event now, and wait for the result. Exit code 1 when the delivery fails.')
    .argument('<endpoint>', 'the id of the endpoint')
    .argument('[event]', `the type of the event: ${webhookEventTypes.join(', ')}`, parseEventType, 'key.refused')
    .action((endpointId: string, eventType: string, options: AccountOption) =>
      cli.withServices(async ({ auth, webhooks }) => {
        const accountId = await chooseAccount(auth, options.account);
        const { delivery } = await webhooks.sendTestEvent({ accountId, endpointId, eventType }, operatorCall(attemptTimeoutMs));
        showDelivery(cli, delivery!);
      }),
    );

  withPaging(withAccount(webhook.command('deliveries')))
    .description('List the deliveries of the last 90 days, newest first.')
    .argument('[endpoint]', 'only to the endpoint with this id')
    .action((endpointId: string | undefined, options: AccountOption & PageOptions) =>
      cli.withServices(async ({ auth, notifications }) => {
        const accountId = await chooseAccount(auth, options.account);
        const channel = NotificationChannel.NOTIFICATION_CHANNEL_WEBHOOK;
        await listPages(cli, webhookDeliveryView, options, async (pageSize, pageToken) => {
          const request = { accountId, pageSize, pageToken, channel, endpointId: endpointId ?? '' };
          const response = await notifications.listNotifications(request, operatorCall());
          return { items: response.notifications, nextPageToken: response.nextPageToken };
        });
      }),
    );

  withAccount(webhook.command('resend'))
    .description('Resend an event now, and wait for the result. Exit code 1 when the delivery fails.')
    .argument('<delivery>', 'the id of the delivery')
    .action((deliveryId: string, options: AccountOption) =>
      cli.withServices(async ({ auth, webhooks }) => {
        const accountId = await chooseAccount(auth, options.account);
        const { delivery } = await webhooks.resendWebhookDelivery({ accountId, deliveryId }, operatorCall(attemptTimeoutMs));
        showDelivery(cli, delivery!);
      }),
    );

  return webhook;
}

function parseEventType(text: string): string {
  if (!webhookEventTypes.some((type) => type === text)) throw unknownWord(text, webhookEventTypes);
  return text;
}

function parseEventTypes(text: string, others: readonly string[] = []): string[] {
  return [...others, parseEventType(text)];
}

function parseSignedOverlap(text: string): number {
  const overlapMs = Number(parseOverlap(text));
  if (overlapMs > overlapMsMax) throw new InvalidArgumentError('It must be at most 7d.');
  return overlapMs;
}

function showSecret(cli: Cli, endpoint: WebhookEndpoint, secret: string): void {
  cli.out.show(endpointView, endpoint, { secret });
  cli.out.note(`\nRequests are signed with this secret, which is not shown again:\n${secret}`);
}

function showDelivery(cli: Cli, delivery: Notification): void {
  cli.out.show(webhookDeliveryView, delivery);
  if (delivery.state !== NotificationState.NOTIFICATION_STATE_DELIVERED)
    throw new CliError('The delivery failed.', { fix: 'See its outcome above.' });
}

async function endpointsOf({ webhooks }: Services, accountId: string): Promise<WebhookEndpoint[]> {
  return (await webhooks.listWebhookEndpoints({ accountId }, operatorCall())).endpoints;
}
