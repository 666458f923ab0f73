// The beta flags of a caller, from its header anthropic-beta. Pure.

/**
 * Flags that vendors publish and that cost nothing but tokens, without their dates. Left out on purpose: those that change the price of tokens
 * (context-1m, fast-mode), that come with tools of the vendor (web-fetch, code-execution, mcp-client, skills), and that access its account
 * (files-api, oauth).
 */
const costTokensOnly = new Set(
  [
    'claude-code interleaved-thinking dev-full-thinking adaptive-thinking redact-thinking thinking-token-count effort',
    'thinking-display-updates thinking-binding-controls mid-conversation-output-config mid-conversation-system-clear-at',
    'context-management mid-conversation-tool-changes per-turn-control task-budgets model-context-window-exceeded',
    'advanced-tool-use tool-search-tool tool-examples token-efficient-tools fine-grained-tool-streaming computer-use',
    'structured-outputs prompt-caching prompt-caching-scope extended-cache-ttl cache-diagnosis token-counting output-128k',
    'output-300k max-tokens-3-5-sonnet pdfs search-results',
  ].flatMap((names) => names.split(' ')),
);
const dated = /^(.+)-\d{4}-\d{2}-\d{2}$|^(.+)-\d{8}$/;
const prefix = 'anthropic-beta.';

/** Returns the flags that the upstream receives, and the names of those that are dropped. `allowedFields` may allow more, as anthropic-beta.<flag>. */
export function sortBetas(flags: readonly string[], allowedFields: readonly string[]): { passed: string[]; dropped: string[] } {
  const passed: string[] = [];
  const dropped: string[] = [];
  for (const flag of flags) {
    const parts = dated.exec(flag);
    const isKnown = costTokensOnly.has(parts?.[1] ?? parts?.[2] ?? '') || allowedFields.includes(`${prefix}${flag}`);
    if (isKnown) passed.push(flag);
    else dropped.push(`${prefix}${flag}`);
  }
  return { passed, dropped };
}
