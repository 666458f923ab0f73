// Validation of the fields of webhook endpoints. Each function raises invalid_request that names the field. Pure.
import { isIP } from 'node:net';
import { fieldFault } from '#client/errors/fault.js';
import { addressFault } from '#kit/net/address-guard.js';
import type { WebhookEndpoint } from '#proto/auth/v1/webhooks.js';
import { type WebhookEventType, webhookEventTypes } from '#rules/webhook-events.js';

const urlCharsMax = 2048;
const descriptionCharsMax = 200;

/** Returns the settings of an endpoint that a request has. */
export function checkedSettings(
  { url, description, eventTypes }: Pick<WebhookEndpoint, 'url' | 'description' | 'eventTypes'>,
  allowPrivateNetwork: boolean,
): Pick<WebhookEndpoint, 'url' | 'description' | 'eventTypes'> {
  return {
    description: checkedDescription(description),
    eventTypes: checkedEventTypes(eventTypes),
    url: checkedUrl(url, allowPrivateNetwork),
  };
}

/** Returns a description. */
export function checkedDescription(description: string): string {
  if ([...description].length > descriptionCharsMax || /\p{Cc}/u.test(description))
    throw fieldFault('description', 'printable', { max: descriptionCharsMax });
  return description;
}

/** Returns the types of events that an endpoint receives. */
export function checkedEventTypes(eventTypes: string[]): string[] {
  const isDistinct = new Set(eventTypes).size === eventTypes.length;
  if (eventTypes.length === 0 || !isDistinct || !eventTypes.every(isEventType)) throw fieldFault('event_types', 'some_distinct_known');
  return eventTypes;
}

/** Returns a type of event. */
export function checkedEventType(type: string): WebhookEventType {
  if (!isEventType(type)) throw fieldFault('event_type', 'known');
  return type;
}

function isEventType(type: string): type is WebhookEventType {
  return (webhookEventTypes as readonly string[]).includes(type);
}

/** Returns the address in its normalized form. Host names are checked when the connection is made. */
export function checkedUrl(text: string, allowPrivateNetwork: boolean): string {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) throw fieldFault('url', 'http_url');
  if (url.username !== '' || url.password !== '') throw fieldFault('url', 'no_credentials');
  url.hash = '';
  if (url.href.length > urlCharsMax) throw fieldFault('url', 'max_length', { max: urlCharsMax });
  const literal = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(literal) === 0) return url.href;
  if (addressFault(literal, true) !== undefined) throw fieldFault('url', 'refused_address', { address: literal });
  if (addressFault(literal, allowPrivateNetwork) !== undefined) throw fieldFault('url', 'public_address');
  return url.href;
}
