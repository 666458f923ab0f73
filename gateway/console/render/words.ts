// The words of the console's API and the values of the contracts' enums that they stand for. Pure.
import { NotificationState } from '#proto/auth/v1/notifications.js';
import { WebhookEndpointState } from '#proto/auth/v1/webhooks.js';
import { BudgetPeriod } from '#proto/budget/v1/budget.js';
import { Capability, Modality, ModelState, PriceWarning_Kind, Tokenizer } from '#proto/catalog/v1/catalog.js';
import { ApiFormat, EjectionCause, OverrideMode, TargetState, TestResult } from '#proto/inference/v1/inference.js';
import { EntryKind, HoldState, RedemptionCodeState } from '#proto/ledger/v1/ledger.js';
import { DriftCheck, GroupBy, Outcome, RecordOrder, RefusalGroupBy } from '#proto/metering/v1/metering.js';
import { outcomes } from '../../formats/account-schema.js';
import * as all from '../schemas/words.js';

/** A generated enum with both directions of its mapping. */
type Generated = Readonly<Record<string, string | number>>;

/** Maps the words of one enum. */
export interface EnumWords<E extends number, W extends string> {
  readonly generated: Generated;
  readonly prefix: string;
  readonly all: readonly W[];
  of(value: E): W;
  value(word: W): E;
}

function wordsOf<E extends number, const W extends string>(
  generated: Generated,
  prefix: string,
  words: readonly W[],
  _of: readonly E[],
): EnumWords<E, W> {
  return {
    generated,
    prefix,
    all: words,
    of: (value) => String(generated[value]).slice(prefix.length).toLowerCase() as W,
    value: (word) => generated[prefix + word.toUpperCase()] as E,
  };
}

/** Gives the type of an enum's values. */
const of = <E extends number>(): readonly E[] => [];

/** The words of each enum; a test compares them with the contracts. */
export const words = {
  entryKind: wordsOf(EntryKind, 'ENTRY_KIND_', all.entryKinds, of<EntryKind>()),
  holdState: wordsOf(HoldState, 'HOLD_STATE_', all.holdStates, of<HoldState>()),
  codeState: wordsOf(RedemptionCodeState, 'REDEMPTION_CODE_STATE_', all.codeStates, of<RedemptionCodeState>()),
  endpointState: wordsOf(WebhookEndpointState, 'WEBHOOK_ENDPOINT_STATE_', all.endpointStates, of<WebhookEndpointState>()),
  deliveryState: wordsOf(NotificationState, 'NOTIFICATION_STATE_', all.deliveryStates, of<NotificationState>()),
  outcome: wordsOf(Outcome, 'OUTCOME_', outcomes, of<Outcome>()),
  budgetPeriod: wordsOf(BudgetPeriod, 'BUDGET_PERIOD_', all.budgetPeriods, of<BudgetPeriod>()),
  groupBy: wordsOf(GroupBy, 'GROUP_BY_', all.groupings, of<GroupBy>()),
  recordOrder: wordsOf(RecordOrder, 'RECORD_ORDER_', all.recordOrders, of<RecordOrder>()),
  refusalGroupBy: wordsOf(RefusalGroupBy, 'REFUSAL_GROUP_BY_', all.refusalGroupings, of<RefusalGroupBy>()),
  driftCheck: wordsOf(DriftCheck, 'DRIFT_CHECK_', all.driftChecks, of<DriftCheck>()),
  modality: wordsOf(Modality, 'MODALITY_', all.modalities, of<Modality>()),
  capability: wordsOf(Capability, 'CAPABILITY_', all.capabilities, of<Capability>()),
  modelState: wordsOf(ModelState, 'MODEL_STATE_', all.modelStates, of<ModelState>()),
  tokenizer: wordsOf(Tokenizer, 'TOKENIZER_', all.tokenizers, of<Tokenizer>()),
  priceWarning: wordsOf(PriceWarning_Kind, 'KIND_', all.priceWarnings, of<PriceWarning_Kind>()),
  targetState: wordsOf(TargetState, 'TARGET_STATE_', all.targetStates, of<TargetState>()),
  ejectionCause: wordsOf(EjectionCause, 'EJECTION_CAUSE_', all.ejectionCauses, of<EjectionCause>()),
  overrideMode: wordsOf(OverrideMode, 'OVERRIDE_MODE_', all.overrideModes, of<OverrideMode>()),
  apiFormat: wordsOf(ApiFormat, 'API_FORMAT_', all.apiFormats, of<ApiFormat>()),
  testResult: wordsOf(TestResult, 'TEST_RESULT_', all.testResults, of<TestResult>()),
};
