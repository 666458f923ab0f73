// The webhook endpoints of an account, and what was sent to them.
import type {
  CreateWebhook,
  UpdateWebhook,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookSecret,
} from '../../../gateway/console/schemas/webhooks.js';
import { api, type Page } from './client.js';

export type { CreateWebhook, WebhookDelivery, WebhookEndpoint };

const of = (accountId: string): string => `/accounts/${accountId}/webhooks`;
const deliveries = (accountId: string): string => `/accounts/${accountId}/webhook-deliveries`;

export const listWebhooks = (accountId: string, signal?: AbortSignal): Promise<{ readonly data: readonly WebhookEndpoint[] }> =>
  api.get(of(accountId), { signal });
export const createWebhook = (accountId: string, body: CreateWebhook): Promise<WebhookSecret> => api.post(of(accountId), { body });
export const updateWebhook = (accountId: string, id: string, body: UpdateWebhook): Promise<WebhookEndpoint> =>
  api.patch(`${of(accountId)}/${id}`, { body });
export const deleteWebhook = (accountId: string, id: string): Promise<void> => api.delete(`${of(accountId)}/${id}`);
/** The previous secret also signs for a day. */
export const rotateWebhook = (accountId: string, id: string): Promise<WebhookSecret> =>
  api.post(`${of(accountId)}/${id}/secret`, { body: {} });
/** Sends an example and waits for the result. */
export const testWebhook = (accountId: string, id: string, type: string): Promise<WebhookDelivery> =>
  api.post(`${of(accountId)}/${id}/test`, { body: { event_type: type } });
export const listWebhookDeliveries = (
  accountId: string,
  endpoint: string,
  cursor: string | null,
  signal?: AbortSignal,
): Promise<Page<WebhookDelivery>> =>
  api.get(deliveries(accountId), { query: { cursor, limit: 20, endpoint: endpoint === '' ? null : endpoint }, signal });
/** Sends an event again and waits for the result. */
export const resendWebhook = (accountId: string, id: string): Promise<WebhookDelivery> => api.post(`${deliveries(accountId)}/${id}/resend`);
