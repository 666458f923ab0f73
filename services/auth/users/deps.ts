// The dependencies of the RPCs about users.
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { SecretBox } from '#kit/secrets/secret-box.js';
import type { Logger } from '#kit/log.js';
import type { ActorTokens } from '../actors/actor-tokens.js';
import type { AccountStore } from '../store/accounts.js';
import type { ProjectStore } from '../store/projects.js';
import type { Notifier } from '../notifications/notifier.js';
import type { UserMails } from './mail/user-mails.js';
import type { OidcProvider } from './oidc/provider.js';
import type { AuditStore } from './store/audit.js';
import type { FailureStore } from './store/failures.js';
import type { IdentityStore } from './store/identities.js';
import type { MailBudget } from './store/mail-budget.js';
import type { ManagementKeyStore } from './store/management-keys.js';
import type { Challenges } from './second-factor/challenges.js';
import type { Passkeys } from './second-factor/passkeys.js';
import type { SecondFactorStore } from './second-factor/store.js';
import type { MemberStore } from './store/members.js';
import type { UserStore } from '../users/store/users.js';
import type { ResetStore } from './store/resets.js';
import type { SessionStore } from './store/sessions.js';

/** Holds the lifetimes of sessions, links and invitations, in milliseconds. */
interface Lifetimes {
  /** Of a session that is not used. */
  readonly sessionIdleMs: number;
  /** Of any session. */
  readonly sessionMs: number;
  readonly linkMs: number;
  readonly invitationMs: number;
}

/** The rules for signing up. */
interface SignUpRules {
  /** Anyone. */
  readonly signUp: boolean;
  /** Every user of the identity provider with a verified address. */
  readonly oidcSignUp: boolean;
}

/** Which users must have a second factor, unless they sign in at the identity provider. */
interface SecondFactorRules {
  readonly requireSecondFactor: 'nobody' | 'operators' | 'everyone';
}

/** Holds the dependencies that every RPC about users receives. */
export interface UserDeps {
  readonly db: Database;
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly failures: FailureStore;
  readonly identities: IdentityStore;
  readonly members: MemberStore;
  readonly managementKeys: ManagementKeyStore;
  readonly audit: AuditStore;
  readonly accounts: AccountStore;
  readonly projects: ProjectStore;
  readonly resets: ResetStore;
  readonly factors: SecondFactorStore;
  readonly challenges: Challenges;
  readonly passkeys: Passkeys;
  readonly mailBudget: MailBudget;
  readonly mails: UserMails;
  readonly notifier: Notifier;
  /** Seals what the links of mails hold. */
  readonly box: SecretBox;
  readonly actorTokens: ActorTokens;
  /** Undefined: no user can sign in with an identity. */
  readonly identityProvider: OidcProvider | undefined;
  readonly lifetimes: Lifetimes;
  readonly config: SignUpRules & SecondFactorRules;
  readonly clock: Clock;
  readonly log: Logger;
}
