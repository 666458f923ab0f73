// All areas of the console's API, in the order in which the reference tells of them.
import { alertArea } from './alerts.js';
import { keyArea } from './keys.js';
import { memberArea } from './members.js';
import { moneyArea } from './money.js';
import { accountArea } from './operator/accounts.js';
import { auditArea } from './operator/audit.js';
import { catalogArea } from './operator/catalog.js';
import { codeArea } from './operator/codes.js';
import { healthArea } from './operator/health.js';
import { upstreamArea } from './operator/upstreams.js';
import { userArea } from './operator/users.js';
import type { Area } from './operation.js';
import { paymentArea } from './payments.js';
import { profileArea } from './profile.js';
import { signInArea } from './sign-in.js';
import { usageArea } from './usage.js';

/** A test compares them with the routes. */
export const areas: readonly Area[] = [
  signInArea,
  profileArea,
  keyArea,
  usageArea,
  moneyArea,
  paymentArea,
  alertArea,
  memberArea,
  accountArea,
  userArea,
  auditArea,
  catalogArea,
  upstreamArea,
  codeArea,
  healthArea,
];
