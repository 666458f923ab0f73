// The console's API as a browser uses it: a cookie, and a header that other sites cannot send.
import { runCommand } from './command-runner.js';
import type { System } from './system.js';

/** Somebody's browser. */
export class Browser {
  private cookie = '';

  constructor(
    private readonly system: System,
    private readonly headers: Record<string, string> = {},
  ) {}

  /** A request; the body is JSON. */
  async ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const response = await fetch(`${this.system.baseUrl}/console/api${path}`, {
      method,
      headers: {
        ...(this.cookie === '' ? {} : { cookie: this.cookie }),
        ...(method === 'GET' ? {} : { 'x-tollgate-console': '1' }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...this.headers,
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [pair] = cookie.split(';');
      this.cookie = pair!.endsWith('=') ? '' : pair!;
    }
    return response;
  }

  /** The same, whose answer must be as wanted. */
  async get<T = Record<string, unknown>>(path: string): Promise<T> {
    return (await this.must('GET', path, undefined, 200)) as T;
  }

  async must<T = Record<string, unknown>>(method: string, path: string, body: unknown, status: number): Promise<T> {
    const response = await this.ask(method, path, body);
    const text = await response.text();
    if (response.status !== status) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`);
    return (text === '' ? {} : JSON.parse(text)) as T;
  }

  /** The status and the code of a refusal. */
  async refusal(method: string, path: string, body?: unknown): Promise<[number, string]> {
    const response = await this.ask(method, path, body);
    const answer = (await response.json()) as { error: { code: string } };
    return [response.status, answer.error.code];
  }

  async signIn(email: string, password: string): Promise<void> {
    await this.must('POST', '/session', { email, password }, 204);
  }
}

/** Adds a person by the operator's command. */
export async function addPerson(system: System, email: string, password: string, ...options: string[]): Promise<void> {
  const { code, stderr } = await runCommand(['user', 'add', email, '--password-stdin', ...options], system.operatorEnv(), `${password}\n`);
  if (code !== 0) throw new Error(stderr);
}
