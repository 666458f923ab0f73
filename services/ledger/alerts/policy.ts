// Who may ask about alerts.
import type { PeerPolicy } from '#kit/rpc/peer-policy.js';
import type { AlertService } from '#proto/ledger/v1/alerts.js';

/** The gateway acts for those who are signed in to its console; the operator may call everything. */
export const alertPolicy: PeerPolicy<keyof AlertService> = {
  getAlert: ['gateway'],
  putAlert: ['gateway'],
  testAlert: ['gateway'],
  listAlertDeliveries: ['gateway'],
};
