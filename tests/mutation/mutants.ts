// The guards of the money path, each broken in one way. The text has to occur exactly once in its file, so that a guard and its mutant are changed together.

/** A mutation that breaks one guard. */
export interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** The test files; one of them has to fail. */
  readonly tests: readonly string[];
}

type Break = readonly [name: string, from: string, to: string];

function of(file: string, tests: readonly string[], breaks: readonly Break[]): Mutant[] {
  return breaks.map(([name, from, to]) => ({ name, file, from, to, tests }));
}

const call = 'gateway/call/metered-call.test.ts';
const progress = 'gateway/call/response/progress.test.ts';
const chat = ['gateway/formats/chat-completions/stream.test.ts', 'gateway/formats/chat-completions/rest.test.ts'];
const messages = ['gateway/formats/messages/stream.test.ts', 'gateway/formats/messages/rest.test.ts'];

/** All of them. */
export const mutants: readonly Mutant[] = [
  ...of(
    'services/ledger/lane/unwritten-holds.ts',
    ['services/ledger/lane/unwritten-holds.test.ts'],
    [
      ['unwritten holds set nothing aside', 'rows.keep({ ...applied.changes, hold: undefined });', ''],
      ['holds are granted from rows that are being changed', 'this.transactions > 0 || this.isCommitting() || ', ''],
      [
        'a transaction that fails loses the holds that it would write',
        'this.waiting = [...taken.map((hold) => ({ ...hold, mayExist: true })), ...this.waiting];',
        '',
      ],
      ['a database that fails grants holds', 'this.known.clear();', ''],
      ['a hold ignores the budgets that are not known', ' || touched.budgets.length < operation.budgets.length', ''],
    ],
  ),
  ...of(
    'proto/rules/money/pricing.ts',
    ['proto/rules/money/pricing.test.ts'],
    [
      ['lines are rounded down', '(dividend + divisor - 1n) / divisor', 'dividend / divisor'],
      ['free lines are counted as priced', 'if (price > 0n) priced += 1;', 'priced += 1;'],
      ['nothing is reserved for rounding', 'Math.max(0, priced - 1)', '0'],
      ['too much is reserved for rounding', 'Math.max(0, priced - 1)', 'priced'],
      ['the first price bounds a side', 'if (price > highest) highest = price;', 'if (highest === 0n) highest = price;'],
      ['one answer bounds many', 'output.highest * BigInt(answers)', 'output.highest'],
      ['reasoning is charged twice', 'counts.outputTokens - counts.reasoningTokens', 'counts.outputTokens'],
      ['reasoning without a price is a line', '? 0 : counts.reasoningTokens', '? counts.reasoningTokens : counts.reasoningTokens'],
      [
        'cache writes of an hour are charged as of five minutes',
        '(prices) => prices.cacheWrite1hNanoUsdPerMtok',
        '(prices) => prices.cacheWrite5mNanoUsdPerMtok',
      ],
      ['one token more is affordable', 'Number(tokens);', 'Number(tokens) + 1;'],
      ['an amount below the input and the units affords output', 'if (amountNanoUsd < fixedNanoUsd) return 0;', ''],
      ['prices have no upper bound', ' || nanoUsd > unitPriceNanoUsdMax', ''],
      ['prices may be negative', 'nanoUsd < 0n || nanoUsd > unit', 'nanoUsd > unit'],
      ['other units are not held', ' + unitsNanoUsd,', ','],
      ['many requests are held', 'unit === requestUnit ? 1 : (unitCaps', 'unit === requestUnit ? 2 : (unitCaps'],
      ['a request is not charged', ' || countOf(counts, requestUnit) === requests) return counts;', ' || true) return counts;'],
      [
        'a charged request hides the other units',
        '[{ unit: requestUnit, count: requests }, ...others]',
        '[{ unit: requestUnit, count: requests }]',
      ],
      ['other units are charged per million', 'BigInt(quantity) * nanoUsd;', '(BigInt(quantity) * nanoUsd) / tokensPerPriceUnit;'],
      ['a unit may cost any amount', 'nanoUsd * BigInt(maxPerCall) > unitCostNanoUsdMax', 'false'],
      ['an empty prompt reserves rounding', 'inputTokensMax === 0 ? 0n : ', ''],
    ],
  ),
  ...of(
    'proto/rules/money/outcomes.ts',
    ['proto/rules/money/outcomes.test.ts'],
    [
      ['a disconnect is always charged', 'return !isAccepted;', 'return false;'],
      ['a failed whole answer is charged', '!(hasOutput && streaming)', '!hasOutput'],
      ['a failure before output is charged', '!(hasOutput && streaming)', '!streaming'],
      [
        'a finished answer hides a disconnect',
        'if (hasDisconnected || (!isFinished',
        'if ((hasDisconnected && !isFinished) || (!isFinished',
      ],
      ['a rejection is a fault of the gateway', 'if (isRejection && !hasOutput) return Outcome.OUTCOME_REJECTED;', ''],
      ['the cap is not noted', 'isCapped ? Outcome.OUTCOME_MAX_TOKENS : Outcome.OUTCOME_COMPLETED', 'Outcome.OUTCOME_COMPLETED'],
      ['a deadline is a fault of the gateway', " || reason === 'deadline_exceeded'", ''],
      ['disconnects are errors', "charged: 'if_accepted', isError: false", "charged: 'if_accepted', isError: true"],
    ],
  ),
  ...of(
    'gateway/call/admission/quote.ts',
    ['gateway/call/admission/quote.test.ts'],
    [
      ['images are free of bounds', 'inputTokensMax + images * (imageTokensMax || imageTokensMaxDefault)', 'inputTokensMax'],
      ['searches are not held', 'demand.choices, demand.unitCaps?.counts)', 'demand.choices)'],
      ['what a search finds is not held', ' || unitCaps !== undefined', ''],
      ['more searches are held than the price allows', 'Math.min(maxPerCall, wanted)', 'wanted'],
      ['a document is bounded by the text', 'documents > 0 || unitCaps', 'unitCaps'],
      [
        'a cap of the caller is not lowered to the limit',
        'Math.min(maxOutputTokens ?? model.outputLimitTokens, model.outputLimitTokens)',
        '(maxOutputTokens ?? model.outputLimitTokens)',
      ],
      ['a cap of the caller is held in part', 'maxOutputTokens === undefined ? costAtMost', 'true ? costAtMost'],
    ],
  ),
  ...of(
    'gateway/call/admission/budget-fallback.ts',
    ['gateway/call/admission/budget-fallback.test.ts'],
    [
      ['a cheaper model that is not permitted is used', 'if (!isPermitted(call, cheaper.model)) return undefined;', ''],
      ['a more expensive model is used', 'costAtMost(then!.bound, outputTokens) <= costAtMost(now!.bound, outputTokens)', 'true'],
    ],
  ),
  ...of(
    'gateway/call/metered-call.ts',
    [call, 'gateway/call/retries/retries.test.ts'],
    [
      ['what is free is charged in checkpoints', 'outcome?.free === true || sink', 'sink'],
      [
        'what no client received is charged in checkpoints',
        'outcome?.free === true || sink?.isUndelivered === true ?',
        'outcome?.free === true ?',
      ],
      ['the price is that of now', 'deps.models.resolve(request.parsed.model, startedAtMs)', 'deps.models.resolve(request.parsed.model)'],
      ['the cap of one answer is the cap of all', 'capTokens * Math.max(1, choices)', 'capTokens'],
      ['the cap is not what is affordable', 'maxOutputTokens: held.outputCapTokens,', 'maxOutputTokens: 1_000_000,'],
      [
        'an upstream that breaks off is taken for finished',
        'if (progress.finished === undefined) throw new AppError(',
        'if (false) throw new AppError(',
      ],
      ['the client sees what is not held for sure', 'await held.durable;', ''],
      [
        'the end is shown before the record',
        'recorded = await recording.record.catch',
        'recorded = await Promise.resolve({} as Recorded).catch',
      ],
      [
        'a cancelled call is not counted',
        'if (outcome.code === Outcome.OUTCOME_CLIENT_DISCONNECTED && !outcome.free)',
        'if (outcome.code !== Outcome.OUTCOME_CLIENT_DISCONNECTED && !outcome.free)',
      ],
      ['another target is tried after a disconnect', 'reading.noteIdle();\n        if (!hadBegun) {', 'if (!hadBegun) {'],
      ['a key may use any model', 'assertPermitted(request, requested.model);', ''],
      ['calls run while nothing can be recorded', 'deps.recorder.assertRecording();', ''],
    ],
  ),
  ...of(
    'gateway/call/admission/hold.ts',
    [call],
    [
      ['a hold without an answer is not released', 'if (isUnknownOutcome(error)) throw', 'if (false) throw'],
      ['the cap is not that of the hold', 'affordableOutputTokens(quote, amountNanoUsd)', '1_000_000'],
    ],
  ),
  ...of(
    'gateway/call/response/progress.ts',
    [progress, call],
    [
      ['a lost call is not charged its request', 'countRequests(this.tokens, this.call.price!, 1)', 'this.tokens'],
      ['what is read after a disconnect is charged', 'if (!this.hasDisconnected) this.tokens = usageSoFar;', 'this.tokens = usageSoFar;'],
      ['an estimate of the end counts after a disconnect', 'event.value.usageReported || !this.hasDisconnected', 'true'],
      [
        'what is read after a disconnect is unbounded',
        'Math.max(outputTokens, this.outputTokensRead + roughTokens(events))',
        'outputTokens',
      ],
      ['an accepted call is free', 'if (accepted !== undefined) this.#accept(accepted.target);', ''],
      ['a failed attempt is charged', 'this.#accepted.delete(nameOf(attempt.target));', ''],
      [
        'a block that only opened is charged',
        '} else if (isOutput(event)) {',
        "} else if (isOutput(event) || event?.$case === 'blockStart') {",
      ],
      ['output of other choices is free', "return event.value.countedText !== '';", 'return false;'],
      ['a call that may be hedged is awaited before it is answered', 'if (this.mayBeHedged && !this.hasBegun) return false;', ''],
      ['a request that waits is sent for a client that disconnected', 'if (waits !== undefined) this.#isAtUpstream = !waits;', ''],
      ['what broke off is counted with the next answer', 'this.#delivered = new AnswerText();', ''],
      ['an input is charged that no output followed', 'this.firstOutputAtMs === undefined ? noTokens : ', ''],
      [
        'a whole answer is not awaited after a disconnect',
        'return this.isAccepted || (this.#isAtUpstream && !this.call.streaming);',
        'return this.isAccepted;',
      ],
      ['what is reported is counted', 'if (input && output) return undefined;', ''],
      ['a report is replaced by a count', '...(input ? {} : { inputTokens: counted.inputTokens }),', 'inputTokens: counted.inputTokens,'],
      ['the answer is not counted', 'if (!this.#areReported.output) this.#delivered.add(events);', ''],
      ['what was reported before the end is forgotten', ', reported: this.#reportedOutput }', ' }'],
      ['a finished answer counts as disconnected', 'this.hasDisconnected = this.finished === undefined;', 'this.hasDisconnected = true;'],
    ],
  ),
  ...of(
    'gateway/call/response/drain-after-disconnect.ts',
    [call],
    [
      ['a stream that nobody accepted is awaited', '!answer.isExpected || ', ''],
      ['draining has no limit of tokens', 'answer.outputTokensRead > tokensMax', 'false'],
      ['draining has no limit of time', 'timer = setTimeout(stop, readOnTimeMs);', ''],
    ],
  ),
  ...of(
    'services/inference/tokens/meter.ts',
    ['services/inference/tokens/tokenizer.test.ts'],
    [
      ['the usage of one answer pays for several', 'return outputFaultByCount(output, counted) ?? output;', 'return output;'],
      ['the usage of a single answer is compared', 'this.request.choices <= 1 || ', ''],
    ],
  ),
  ...of(
    'services/inference/tokens/meter.ts',
    ['services/inference/upstreams/http/relay.test.ts'],
    [
      ['what was reported before the end is all that is charged', 'if (!this.#isFinal)', 'if (false)'],
      ['what was reported before the end counts as final', 'reported !== undefined && this.#isFinal', 'reported !== undefined'],
    ],
  ),
  ...of(
    'services/inference/tokens/count-output.ts',
    ['services/inference/rpcs/count-usage.test.ts'],
    [
      ['an event has no token', 'Math.max(Math.ceil(outputTokens * factor), contentEvents)', 'Math.ceil(outputTokens * factor)'],
      ['a count exceeds the hold', ', tokensMax);', ', Number.MAX_SAFE_INTEGER);'],
      ['a lower report replaces a count', ' && reported.outputTokens >= counted.outputTokens', ''],
    ],
  ),
  ...of(
    'gateway/call/recording/outcome.ts',
    [progress, call, 'gateway/call/recording/recorder.test.ts'],
    [
      ['estimates are reported', 'finished?.usageReported === true', 'true'],
      ['a withheld stream is free', 'if (!free || !isFinished) return request;', 'if (!isFinished) return request;'],
      ['a withheld answer keeps its answer', 'free, storedAnswer: Buffer.alloc(0), storedResponse: undefined }', 'free }'],
      ['a step back of the clock breaks the record', 'Math.max(0, Math.trunc(toMs - fromMs))', 'Math.trunc(toMs - fromMs)'],
    ],
  ),
  ...of('gateway/formats/chat-completions/stream.ts', chat, [
    ['another end is sent before the record', "this.heldEnds.push(frame);\n    return '';", 'return frame;'],
    [
      'the end is sent before the record',
      'this.end(event.value.stopReason, extraJson);',
      "{ this.end(event.value.stopReason, extraJson); frames += 'data: [DONE]\\n\\n'; }",
    ],
    ['usage comes unasked', 'const total = this.context.includeUsage ?', 'const total = true ?'],
    ['a call without arguments has none', 'return this.argumentsChunk(opened, \'"{}"\');', "return '';"],
    ['ends are held without bound', 'if (this.heldEnds.length >= heldEndsMax)', 'if (false)'],
  ]),
  ...of('gateway/formats/messages/stream.ts', messages, [
    ['another end is sent before the record', "this.heldEnds.push(event);\n    return '';", 'return event;'],
    ['ends are held without bound', 'if (this.heldEnds.length >= heldEndsMax)', 'if (false)'],
    ['ends that were held are lost', "${this.heldEnds.join('')}", ''],
    [
      'blocks are interleaved',
      "return this.queue[0] === block ? this.write(block) : '';\n  }\n\n  private addDelta",
      'return this.write(block);\n  }\n\n  private addDelta',
    ],
  ]),
  ...of(
    'gateway/http/sse.ts',
    ['gateway/http/sse.test.ts'],
    [
      [
        'a stream does not wait for its reader',
        'if (!response.write(frames)) await drained(response, options.slowReaderTimeoutMs);',
        'response.write(frames);',
      ],
      ['a reader that takes nothing is never cut off', 'response.setTimeout(timeoutMs);', 'response.setTimeout(0);'],
    ],
  ),
  ...of(
    'gateway/console/session/session.ts',
    ['gateway/console/session/session.test.ts'],
    [['sec-fetch-site is not checked', "fetchSite !== '' ? fetchSite !== 'same-origin' : ", '']],
  ),
  ...of(
    'services/metering/leases/lease-grace.ts',
    ['services/metering/leases/lease-sweeper.test.ts'],
    [['a step of the clock ends every lease', 'if (Math.abs(offsetMs - this.offsetMs) > stepMsMin) this.begin();', '']],
  ),
  ...of(
    'services/metering/leases/lease-sweeper.ts',
    ['services/metering/leases/lease-sweeper.test.ts'],
    [['a lost call is settled before its gateway could report it', 'isDue && !grace.isAwaitingReports()', 'isDue']],
  ),
  ...of(
    'services/metering/records/usage-record.ts',
    ['services/metering/rpcs/record-usage.test.ts', 'services/metering/leases/lease-sweeper.test.ts'],
    [
      ['an outcome that is never charged is', "ended.free || outcomeRules[ended.outcome].charged === 'never'", 'ended.free'],
      ['a free call counts a request', 'free ? 0 : 1', '1'],
      ['a lost call that delivered nothing is charged a request', 'isLost && !free ?', 'false ?'],
    ],
  ),
  ...of(
    'services/metering/requests/validate-usage.ts',
    ['services/metering/requests/validate-usage.test.ts'],
    [
      ['more of a unit is charged than was held', 'Math.min(count, cap)', 'count'],
      ['the cap of a price is ignored', 'Math.min(priced.maxPerCall, capOf(unit, unitCaps?.counts))', 'capOf(unit, unitCaps?.counts)'],
      ['a unit that occurs twice is charged once more', 'valid.some((each) => each.unit === unit)', 'false'],
    ],
  ),
  ...of(
    'services/auth/users/rpcs/get-session.ts',
    ['services/auth/users/users.test.ts'],
    [['a disabled user has a session', ' || stored.user.isDisabled', '']],
  ),
];
