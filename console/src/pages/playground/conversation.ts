// The conversation with one model: its messages, the current answer, and the cost. Kept only in memory.
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { api } from '../../api/client.js';
import { callModel, type PlaygroundCall, type Turn } from '../../api/playground.js';

/** One question and its answer. */
export interface Exchange {
  readonly id: number;
  readonly question: string;
  readonly model: string;
  readonly text: string;
  readonly reasoning: string;
  readonly state: 'waiting' | 'streaming' | 'done' | 'stopped' | 'failed';
  readonly error?: unknown;
  readonly requestId?: string;
  /** The call as sent, for copying. */
  readonly call: PlaygroundCall;
}

/** The parameters of a call in addition to its messages. */
export interface CallSettings {
  readonly system: string;
  readonly maxTokens: string;
  readonly temperature: string;
}

/** The turns before a question: the instructions and all exchanges that have an answer. */
function turnsOf(exchanges: readonly Exchange[], { system }: CallSettings, question: string): Turn[] {
  const before = exchanges
    .filter(({ text }) => text !== '')
    .flatMap(({ question: asked, text }): Turn[] => [
      { role: 'user', content: asked },
      { role: 'assistant', content: text },
    ]);
  return [...(system.trim() === '' ? [] : [{ role: 'system' as const, content: system }]), ...before, { role: 'user', content: question }];
}

/** A conversation with a model. */
export function useConversation(accountId: string) {
  const [exchanges, setExchanges] = useState<readonly Exchange[]>([]);
  const aborts = useRef(new Map<number, AbortController>());
  const nextId = useRef(0);
  // Calls are stopped when the user leaves the page.
  useEffect(() => {
    const running = aborts.current;
    return () => running.forEach((each) => each.abort());
  }, []);

  const change = (id: number, how: (exchange: Exchange) => Partial<Exchange>): void =>
    setExchanges((all) => all.map((each) => (each.id === id ? { ...each, ...how(each) } : each)));

  async function ask(keyId: string, model: string, question: string, settings: CallSettings): Promise<void> {
    const id = nextId.current++;
    const call: PlaygroundCall = {
      model,
      messages: turnsOf(exchanges, settings, question),
      ...(settings.maxTokens === '' ? {} : { max_tokens: Number(settings.maxTokens) }),
      ...(settings.temperature === '' ? {} : { temperature: Number(settings.temperature) }),
    };
    const abort = new AbortController();
    aborts.current.set(id, abort);
    setExchanges((all) => [...all, { id, question, model, text: '', reasoning: '', state: 'waiting', call }]);
    try {
      for await (const piece of callModel(accountId, keyId, call, abort.signal, (requestId) => change(id, () => ({ requestId })))) {
        change(id, (each) => ({ state: 'streaming', text: each.text + piece.text, reasoning: each.reasoning + piece.reasoning }));
      }
      change(id, () => ({ state: 'done' }));
    } catch (error) {
      change(id, () => (abort.signal.aborted ? { state: 'stopped' } : { state: 'failed', error }));
    } finally {
      aborts.current.delete(id);
    }
  }

  return {
    exchanges,
    isRunning: exchanges.some(({ state }) => state === 'waiting' || state === 'streaming'),
    ask,
    stop: () => aborts.current.forEach((each) => each.abort()),
    clear() {
      aborts.current.forEach((each) => each.abort());
      setExchanges([]);
    },
  };
}

/** The figures of a call, from its usage record. */
export interface CallFigures {
  readonly charge_usd: string;
  readonly first_output_ms: number | null;
  readonly duration_ms: number;
  readonly tokens: {
    readonly input: number;
    readonly cache_read: number;
    readonly cache_write_5m: number;
    readonly cache_write_1h: number;
    readonly output: number;
  };
}

/** Fetches them once the call has ended; a call that was stopped is on record a moment later. */
export function useFigures(accountId: string, { requestId, state }: Exchange) {
  return useQuery({
    queryKey: ['record', accountId, requestId],
    queryFn: ({ signal }) => api.get<CallFigures>(`/accounts/${accountId}/usage/records/${requestId}`, { signal }),
    enabled: requestId !== undefined && state !== 'waiting' && state !== 'streaming',
    retry: 5,
    retryDelay: 1000,
    staleTime: Infinity,
  });
}
