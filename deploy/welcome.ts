// What a person reads when Tollgate has started. Pure.
import { formatUsd } from '#rules/money.js';

/** Facts for the text. */
export interface Welcome {
  /** For example http://127.0.0.1:8080. */
  readonly address: string;
  readonly startedInMs: number;
  readonly dataDir: string;
  /** How it runs, for example "one process, SQLite". */
  readonly mode: string;
  /** Only on the first start. */
  readonly firstRun?: {
    /** The secret itself on a terminal, else undefined and the key is in a file. */
    readonly secret?: string;
    /** Where the key was written, off a terminal. */
    readonly keyPath?: string;
    readonly startingBalanceNanoUsd: bigint;
    /** Where the operator signs in: the link itself on a terminal, else the file that holds it. */
    readonly console: { readonly url: string } | { readonly path: string };
    /** How long that link works. */
    readonly consoleMs: number;
  };
  /** The command that talks to this installation. */
  readonly command: string;
}

const rule = '─'.repeat(78);

/** The text, ending in a newline. It holds secrets only if `firstRun` does. */
export function welcomeText(welcome: Welcome): string {
  const { address, firstRun, command } = welcome;
  const lines = [
    rule,
    ` Tollgate is ready in ${(welcome.startedInMs / 1000).toFixed(1)} s at ${address}`,
    ` ${welcome.mode}; data in ${welcome.dataDir}`,
  ];
  if (firstRun !== undefined) {
    const key = firstRun.secret ?? `$(cat ${quoted(firstRun.keyPath!)})`;
    const { console } = firstRun;
    const once = `works once, within ${Math.round(firstRun.consoleMs / 60_000)} minutes; a new one: ${command} console link`;
    lines.push(
      '',
      'url' in console
        ? ` console           ${console.url}`
        : ` console           open the link in ${console.path} (readable by you alone)`,
      `                   (${once})`,
      firstRun.secret === undefined
        ? ` platform key      in ${firstRun.keyPath} (readable by you alone; not shown again)`
        : ` platform key      ${firstRun.secret}   (shown once)`,
      ` starting balance  $${formatUsd(firstRun.startingBalanceNanoUsd)}`,
      ' model             sandbox/echo: built in, needs no vendor account',
      '',
      ' chat-completions format:',
      `curl -s ${address}/v1/chat/completions -H "Authorization: Bearer ${key}" -H 'Content-Type: application/json' -d '{"model":"sandbox/echo","messages":[{"role":"user","content":"Hello"}]}'`,
      '',
      ' messages format:',
      `curl -s ${address}/v1/messages -H "x-api-key: ${key}" -H 'provider-version: 2023-06-01' -H 'Content-Type: application/json' -d '{"model":"sandbox/echo","max_tokens":64,"messages":[{"role":"user","content":"Hello"}]}'`,
      '',
      ` more keys         ${command} key create --name "my app"`,
      ` a real upstream   set OPENAI_API_KEY or ANTHROPIC_API_KEY and start again, or: ${command} upstream add --help`,
    );
  } else {
    lines.push(
      '',
      ` console           ${address}/console; a link that signs you in: ${command} console link`,
      ` a new key         ${command} key create --name "my app"`,
      ` is all well?      ${command} doctor`,
    );
  }
  lines.push(rule, '');
  return lines.join('\n');
}

/** The operator's command for a single process, with the settings by which it finds this one where they are not the usual ones. */
export function commandFor(dataDir: string, address: string): string {
  const { port } = new URL(address);
  const settings = [
    ...(dataDir === './data' ? [] : [`TOLLGATE_DATA_DIR=${quoted(dataDir)}`]),
    ...(port === '8080' ? [] : [`PORT=${port}`]),
  ];
  return [...settings, './tollgate'].join(' ');
}

/** The path as a shell word. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
