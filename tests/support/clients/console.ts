// Uses the console's API like a browser: with a cookie, and with a header that other sites cannot send.
import { answerCheck } from './api-reference.js';
import { runCommand } from './command-runner.js';
import type { System } from '../systems/system.js';

/** A user's browser. */
export class Browser {
  private readonly cookies = new Map<string, string>();

  constructor(
    private readonly system: System,
    private readonly headers: Record<string, string> = {},
  ) {}

  /** Sends a request with a JSON body. Every response is checked against the document of the console's API. */
  async ask(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
    signal: AbortSignal | null = null,
  ): Promise<Response> {
    const response = await fetch(`${this.system.baseUrl}/console/api${path}`, {
      method,
      headers: {
        ...this.cookieHeader(),
        ...(method === 'GET' ? {} : { 'x-tollgate-console': '1' }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...this.headers,
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'manual',
      signal,
    });
    this.keep(response);
    await (
      await answerCheck(this.system.baseUrl)
    )(method, path, response);
    return response;
  }

  /** Opens an address as a browser does, following redirects, also to other hosts. Returns the address of the page that would be shown. */
  async visit(address: string): Promise<string> {
    for (let url = address, hops = 0; hops < 10; hops += 1) {
      const isOurs = url.startsWith(`${this.system.baseUrl}/`);
      const response = await fetch(url, { redirect: 'manual', headers: isOurs ? { ...this.cookieHeader(), ...this.headers } : {} });
      if (isOurs) this.keep(response);
      await response.body?.cancel();
      const location = response.headers.get('location');
      if (location === null) return url;
      url = new URL(location, url).href;
    }
    throw new Error(`${address} leads nowhere.`);
  }

  private cookieHeader(): Record<string, string> {
    return this.cookies.size === 0 ? {} : { cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ') };
  }

  private keep(response: Response): void {
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
      if (value === '') this.cookies.delete(name!);
      else this.cookies.set(name!, value!);
    }
  }

  /** Sends a GET request that must succeed, and returns the parsed response. */
  async get<T = Record<string, unknown>>(path: string): Promise<T> {
    return (await this.must('GET', path, undefined, 200)) as T;
  }

  async must<T = Record<string, unknown>>(method: string, path: string, body: unknown, status: number): Promise<T> {
    const response = await this.ask(method, path, body);
    const text = await response.text();
    if (response.status !== status) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`);
    return (text === '' ? {} : JSON.parse(text)) as T;
  }

  /** Sends a request that must be refused. Returns the status and the error code. */
  async refusal(method: string, path: string, body?: unknown): Promise<[number, string]> {
    const response = await this.ask(method, path, body);
    const answer = (await response.json()) as { error: { code: string } };
    return [response.status, answer.error.code];
  }

  async signIn(email: string, password: string): Promise<void> {
    await this.must('POST', '/session', { email, password }, 204);
  }
}

/** The password of users in tests. */
export const password = 'correct horse battery';

/** Returns the browser of a user with that password, signed in. */
export async function signedIn(system: System, email: string): Promise<Browser> {
  const browser = new Browser(system);
  await browser.signIn(email, password);
  return browser;
}

/** Adds a user with that password who is a member of an account. */
export async function addMember(system: System, accountId: string, email: string, role: string, ...options: string[]): Promise<void> {
  await addUser(system, email, password, ...options);
  await system.cli('member', 'put', email, '--role', role, '--account', accountId);
}

/** Adds a user with the operator's command. */
export async function addUser(system: System, email: string, password: string, ...options: string[]): Promise<void> {
  const { code, stderr } = await runCommand(['user', 'add', email, '--password-stdin', ...options], system.operatorEnv(), `${password}\n`);
  if (code !== 0) throw new Error(stderr);
}

const noLimits = { rpm: null, tpm: null, concurrency: null };

/** What the console's API answers about the settings of a gateway that has only defaults. */
export const settingsByDefault = {
  trace_url: null,
  default_rate_limits: { key: noLimits, project: noLimits, account: noLimits, account_model: noLimits },
};
