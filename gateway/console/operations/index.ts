// The table: all operations of the console's API by area, in the order of the reference.
import type { Area } from '../table/operation.js';
import { alerts } from './alerts.js';
import { billing } from './billing.js';
import { keys } from './keys.js';
import { managementKeys } from './management-keys.js';
import { members } from './members.js';
import { accounts } from './operator/accounts.js';
import { audit } from './operator/audit.js';
import { callers } from './operator/callers.js';
import { codes } from './operator/codes.js';
import { health } from './operator/health.js';
import { models } from './operator/models.js';
import { money } from './operator/money.js';
import { prices } from './operator/prices.js';
import { targets } from './operator/targets.js';
import { upstreams } from './operator/upstreams.js';
import { users } from './operator/users.js';
import { payments } from './payments.js';
import { profile } from './profile.js';
import { projects } from './projects.js';
import { refusals } from './refusals.js';
import { secondFactor } from './second-factor.js';
import { signIn } from './sign-in.js';
import { usage } from './usage.js';
import { webhooks } from './webhooks.js';

export const areas: readonly Area[] = [
  signIn,
  profile,
  secondFactor,
  projects,
  keys,
  usage,
  refusals,
  billing,
  payments,
  alerts,
  webhooks,
  members,
  managementKeys,
  accounts,
  money,
  users,
  callers,
  audit,
  models,
  prices,
  upstreams,
  targets,
  codes,
  health,
];
