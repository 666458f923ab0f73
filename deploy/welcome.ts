// The text that Tollgate prints when it has started. Pure.
import { formatUsd } from '#rules/money/money.js';

/** Holds what the text shows. */
export interface Welcome {
  /** For example http://127.0.0.1:8080. */
  readonly address: string;
  /** Where browsers reach the gateway: the address, or the public URL that is set. */
  readonly publicUrl: string;
  readonly startedInMs: number;
  readonly dataDir: string;
  /** The mode, for example "one process, SQLite". */
  readonly mode: string;
  /** Set only on the first start. */
  readonly firstRun?: {
    /** The key's secret, if the output is a terminal; otherwise the key is in the file `keyPath`. */
    readonly secret?: string;
    /** The file that the key was written to, if the output is not a terminal. */
    readonly keyPath?: string;
    readonly startingBalanceNanoUsd: bigint;
    /** The operator's sign-in link if the output is a terminal, otherwise the file that contains it. */
    readonly console: { readonly url: string } | { readonly path: string };
    /** How long that link remains valid, in milliseconds. */
    readonly consoleMs: number;
  };
  /** The operator's command for this installation. */
  readonly command: string;
}

const rule = '─'.repeat(78);

/** Returns the text, which ends with a newline. It contains secrets only if `firstRun` does. */
export function welcomeText(welcome: Welcome): string {
  const { address, publicUrl, firstRun, command } = welcome;
  const lines = [
    rule,
    ` Tollgate is ready in ${(welcome.startedInMs / 1000).toFixed(1)} s at ${address}`,
    ` ${welcome.mode}; data in ${welcome.dataDir}`,
  ];
  if (firstRun !== undefined) {
    const key = firstRun.secret ?? `$(cat ${quoted(firstRun.keyPath!)})`;
    const { console } = firstRun;
    const once = `works once, within ${Math.round(firstRun.consoleMs / 60_000)} minutes; to create another: ${command} console link`;
    lines.push(
      '',
      'url' in console ? ` console           ${console.url}` : ` console           open the link in ${console.path} (readable only by you)`,
      `                   (${once})`,
      firstRun.secret === undefined
        ? ` platform key      in ${firstRun.keyPath} (readable only by you; not shown again)`
        : ` platform key      ${firstRun.secret}   (shown once)`,
      ` starting balance  $${formatUsd(firstRun.startingBalanceNanoUsd)}`,
      ' model             sandbox/echo: built in, no vendor account needed',
      '',
      ' chat-completions format:',
      `curl -s ${address}/v1/chat/completions -H "Authorization: Bearer ${key}" -H 'Content-Type: application/json' -d '{"model":"sandbox/echo","messages":[{"role":"user","content":"Hello"}]}'`,
      '',
      ' messages format:',
      `curl -s ${address}/v1/messages -H "x-api-key: ${key}" -H 'anthropic-version: 2023-06-01' -H 'Content-Type: application/json' -d '{"model":"sandbox/echo","max_tokens":64,"messages":[{"role":"user","content":"Hello"}]}'`,
      '',
      ' responses format:',
      `curl -s ${address}/v1/responses -H "Authorization: Bearer ${key}" -H 'Content-Type: application/json' -d '{"model":"sandbox/echo","input":"Hello"}'`,
      '',
      ` create a key      ${command} key create --name "my app"`,
      ` add an upstream   set OPENAI_API_KEY or ANTHROPIC_API_KEY and restart, or: ${command} upstream add --help`,
    );
  } else {
    lines.push(
      '',
      ` console           ${publicUrl}/console; to create a sign-in link: ${command} console link`,
      ` create a key      ${command} key create --name "my app"`,
      ` check             ${command} doctor`,
    );
  }
  lines.push(rule, '');
  return lines.join('\n');
}

/** Returns the operator's command, preceded by the data folder unless that is the command's default. */
export function commandFor(dataDir: string): string {
  return [...(dataDir === './data' ? [] : [`TOLLGATE_DATA_DIR=${quoted(dataDir)}`]), './tollgate'].join(' ');
}

/** Returns the path as a shell word. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
