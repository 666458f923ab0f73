// Every page of the console with its address. Pages are loaded when they are first opened.
import { QueryClientProvider, useQuery } from '@tanstack/react-query';
import { Activity, type ComponentType, lazy, type ReactNode, Suspense, useEffect, useRef } from 'react';
import { Redirect, Route, Router, Switch, useLocation, useParams } from 'wouter';
import { ApiError } from './api/client.js';
import { getAccount, operatorKeys } from './api/operator.js';
import type { AccountOfMine, Me } from './api/session.js';
import { consolePath } from './base.js';
import {
  type AccountInUse,
  AccountProvider,
  MeProvider,
  rememberAccount,
  startAccount,
  useAccount,
  useMe,
  useMeQuery,
} from './session/account.js';
import { useIsPageKept } from './session/kept-page.js';
import { fetchMe, meKey, queryClient } from './session/queries.js';
import { serverFile } from './session/server-file.js';
import { FaultBoundary } from './shell/fault-boundary.js';
import { Frame } from './shell/frame.js';
import { PublicFrame } from './shell/public-frame.js';
import { NotFresh } from './shell/not-fresh.js';
import { Forbidden, NoAccount, NotFound } from './shell/fallback-pages.js';
import { Loading } from './ui/notice.js';
import { Fetched } from './ui/query.js';
import { Toasts } from './ui/toasts/toast.js';

/** A page that is loaded when it is first opened, or before. */
type Page = ComponentType & { readonly load: () => Promise<unknown> };

function page(load: () => Promise<{ default: ComponentType }>): Page {
  return Object.assign(
    lazy(() => serverFile(load)),
    { load },
  );
}

const SignIn = page(() => import('./pages/users/sign-in/sign-in.js'));

/** For users who are not signed in. */
const publicPages: Readonly<Record<string, Page>> = {
  '/sign-in': SignIn,
  '/sign-up': page(() => import('./pages/users/sign-in/sign-up.js')),
  '/forgot': page(() => import('./pages/users/sign-in/forgot.js')),
  '/reset': page(() => import('./pages/users/sign-in/reset.js')),
  '/email': page(() => import('./pages/users/sign-in/email.js')),
  '/link': page(() => import('./pages/users/sign-in/link.js')),
  '/invitation': page(() => import('./pages/users/sign-in/invitation.js')),
};

/** Below /accounts/{id}. */
const accountPages: Readonly<Record<string, Page>> = {
  '': page(() => import('./pages/home/home.js')),
  '/keys': page(() => import('./pages/keys/keys.js')),
  '/keys/:key': page(() => import('./pages/keys/key.js')),
  '/management-keys': page(() => import('./pages/management-keys/management-keys.js')),
  '/projects': page(() => import('./pages/projects/projects.js')),
  '/projects/:project': page(() => import('./pages/projects/project.js')),
  '/usage': page(() => import('./pages/usage/overview/overview.js')),
  '/usage/records/:record?': page(() => import('./pages/usage/records/records.js')),
  '/usage/refusals': page(() => import('./pages/refusals/refusals.js')),
  '/billing': page(() => import('./pages/billing/billing.js')),
  '/billing/statements/:month': page(() => import('./pages/billing/statement.js')),
  '/billing/receipts/:entry': page(() => import('./pages/billing/receipt.js')),
  '/playground': page(() => import('./pages/playground/playground.js')),
  '/webhooks': page(() => import('./pages/webhooks/webhooks.js')),
  '/members': page(() => import('./pages/users/members/members.js')),
  '/audit': page(() => import('./pages/users/audit/audit.js')),
};

/** The permission that pages of an account need. */
const permissions: readonly (readonly [pages: RegExp, permission: Parameters<AccountInUse['can']>[0]])[] = [
  [/^\/(billing|members|webhooks)/, 'look'],
  [/^\/management-keys/, 'change members'],
];

/** For operators. */
const operatorPages: Readonly<Record<string, Page>> = {
  '/operator/accounts': page(() => import('./pages/operator/accounts/accounts.js')),
  '/operator/accounts/:id': page(() => import('./pages/operator/accounts/account.js')),
  '/operator/users': page(() => import('./pages/operator/accounts/users.js')),
  '/operator/callers': page(() => import('./pages/operator/callers.js')),
  '/operator/models': page(() => import('./pages/operator/models/models.js')),
  '/operator/models/*id': page(() => import('./pages/operator/models/model.js')),
  '/operator/upstreams': page(() => import('./pages/operator/upstreams/upstreams.js')),
  '/operator/codes': page(() => import('./pages/operator/accounts/codes.js')),
  '/operator/audit': page(() => import('./pages/operator/audit.js')),
  '/operator/health': page(() => import('./pages/operator/health.js')),
};

const Settings = page(() => import('./pages/users/settings.js'));
const Security = page(() => import('./pages/security/security.js'));

// The page of the address is loaded immediately, before it is known whether a user is signed in.
const here = location.pathname.slice(consolePath.length);
const [, ofAccount] = /^\/accounts\/[^/]+(.*)$/.exec(here) ?? [];
const [first] = ofAccount === undefined ? matching({ ...publicPages, ...operatorPages }, here) : matching(accountPages, ofAccount);
void first?.load().catch(() => undefined);
// Uses the answer that index.html preloads, which the first request after sign-in would otherwise get, however old it is.
void queryClient.prefetchQuery({ queryKey: meKey, queryFn: fetchMe });

/** Returns the pages whose pattern the path fits; a part of a pattern that begins with a colon is any name. */
function matching(pages: Readonly<Record<string, Page>>, path: string): Page[] {
  const form = (pattern: string): string =>
    pattern
      .replace(/\/:\w+\?$/, '(/[^/]+)?')
      .replaceAll(/:\w+/g, '[^/]+')
      .replace(/\*\w+$/, '.+');
  return Object.entries(pages).flatMap(([pattern, each]) => (new RegExp(`^${form(pattern)}/?$`).test(path) ? [each] : []));
}

export function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <Toasts>
        <Router base={consolePath}>
          <Switch>
            {Object.entries(publicPages).map(([path, Page]) => (
              <Route key={path} path={path}>
                <Public page={Page} />
              </Route>
            ))}
            <Route>
              <SignedIn />
            </Route>
          </Switch>
        </Router>
      </Toasts>
    </QueryClientProvider>
  );
}

function Public({ page: Page }: { page: Page }) {
  return (
    <PublicFrame>
      <Shown>
        <Page />
      </Shown>
    </PublicFrame>
  );
}

function Shown({ children }: { children: ReactNode }) {
  const [path] = useLocation();
  return (
    <FaultBoundary resetKey={path}>
      <Suspense fallback={<Loading />}>{children}</Suspense>
    </FaultBoundary>
  );
}

function SignedIn() {
  const query = useMeQuery();
  const isKept = useIsPageKept();
  const last = useRef<Me | null>(null);
  const [path] = useLocation();
  return (
    <>
      {/* Without a signed-in user there is no frame around it. */}
      {query.data === undefined && <NotFresh />}
      <Fetched query={query}>
        {(known) => {
          const me = known ?? last.current;
          last.current = me;
          if (me === null) {
            // Not decoded, unlike wouter's own, because an `&` in a value would begin another parameter.
            const here = path + location.search;
            return <Redirect to={here === '/' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(here)}`} replace />;
          }
          const hasEnded = known === null && !isKept;
          return (
            <>
              {hasEnded && <Public page={SignIn} />}
              {/* After the same user has signed in again, the page still has what they typed into it. */}
              <Activity key={me.user.id} mode={hasEnded ? 'hidden' : 'visible'}>
                <MeProvider me={me}>
                  <Pages me={me} />
                </MeProvider>
              </Activity>
            </>
          );
        }}
      </Fetched>
    </>
  );
}

function Pages({ me }: { me: Me }) {
  if (me.second_factor_missing) {
    return (
      <Framed>
        <Security />
      </Framed>
    );
  }
  return (
    <Switch>
      <Route path="/">
        <Start page="" />
      </Route>
      {/* For links from outside of the console, which do not name an account. */}
      <Route path="/playground">
        <Start page="/playground" />
      </Route>
      {Object.entries(accountPages).map(([path, Page]) => (
        <Route key={path} path={`/accounts/:account${path}`}>
          <OfAccount>
            <Permitted path={path} page={Page} />
          </OfAccount>
        </Route>
      ))}
      {me.user.is_operator &&
        Object.entries(operatorPages).map(([path, Page]) => (
          <Route key={path} path={path}>
            <Framed>
              <Page />
            </Framed>
          </Route>
        ))}
      <Route path="/settings">
        <Framed>
          <Settings />
        </Framed>
      </Route>
      <Route path="/settings/security">
        <Framed>
          <Security />
        </Framed>
      </Route>
      <Route>
        <Framed>
          <NotFound />
        </Framed>
      </Route>
    </Switch>
  );
}

/** Opens the page in the last opened account. */
function Start({ page }: { page: string }) {
  const me = useMe();
  const account = startAccount(me);
  if (me.second_factor_accounts.length > 0)
    return (
      <Framed>
        <Security />
      </Framed>
    );
  if (account !== undefined) return <Redirect to={`/accounts/${account.id}${page}${location.search}`} replace />;
  if (me.user.is_operator) return <Redirect to={`/operator/accounts${location.search}`} replace />;
  return (
    <Frame>
      <NoAccount />
    </Frame>
  );
}

/** Pages that belong to no account keep the last opened account in the navigation. */
function Framed({ children }: { children: ReactNode }) {
  const account = startAccount(useMe());
  const content = (
    <Frame>
      <Shown>{children}</Shown>
    </Frame>
  );
  return account === undefined ? content : <AccountProvider account={account}>{content}</AccountProvider>;
}

function OfAccount({ children }: { children: ReactNode }) {
  const me = useMe();
  const id = useParams<{ account: string }>().account ?? '';
  const own = me.accounts.find((each) => each.id === id);
  // Operators have the rights of an owner in every account (gateway/console/session/access.ts).
  const foreign = useQuery({
    queryKey: operatorKeys.account(id),
    queryFn: ({ signal }) => getAccount(id, signal),
    enabled: own === undefined && me.user.is_operator,
  });
  if (own !== undefined) return <PagesOf account={own}>{children}</PagesOf>;
  // The page of the account is shown again as soon as the user has a second factor.
  if (!me.user.is_operator && me.second_factor_accounts.some((each) => each.id === id))
    return (
      <Framed>
        <Security />
      </Framed>
    );
  const isUnknown = !me.user.is_operator || (foreign.error instanceof ApiError && foreign.error.status === 404);
  return isUnknown ? (
    <Framed>
      <NotFound />
    </Framed>
  ) : (
    <Fetched query={foreign}>
      {({ name, state }) => (
        <PagesOf
          account={{
            id,
            name,
            suspended: state === 'suspended',
            role: 'owner',
            projects: [],
            permissions: ['look', 'see projects', 'change keys', 'change money', 'change members', 'change projects'],
          }}
        >
          {children}
        </PagesOf>
      )}
    </Fetched>
  );
}

function Permitted({ path, page: Page }: { path: string; page: Page }) {
  const account = useAccount();
  return permissions.every(([pages, permission]) => !pages.test(path) || account.can(permission)) ? <Page /> : <Forbidden />;
}

function PagesOf({ account, children }: { account: AccountOfMine; children: ReactNode }) {
  useEffect(() => rememberAccount(account.id), [account.id]);
  // Pages are remounted for another account, so that data of one account are never shown in another.
  return (
    <AccountProvider key={account.id} account={account}>
      <Frame>
        <Shown>{children}</Shown>
      </Frame>
    </AccountProvider>
  );
}
