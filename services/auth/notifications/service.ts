// NotificationService: its RPCs, bound to their dependencies.
import { bindRpcs } from '#kit/rpc/bind-rpcs.js';
import type { NotificationService } from '#proto/auth/v1/notifications.js';
import type { NotificationDeps } from './deps.js';
import { appendNotifications } from './rpcs/append-notifications.js';
import { getDeliveryStatus } from './rpcs/get-delivery-status.js';
import { listNotifications } from './rpcs/list-notifications.js';
import { resumeDeliveries } from './rpcs/resume-deliveries.js';

/** Returns the implementation of the contract over these dependencies. */
export function notificationService(deps: NotificationDeps): NotificationService {
  return bindRpcs<NotificationService, NotificationDeps>(
    { appendNotifications, listNotifications, getDeliveryStatus, resumeDeliveries },
    deps,
  );
}
