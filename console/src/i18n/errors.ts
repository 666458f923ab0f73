// What the console's API refuses, in Simplified Chinese. Its own sentences are English; this is fetched with the first refusal of a page in Chinese. Pure.

/** A refusal as the API tells it. */
export interface Refusal {
  readonly code: string;
  readonly field: string | null;
  readonly message: string;
}

/** A refusal in the reader's language. */
export interface Words {
  readonly text: string;
  /** The API's own sentence, where it says more. */
  readonly detail: string | undefined;
}

/** A sentence for every code. */
export const ofCode: Readonly<Record<string, string>> = {
  invalid_request: '请求中有内容缺失、格式不对或超出范围。',
  unsupported_field: '请求中有此处不支持的内容。',
  context_length_exceeded: '对话加上要求的输出超出了模型的上下文长度。请缩短对话、减小输出上限或换用上下文更长的模型。',
  body_too_large: '请求内容过大，请减少后再试。',
  idempotency_mismatch: '同一操作标识此前已用于其他内容，未作任何更改。请重新打开表单再试。',
  idempotency_in_progress: '相同的操作仍在进行中，请稍候再试。',
  idempotency_answer_gone: '该调用已计费，但其回答未被保留。请重新发起。',
  not_found: '未找到所请求的内容。',
  already_exists: '该内容已存在，请换用其他名称，或使用已有的。',
  failed_precondition: '当前状态不允许此操作。',
  method_not_allowed: '此地址不支持该操作。请重新加载页面后再试。',

  key_missing: '请求中没有平台密钥。',
  key_malformed: '所发送的内容不是平台密钥，可能未完整复制。',
  key_unknown: '此处没有这个密钥，请检查它是否属于本服务。',
  key_revoked: '该密钥已吊销，请换用其他密钥。',
  key_disabled: '该密钥已停用。请启用它，或换用其他密钥。',
  key_expired: '该密钥已过期，请换用其他密钥。',
  account_suspended: '该账户已被运维人员暂停。请联系运维人员。',
  model_not_permitted: '该密钥不能使用此模型。请换用模型，或更改密钥可用的模型。',

  sign_in_refused: '身份验证未通过：信息不相符，或链接已失效。',
  sign_in_throttled: '失败次数过多，请稍候再试。',
  session_unknown: '登录已失效，请重新登录。',
  role_not_permitted: '您的角色没有此权限，请联系账户的所有者或管理员。',

  model_unknown: '没有这个名称的模型，请从模型列表中选择。',
  model_unpriced: '该模型没有生效中的价格，因此不能调用。请换用其他模型，或请运维人员发布价格。',
  model_unavailable: '目前没有可用的上游提供该模型。请换用其他模型，或稍后再试。',

  balance_empty: '账户余额不足以支付此次调用的最高可能费用。请充值，或减小输出上限。',
  balance_held: '余额正被进行中的调用冻结。请等它们结束后再试。',
  key_limit_reached: '该密钥的消费上限不足以支付此次调用。请提高上限，或换用其他密钥。',
  hold_closed: '此次调用的冻结已结束，请再试一次。',
  code_refused: '此兑换码不存在、已被使用或已失效。请与发放给您的内容核对。',
  code_throttled: '被拒绝的兑换码过多，请稍候再试。',
  call_closed: '此次调用已被记为中断。费用请见其用量记录。',

  upstream_rejected: '模型的供应商拒绝了此请求。',
  upstream_rate_limited: '模型的供应商暂时不再接受更多调用，请稍候再试。',
  upstream_overloaded: '模型的供应商负载过高，请稍候再试。',
  upstream_unavailable: '无法连接外部供应商，或其拒绝了我们的凭据。请稍候再试；若持续如此，请联系运维人员。',
  upstream_failed: '外部供应商返回了错误或中途断开，请再试一次。',
  upstream_timeout: '模型的供应商未在时限内回答，请再试一次。',

  overloaded: '目前请求过多，未执行任何操作。请稍候再试。',
  service_unavailable: '网关的一部分暂时无法访问，请稍候再试。',
  deadline_exceeded: '操作未在时限内完成，请再试一次。',
  cancelled: '请求已取消。',
  unimplemented: '此版本不提供该功能。',
  internal: '网关内部出错。请再试一次；若仍无效，请将请求 ID 告知运维人员。',

  // Of the console itself.
  unreachable: '无法连接网关。请检查网关是否在运行、网络是否正常。',
  unexpected_answer: '收到了意外的回应，可能来自中间的代理。请稍候再试。',
};

/** Where the field says more than the code alone. */
export const ofField: Readonly<Record<string, string>> = {
  'already_exists email': '已有人使用此邮箱地址。',
  'already_exists model.id': '已有此 ID 的模型，请换用其他 ID。',
  'already_exists upstream.id': '已有此 ID 的上游，请换用其他 ID。',
  'idempotency_mismatch batch_id': '此批次标识此前已用于其他兑换码。请重新打开表单再试。',
};

// Codes whose sentence in Chinese says all that the API's does.
const whole: ReadonlySet<string> = new Set([
  'session_unknown',
  'internal',
  'unreachable',
  'cancelled',
  'not_found',
  'code_refused',
  'key_missing',
  'sign_in_refused',
  'sign_in_throttled',
  'hold_closed',
]);

const roles: Readonly<Record<string, string>> = {
  owner: '所有者',
  admin: '管理员',
  developer: '开发者',
  billing: '财务',
  viewer: '查看者',
};
const permissions: Readonly<Record<string, string>> = {
  look: '查看内容',
  'change keys': '更改密钥',
  'change money': '更改余额与账单',
  'change members': '更改成员',
};

/**
 * Sentences that are told with their facts; `{}` stands for what varies. Those of a field stand without its name, and all without the full stop.
 * A test compares them with the sources of the API.
 */
export const sentences: readonly (readonly [string, string | ((...facts: string[]) => string)])[] = [
  // Of fields.
  ['Field required', '此项必填'],
  ['must have 1 to {} characters, not only spaces', '须为 1 至 {} 个字符，且不能只有空格'],
  ['must have {} to {} characters', '须为 {} 至 {} 个字符'],
  ['must have at most {} characters', '最多 {} 个字符'],
  ['must have at most {} characters and no control characters', '最多 {} 个字符，且不能含控制字符'],
  ['must not have control characters such as line breaks', '不能含换行等控制字符'],
  ['must not have fewer than {} characters', '至少 {} 个字符'],
  ['must not have more than {} characters', '最多 {} 个字符'],
  ['must not have fewer than {} items', '至少选择 {} 项'],
  ['must not have more than {} items', '最多 {} 项'],
  ['must be >= {}', '不能小于 {}'],
  ['must be <= {}', '不能大于 {}'],
  ['must be integer', '须为整数'],
  ['must be number', '须为数字'],
  ['must be an e-mail address such as ada@example.com', '须为邮箱地址，例如 ada@example.com'],
  ['must be above 0; leave it away for a key without a limit', '须大于 0；不填则密钥没有上限'],
  ['must be above 0', '须大于 0'],
  ['must be above zero', '须大于 0'],
  ['must be at most {}', '不能大于 {}'],
  ['must be from {} to {} USD', '须在 {} 至 {} 美元之间'],
  ['must be in whole cents', '须精确到美分'],
  ['must be in the future; disable or revoke a key to stop it now', '须晚于现在；要立即停止密钥，请停用或吊销它'],
  ['must be in the future', '须晚于现在'],
  ['must be an instant such as {}', '须为时间，例如 {}'],
  ['is in the past; send a later instant, or 0 for now', '早于现在，请选择更晚的时间'],
  ['must begin with https:// or http://', '须以 https:// 或 http:// 开头'],
  ['is not of this form: {}', '格式不对：{}'],
  ['must be a whole number from {} to {}', '须为 {} 至 {} 的整数'],
  ['must name a model at least; set all_models to permit every model', '请至少选择一个模型'],
  ['must name at most {} models', '最多 {} 个模型'],
  [
    'must have 1 to {} of the characters a-z 0-9 . _ : / - and begin with a letter or a digit',
    '须为 1 至 {} 个字符，仅限 a-z 0-9 . _ : / -，并以字母或数字开头',
  ],
  // Of what a call needs.
  [
    'The account balance is too low: {} is needed and {} is available. Add credit to the account',
    '账户余额不足：需要 {}，可用 {}。请为账户充值',
  ],
  [
    'The account balance is too low: {} is needed and {} is available. Add credit to the account. What is available pays for this input and at most {} output tokens; lower max_tokens to that to proceed',
    '账户余额不足：需要 {}，可用 {}。请为账户充值，或将输出上限降到 {} 个 token',
  ],
  [
    'The account balance is held by calls in flight: {} is needed, {} is available and {} is held. Try again when they have ended',
    '余额正被进行中的调用冻结：需要 {}，可用 {}，冻结 {}。请等它们结束后再试',
  ],
  [
    'The spending limit of this key is reached: {} is needed and {} is left of {}, with {} spent. Raise the limit or use another key',
    '已达到该密钥的消费上限：需要 {}，剩余 {}（上限 {}，已用 {}）。请提高上限或换用其他密钥',
  ],
  [
    'The spending limit of this key is reached: {} is needed and {} is left of {}, with {} spent and {} held by calls in flight. Raise the limit or use another key',
    '已达到该密钥的消费上限：需要 {}，剩余 {}（上限 {}，已用 {}，进行中的调用冻结 {}）。请提高上限或换用其他密钥',
  ],
  ['The platform key ending in {} was revoked. Use another key', '以 {} 结尾的平台密钥已吊销，请换用其他密钥'],
  ['The platform key ending in {} is disabled. Enable it or use another key', '以 {} 结尾的平台密钥已停用。请启用它，或换用其他密钥'],
  ['There is no model named "{}"', '没有名为“{}”的模型'],
  // Of people and keys.
  [
    'As {} of this account you may not {}. Ask an owner or admin',
    (role = '', permission = '') =>
      `您在此账户的角色是${roles[role] ?? role}，不能${permissions[permission] ?? permission}。请联系所有者或管理员`,
  ],
  ['Only an owner can make somebody an owner, or change or remove one', '只有所有者才能设定、更改或移除所有者'],
  ['An account has at least one owner; make somebody else an owner first', '账户至少要有一名所有者，请先将他人设为所有者'],
  ['They belong to the account already; change their role instead', '此人已属于该账户，更改其角色即可'],
  ['Nobody with this id belongs to the account; send them an invitation', '账户中没有此人，请向其发送邀请'],
  ['You cannot disable yourself; let another operator do it', '不能停用自己，请由其他运维人员操作'],
  [
    'This is the last operator who can sign in; make somebody else an operator first',
    '这是最后一名可以登录的运维人员，请先将他人设为运维人员',
  ],
  ['This is the only way in which you can sign in; set a password first', '这是您唯一的登录方式，请先设置密码'],
  ['The key is revoked and cannot be changed; create a new key', '密钥已吊销，无法更改。请创建新密钥'],
  ['The key is revoked and cannot be rotated; create a new key', '密钥已吊销，无法轮换。请创建新密钥'],
  ['There were too many failed attempts; try again in {}, or sign in by a link', '失败次数过多，请稍候再试，或通过链接登录'],
  ['People cannot sign up here by themselves; ask for an invitation', '此处不开放自行注册，请索取邀请'],
  // Of money.
  ['No payment provider is set up here; ask the operator to add money', '此处未设置支付服务，请联系运维人员充值'],
  ['At most {} payments are begun for an account within a minute; try again in a while', '每个账户每分钟最多发起 {} 次支付，请稍候再试'],
  ['The payment provider does not answer as it should; try again in a while', '支付服务的回应异常，请稍候再试'],
  ['At most {} messages are sent for an account within an hour; try again later', '每个账户每小时最多发送 {} 条消息，请稍后再试'],
  ['The alert names neither a mail address nor a webhook; save one first', '提醒中既没有邮箱也没有 webhook，请先填写并保存'],
  ['The code is redeemed; correct the balance of the account instead', '该码已兑换；如需更正，请调整账户余额'],
  ['This entry took nothing from the account and added nothing, so there is nothing to reverse', '该条目没有增减账户余额，无需冲正'],
  ['An account can be credited at most {} in all', '一个账户累计最多可入账 {}'],
  ['There are more than {} groups; narrow the filter', '分组超过 {} 个，请缩小筛选范围'],
  ['The statements of this account are being made from its journal; try again shortly', '该账户的对账单正在生成，请稍候再试'],
  // Of the catalog and upstreams.
  ['There is no {} with this id', '没有此 ID 对应的内容'],
  ['There is a model "{}" already', '已有模型“{}”'],
  ['There is an upstream "{}" already', '已有上游“{}”'],
  ['"{}" already names the model "{}"; choose another name', '“{}”已是模型“{}”的名称，请换用其他名称'],
  [
    'The price of "{}" that this draft replaces has changed since you compared them. Look at the difference again',
    '自您比较之后，此草稿要替换的“{}”的价格已变更。请重新查看差异',
  ],
  [
    'These models are routed to "{}": {}. Change their targets first, or disable the upstream',
    '以下模型使用上游“{}”：{}。请先更改其路由，或停用该上游',
  ],
  ['The upstream "{}" is built in or set by configuration, and is not changed here', '上游“{}”为内置或由配置设定，不能在此更改'],
  ['The present secret cannot be decrypted with the present key; send the secret again', '无法用当前的密钥解密已存的凭据，请重新填写凭据'],
  [
    'The secret of this upstream cannot be decrypted with the present key; put the secret again',
    '无法用当前的密钥解密该上游的凭据，请重新填写凭据',
  ],
  ['leads to another server than before; send the secret again, or an empty one', '指向了另一台服务器；请重新填写凭据，或将其留空'],
];

// The longest first, for a short one may be how a longer one begins and ends.
const forms = sentences
  .toSorted(([one], [other]) => other.length - one.length)
  .map(([english, chinese]) => ({
    form: new RegExp(
      `^${english
        .split('{}')
        .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
        .join('(.+?)')}$`,
      's',
    ),
    tell: (facts: readonly string[]): string => {
      if (typeof chinese === 'function') return chinese(...facts);
      const rest = [...facts];
      return chinese.replaceAll('{}', () => rest.shift()!);
    },
  }));

/** The API's words for a field, without the field's name in front. */
export function withoutField(message: string, field: string): string {
  return message.startsWith(`${field}: `)
    ? message.slice(field.length + 2)
    : message.startsWith(`${field} `)
      ? message.slice(field.length + 1)
      : message;
}

/** The sentence with its facts, where it is one of those above. */
function known(sentence: string): string | undefined {
  const text = sentence.replace(/\.$/, '');
  for (const { form, tell } of forms) {
    const found = form.exec(text);
    if (found !== null) return tell(found.slice(1));
  }
  return undefined;
}

/** A refusal of a whole request. */
export function inChinese({ code, field, message }: Refusal): Words {
  const told = known(message);
  if (told !== undefined) return { text: `${told}。`, detail: undefined };
  // A rule alone does not say whose it is.
  const rule = field === null ? undefined : known(withoutField(message, field));
  if (rule !== undefined) return { text: `${field}：${rule}。`, detail: undefined };
  const text = ofField[`${code} ${field ?? ''}`] ?? ofCode[code];
  if (text === undefined) return { text: message, detail: undefined };
  return { text, detail: whole.has(code) || message === '' ? undefined : message };
}

/** A refusal beside the field that it is about. */
export function inChineseAtField({ code, field, message }: Refusal): string {
  const rule = withoutField(message, field ?? '');
  const told = known(rule);
  if (told !== undefined) return `${told}。`;
  const text = ofField[`${code} ${field ?? ''}`];
  if (text !== undefined) return text;
  return whole.has(code) ? ofCode[code]! : `${ofCode[code] ?? ''}${rule}`;
}
