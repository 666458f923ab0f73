// How calls ended, in a few words.
import { dictionary } from './text.js';

export const outcomesText = dictionary(
  {
    outcome_completed: 'Completed',
    outcome_max_tokens: 'Output cap reached',
    outcome_client_disconnected: 'Client disconnected',
    outcome_rejected: 'Rejected',
    outcome_upstream_error_before_output: 'Upstream failed',
    outcome_upstream_error_after_output: 'Upstream failed midway',
    outcome_timeout: 'Timed out',
    outcome_gateway_error: 'Gateway error',
    outcome_gateway_lost: 'Gateway lost',
    brief_max_tokens: 'Output cap',
    brief_client_disconnected: 'Disconnected',
    brief_upstream_error_before_output: 'Failed',
    brief_upstream_error_after_output: 'Failed midway',
  },
  {
    outcome_completed: '已完成',
    outcome_max_tokens: '达到输出上限',
    outcome_client_disconnected: '客户端断开',
    outcome_rejected: '已拒绝',
    outcome_upstream_error_before_output: '上游失败',
    outcome_upstream_error_after_output: '上游中途失败',
    outcome_timeout: '超时',
    outcome_gateway_error: '网关错误',
    outcome_gateway_lost: '网关失联',
    brief_max_tokens: '输出上限',
    brief_client_disconnected: '已断开',
    brief_upstream_error_before_output: '失败',
    brief_upstream_error_after_output: '中途失败',
  },
);
