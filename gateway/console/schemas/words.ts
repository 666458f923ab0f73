// The words that the console's API uses for the values of the contracts' enums. A test compares them with the contracts.

export const roles = ['owner', 'admin', 'developer', 'billing', 'viewer', 'member'] as const;
export const projectRoles = ['developer', 'viewer'] as const;
export const permissions = ['look', 'see projects', 'change keys', 'change money', 'change members', 'change projects'] as const;

export const entryKinds = [
  'deposit',
  'payment_refund',
  'payment_refund_reversal',
  'charge',
  'charge_correction',
  'shortfall',
  'adjustment',
  'refund',
  'refund_reversal',
] as const;
export const holdStates = ['open', 'settled', 'released', 'expired'] as const;
export const codeStates = ['open', 'claimed', 'redeemed', 'void'] as const;
export const endpointStates = ['enabled', 'disabled', 'failed'] as const;
export const deliveryStates = ['pending', 'delivered', 'failed', 'withdrawn'] as const;

export const budgetPeriods = ['lifetime', 'month', 'week', 'day'] as const;

export const groupings = ['key', 'model', 'day', 'outcome', 'hour', 'project'] as const;
/** By what totals are grouped: also by the user who created the key. */
export const totalGroupings = [...groupings, 'member'] as const;
export const recordOrders = ['charge', 'input', 'output', 'duration', 'first_output'] as const;
export const refusalGroupings = ['reason', 'key', 'model', 'day', 'hour', 'project'] as const;
export const driftChecks = [
  'charge',
  'price',
  'settlement',
  'hold',
  'record_missing',
  'hold_overdue',
  'unsettled',
  'rejected',
  'totals',
  'books',
  'outbox_lost',
] as const;

export const modalities = ['text', 'image', 'document', 'audio', 'embedding'] as const;
export const capabilities = ['tools', 'reasoning', 'structured_output', 'prompt_cache', 'sampling'] as const;
export const modelStates = ['active', 'deprecated', 'retired'] as const;
export const tokenizers = ['sandbox', 'o200k', 'anthropic'] as const;
export const priceWarnings = [
  'free',
  'zero',
  'output_below_input',
  'cache_read_above_input',
  'large_change',
  'first_price',
  'no_change',
  'start_passed',
  'ended_by_later',
] as const;
export const upstreamFormats = ['chat_completions', 'messages', 'responses', 'sandbox'] as const;
export const apiFormats = [...upstreamFormats, 'embeddings'] as const;
export const targetStates = ['cooling', 'ejected', 'available', 'failing'] as const;
export const ejectionCauses = [
  'consecutive_failures',
  'failure_rate',
  'slow_first_tokens',
  'failed_trial',
  'operator',
  'credential_rejected',
] as const;
export const overrideModes = ['drain', 'eject', 'return'] as const;
export const testResults = ['ok', 'failed', 'skipped', 'not_run'] as const;
