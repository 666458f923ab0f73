// The texts for errors of the API in both languages, by code, rule and parameters. Loaded with the first error on a page. Pure.
import { type FieldRule, fieldRules, type Rule, sentences } from '../../../proto/rules/errors/error-sentences.js';
import { fill } from '../../../proto/rules/errors/templates.js';

type Language = 'en' | 'zh-CN';

/** An error as the API sends it. */
export interface ApiFault {
  readonly code: string;
  readonly rule: string | null;
  readonly params: Readonly<Record<string, string>>;
  readonly field: string | null;
  readonly message: string;
}

/** An error in the reader's language. */
export interface Words {
  readonly text: string;
  /** The API's own sentence, if it may contain more details. */
  readonly detail: string | undefined;
}

/** What a field must be, in Simplified Chinese. */
export const chineseFieldRules: Readonly<Record<FieldRule, string>> = {
  required: '此项必填',
  unknown_field: '不是此请求的字段；可用字段为 {fields}',
  constant: '须为 {value}',
  one_of: '须为 {values} 之一',
  words_of: '须为 {values} 中的值，以逗号分隔',
  update_mask: '须列出要更改的字段：{values} 中的一个或多个',
  type: '类型须为 {type}',
  integer: '须为整数',
  number: '须为数字',
  at_least: '不能小于 {min}',
  at_most: '不能大于 {max}',
  range: '须为 {min} 至 {max}',
  not_empty: '不能为空',
  min_length: '至少 {min} 个字符',
  max_length: '最多 {max} 个字符',
  length: '须为 {min} 至 {max} 个字符',
  min_items: '至少选择 {min} 项',
  max_items: '最多 {max} 项',
  items: '须有 {min} 至 {max} 项',
  name: '须为 1 至 {max} 个字符，且不能只有空格',
  no_control_characters: '不能包含换行等控制字符',
  printable: '最多 {max} 个字符，且不能包含控制字符',
  pattern: '格式须为：{form}',
  usd: '须为十进制美元金额，例如 5 或 0.25',
  max_decimals: '最多 {max} 位小数',
  timestamp: '须为带时区的有效时间，例如 2027-01-31T12:00:00Z',
  date: '须为日期或时间，例如 2026-11-20 或 2026-11-20T12:00:00Z',
  email: '须为邮箱地址，例如 ada@example.com',
  totp_code: '须为验证器应用当前显示的验证码；请检查手机时间是否准确',
  passkey: '须为浏览器对这些选项的响应，请重试',
  emails: '须为邮箱地址，例如 ada@example.com',
  max_emails: '最多 {max} 个邮箱地址',
  http_url: '须为以 https:// 或 http:// 开头的 URL',
  no_credentials: '不能包含用户名或密码',
  no_query: '不能包含查询参数或片段',
  public_address: '须为公网地址；不允许私有地址',
  private_address: '指向私有地址 {address}；如需使用，请允许私有地址',
  refused_address: '指向链路本地、多播或保留地址 {address}；不允许此类地址',
  unit_name: '须为 1 至 32 个字符，只含 a-z 0-9 _，以字母开头，且不能是 token 类别',
  unit_price: '须有有效的名称、不小于 0 的价格，以及不小于 1 的单次调用上限',
  distinct_units: '每个单位只能出现一次',
  hash: '须为 64 位小写十六进制数字',
  id: '须为“{prefix}_”加 32 位小写十六进制数字',
  account_search: '看起来是账户 ID，应为“acct_”加最多 32 位小写十六进制数字',
  distinct_periods: '须为 lifetime、month、week 或 day，且不能重复',
  lifetime_of_key: '密钥的预算不能为 lifetime；请改为设置密钥的终身上限',
  budgets_beside_limit: '须少于 {max} 项，因为密钥的终身上限算作其 {max} 项预算之一',
  some_percents: '至少要有一个百分比，因为软预算只发送提醒',
  scopes: '至少选择 {values} 之一，且不能重复',
  project_scopes: '限定于单个项目的密钥不能有 {values}，它们涉及整个账户',
  address_block: '须为 IP 地址或 CIDR 网段，例如 192.0.2.7、198.51.100.0/24 或 2001:db8::/32；“{address}”两者都不是',
  time_zone: '须为 IANA 时区名，例如 Asia/Shanghai 或 UTC',
  role: '须为 owner、admin、developer、billing、viewer 或 member',
  page_token: '须为同一列表的前一页所返回的游标',
  audit_action: '须为操作名，例如 key.create，或其点号之前的词',
  actor: '须为用户或管理密钥的 ID，或 operator',
  month: '须为月份，例如 2026-11',
  given: '此项必填，会显示在分录中',
  positive: '须大于 0',
  nonzero: '不能为 0',
  positive_limit: '须大于 0；不填则密钥不设上限',
  whole_cents: '须精确到美分',
  amount_range: '须在 {min_nano_usd} 至 {max_nano_usd} 之间',
  confirm_amount: '金额超过 {above_nano_usd}，须再次输入 {amount_nano_usd} 以确认',
  confirm_mismatch: '须与金额 {amount_nano_usd} 一致',
  future: '须晚于现在',
  future_expiry: '须晚于现在；要立即停止密钥，请停用或吊销它',
  before_year: '须早于 {year} 年',
  future_start: '须晚于现在；不填则在发布时生效',
  model_ids: '须为模型 ID：1 至 200 个不含空格的 ASCII 字符',
  no_models: '允许全部模型时须为空',
  some_models: '请至少选择一个模型，或不填以允许全部模型',
  max_models: '最多 {max} 个模型',
  distinct_models: '须为模型 ID，且不能重复：1 至 200 个不含空格的 ASCII 字符',
  model_name: '须为 1 至 {max} 个字符，仅限 a-z 0-9 . _ : / -，并以字母或数字开头',
  upstream_id: '须为 1 至 {max} 个字符，仅限 a-z 0-9 - _',
  field_paths: '最多 {max} 个请求字段名，每个不超过 {chars} 个字符，例如 options.num_ctx，且不能设置模型、输出上限、回答数量或账户',
  secret_characters: '最多 {max} 个可打印的 ASCII 字符，不能含空格',
  single_credential: '须省略：上游只有一个凭据，请排空或弹出整个目标',
  new_secret: '须重新填写或留空，因为 base_url 已指向另一台服务器',
  range_or_zero: '须为 {min} 至 {max}；未知则填 0',
  known: '须为已知的值',
  distinct_known: '须为已知的值，且不能重复',
  some_distinct_known: '须至少有一项，均为已知的值，且不能重复',
  no_embedding: '不能包含 embedding，它只能是输出模态',
  embedding_alone: '包含 embedding 时不能有其他输出：返回向量的模型不返回其他内容',
  at_most_field: '不能大于 {other}',
  distinct_aliases: '别名不能重复，也不能与 ID 相同',
  needs_group_by: '须同时填写 group_by',
  other_group: '不能与 group_by 相同',
  tz_offset: '须为相对 UTC 的分钟数，{min} 至 {max} 之间 15 的倍数',
  whole_request_id: '须为完整的调用 ID：“req_”加 32 位十六进制数字',
  member_or_none: '须为用户的 ID，或 {none}',
  keys_of_member: '涉及的密钥超过 {max} 个；请改为按密钥或项目筛选',
  not_with_sums: '不能与汇总同时使用，汇总包含符合筛选条件的所有调用',
  number_and_hash: '此项必填：number 与 hash 须同时填写',
};

/** Whole sentences, in Simplified Chinese. */
export const chineseSentences: Readonly<Record<Rule, string>> = {
  invalid_request: '请求中有内容缺失、格式不正确或超出范围。',
  unsupported_field: '请求中有不支持的内容。',
  context_length_exceeded: '对话与所请求的输出超出了模型的上下文长度。请缩短对话、降低输出上限，或换用上下文更长的模型。',
  upload_too_slow: '请求上传过慢，请换用更快的网络后重试。',
  body_too_large: '请求过大，请缩小后重试。',
  idempotency_mismatch: '该幂等键已用于不同的参数，未作任何更改。请重新打开表单后重试。',
  idempotency_key_used: '幂等键“{key}”已用于不同的参数，未作任何更改。请重新打开表单后重试。',
  id_mismatch: '“{id}”已用于不同的参数，未作任何更改。请重新打开表单后重试。',
  batch_mismatch: '该批次 ID 已用于其他兑换码。请重新打开表单后重试。',
  idempotency_in_progress: '相同的操作仍在进行中，请稍后重试。',
  idempotency_answer_gone: '该调用已收费，但其回答已不再保存。请使用新的幂等键重新发送。',
  not_found: '请求的内容不存在。',
  no_path: '此路径不存在。',
  no_such_id: '没有此 ID 对应的{what}。',
  no_such_name: '没有此名称对应的{what}。',
  no_account_of_yours: '该账户不存在，或您不是其成员。',
  no_member: '账户中没有此 ID 对应的成员，请先邀请该用户。',
  no_sign_up: '暂不开放注册，请索取邀请。',
  no_provider: '尚未配置身份提供方。',
  receipts_of_deposits: '只有充值才有收据。',
  no_statement: '该账户没有 {month} 的对账单。',
  no_entry: '该账户没有此分录，或分录已归档。',
  no_hold: '该账户没有调用 {id} 的冻结。',
  no_charge: '该账户没有调用 {id} 的扣费。',
  no_draft: '“{model}”没有价格草稿。',
  already_exists: '该内容已存在。',
  email_taken: '已有人使用此邮箱地址。',
  member_exists: '该用户已是账户成员，更改其角色即可。',
  identity_taken: '此身份已关联到另一位用户。',
  passkey_exists: '此通行密钥已添加。',
  model_exists: '已有模型“{id}”，请换用其他 ID。',
  upstream_exists: '已有上游“{id}”，请换用其他 ID。',
  credential_exists: '上游“{upstream}”已有凭据“{id}”，请换用其他名称。',
  name_taken: '“{name}”已是模型“{model}”的 ID 或别名，请换用其他名称。',
  start_taken: '“{model}”已有价格在同一毫秒生效，请选择其他时间。',
  failed_precondition: '当前状态不允许此操作。',
  key_unchangeable: '密钥已吊销，无法更改。请创建新密钥。',
  project_deleted: '此项目已删除，请选择其他项目。',
  prompts_never_logged: '该账户从不记录提示词与回答。所有者可以在“项目与预算 → 隐私”中更改。',
  default_project: '账户的默认项目不能删除。',
  project_in_use: '此项目还有未吊销的密钥。请先吊销这些密钥，或将其移到其他项目。',
  keys_full: '一个账户最多可有 {max} 个未吊销的密钥，请先吊销一个。',
  projects_full: '一个账户最多可有 {max} 个项目，请先删除一个。',
  management_keys_full: '一个账户最多可有 {max} 个管理密钥，请先吊销一个。',
  key_unrotatable: '密钥已吊销，无法轮换。请创建新密钥。',
  last_owner: '账户至少要有一名所有者，请先将其他成员设为所有者。',
  last_operator: '这是最后一名可以登录的运维人员，请先将其他用户设为运维人员。',
  only_sign_in: '这是您唯一的登录方式，请先设置密码。',
  reauthenticate: '此操作会更改您的登录方式，请先输入密码、完成两步验证或重新登录。',
  no_second_factor: '您尚未启用两步验证，请先设置。',
  totp_present: '您已有验证器应用。如需更换，请先移除现有的。',
  factors_full: '一位用户最多可有 {max} 种两步验证方式，请先移除一种。',
  enrolment_ended: '设置用时过长，请重新开始。',
  no_passkeys: '无法使用通行密钥：需要使用 HTTPS 和域名的公开地址（TOLLGATE_GATEWAY_PUBLIC_URL）。',
  identities_full: '一位用户最多可关联 {max} 个身份，请先取消关联一个。',
  invitations_full: '该账户已有 {max} 个待接受的邀请，已达上限。请撤回一些，或等待邀请被接受或过期。',
  not_yourself: '不能停用自己，请由其他运维人员操作。',
  no_payments: '尚未配置支付服务，请联系运维人员充值。',
  already_reversed: '分录 {seq} 已由分录 {reversal} 冲销，未作任何更改。',
  nothing_left: '分录 {seq} 已没有可冲销的金额，更正它的分录为：{corrections}。',
  reversal_too_large: '分录 {seq} 只剩 {left_nano_usd} 可冲销。',
  entry_changed: '分录 {seq} 刚刚被更正，还剩 {left_nano_usd}。请重新加载。',
  not_a_payment: '充值退款必须关联该笔付款的充值分录。',
  refund_archived: '调用 {id} 已归档，无法冲销其退款。请改为从账户扣款。',
  correction_irreversible: '扣费更正不能冲销：该调用的实际费用低于已扣金额。请改为从账户扣款。',
  reversal_irreversible: '退款冲销不能再冲销。请重新为调用 {id} 退款。',
  debit_too_large: '将从余额中扣除 {needed_nano_usd}，但可用余额只有 {available_nano_usd}。',
  debit_too_large_held: '将从余额中扣除 {needed_nano_usd}，但可用余额只有 {available_nano_usd}，另有 {held_nano_usd} 被进行中的调用冻结。',
  nothing_to_reverse: '该分录没有改变账户余额，无需冲销。',
  charge_not_final: '调用 {id} 的扣费尚未最终确定，请等其结算后重试。',
  refund_too_large: '调用 {id} 最多可退 {refundable_nano_usd}：已扣 {captured_nano_usd}，此前已退 {refunded_nano_usd}。',
  credit_limit: '一个账户累计最多可入账 {max_nano_usd}。',
  code_redeemed: '该兑换码已兑换。如需更正，请从账户扣款。',
  no_alert_destination: '提醒没有邮箱地址，请先填写并保存。',
  webhooks_full: '一个账户最多可有 {max} 个 Webhook 端点，请先删除一个。',
  webhook_disabled: '该 Webhook 端点已停用，请先启用。',
  too_many_groups: '分组超过 {max} 个，请缩小筛选范围。',
  models_full: '目录中已有 {max} 个模型，已达上限。',
  prices_full: '“{model}”已有 {max} 个价格版本，已达上限。',
  draft_changed: '“{model}”的价格草稿在您查看之后已变更。请重新查看。',
  draft_changed_by: '{author} 在您查看之后更改了“{model}”的价格草稿。请重新查看。',
  draft_gone: '“{model}”的价格草稿已被发布或放弃。请重新查看价格。',
  price_changed: '自您比较之后，此草稿要替换的“{model}”的价格已变更。请重新查看差异。',
  upstream_in_use: '以下模型使用上游“{id}”：{models}。请先更改其路由，或停用该上游。',
  upstream_locked: '上游“{id}”为内置或由配置设定，不能在此更改。',
  upstreams_full: '最多可有 {max} 个上游，请先删除一个。',
  credentials_full: '一个上游最多可有 {max} 个凭据，请先移除一个。',
  secret_unreadable: '无法用当前的加密密钥解密已保存的密钥，请重新填写。',
  not_offered: '本系统不提供该功能。',
  method_not_allowed: '此地址不支持该操作。请重新加载页面后重试。',
  key_missing: '请求中没有平台密钥。请通过 authorization 或 x-api-key 请求头发送。',
  key_malformed: '这不是平台密钥，请检查是否完整复制。',
  key_mistyped: '平台密钥输入有误或未完整复制，请重新复制。',
  management_key_sent: '这是管理密钥，不能调用模型。请使用以“sk-tg-”开头的平台密钥。',
  platform_key_sent: '这是平台密钥，只能调用模型。请使用以“mk-tg-”开头的管理密钥。',
  management_key_malformed: '管理密钥输入有误或未完整复制，请重新复制。',
  key_unknown: '该密钥不存在。请检查是否完整复制，以及是否属于本服务。',
  management_key_unknown: '该管理密钥不存在。请检查是否完整复制，以及是否属于本服务。',
  key_revoked: '该平台密钥已吊销，请换用其他密钥。',
  named_key_revoked: '以 {last_four} 结尾的平台密钥已吊销，请换用其他密钥。',
  management_key_revoked: '以 {last_four} 结尾的管理密钥已吊销，请换用其他密钥。',
  key_rotated: '此平台密钥已轮换，旧密钥自 {replaced_at} 起失效。请使用以 {last_four} 结尾的新密钥。',
  key_disabled: '该平台密钥已停用。请启用它，或换用其他密钥。',
  named_key_disabled: '以 {last_four} 结尾的平台密钥已停用。请启用它，或换用其他密钥。',
  management_key_orphaned: '以 {last_four} 结尾的管理密钥所代表的用户已停用或不再有访问权限，请创建新密钥。',
  key_expired: '该平台密钥已过期，请换用其他密钥。',
  named_key_expired: '以 {last_four} 结尾的平台密钥已于 {expired_at} 过期，请换用其他密钥。',
  management_key_expired: '以 {last_four} 结尾的管理密钥已于 {expired_at} 过期，请换用其他密钥。',
  account_suspended: '该平台密钥的账户已被暂停。请联系运维人员。',
  suspended_because: '该平台密钥的账户已被暂停：{why}',
  suspended_here: '该账户已被暂停。请联系运维人员。',
  suspended_here_because: '该账户已被暂停：{why}',
  model_not_permitted: '该平台密钥不能使用此模型。请换用其他模型，或更改密钥可用的模型。',
  model_not_in_key: '以 {last_four} 结尾的平台密钥不能使用模型“{model}”。GET /v1/models 列出它可以使用的模型。',
  model_not_in_project: '此平台密钥的项目“{project}”不能使用模型“{model}”。GET /v1/models 列出可以使用的模型。',
  address_not_permitted: '该平台密钥不能从当前网络地址使用。请从允许的地址调用，或将该地址加入允许的地址。',
  address_not_in_key: '以 {last_four} 结尾的平台密钥不能从 {address} 使用。请从允许的地址调用，或将该地址加入允许的地址。',
  management_key_address: '以 {last_four} 结尾的管理密钥不能从 {address} 使用。请从允许的地址调用。',
  peer_not_permitted: '此进程无权发起该调用。',
  factor_refused: '两步验证未通过：验证码不正确、已被使用或已过期，或通行密钥未知。',
  challenge_ended: '登录用时过长，或已经完成。请重新开始。',
  email_link_ended: '链接已被使用、已过期，或在申请后您的登录信息有其他更改。请重新获取。',
  email_link_other: '此链接由另一位用户申请。请以该用户登录后再次打开链接。',
  sign_in_refused: '登录失败：信息不正确，或链接已失效。',
  sign_in_throttled: '尝试次数过多，请稍后重试。',
  attempts_throttled: '尝试次数过多，请在 {minutes} 分钟后重试。',
  failures_throttled: '失败次数过多，请在 {minutes} 分钟后重试，或通过链接登录。',
  session_unknown: '登录已失效，请重新登录。',
  role_not_permitted: '您的角色没有此权限，请联系所有者或管理员。',
  permission: '您在此账户的角色是{role}，不能{permission}。请联系所有者或管理员。',
  no_scope: '管理密钥不能执行此操作，请登录控制台。',
  scope_missing: '此管理密钥没有 {scope} 权限范围。请创建具有该范围的密钥。',
  owners_only: '只有所有者才能邀请、设定、更改或移除所有者，以及撤销或替换对所有者的邀请。',
  managers_only: '只有账户的所有者或管理员才能更改或移除其他成员。',
  members_only: '只有在账户或项目中角色为“{role}”的用户可以执行此操作，仅有运维人员身份还不够。',
  account_second_factor: '此账户要求使用两步验证。请在“设置 → 安全”中设置。',
  oneself_only: '只有用户本人或运维人员可以执行此操作。',
  own_session_only: '只有该会话的用户可以执行此操作。',
  console_header: '更改需要请求头“x-tollgate-console: 1”，其他网站无法发送它。',
  other_site: '该请求来自其他网站，不能使用您的会话。',
  actor_refused: '无法验证执行操作的用户。',
  model_unknown: '该模型不存在，请从模型列表中选择。',
  no_model_named: '没有名为“{name}”的模型。',
  model_unpriced: '该模型没有生效中的价格，因此不能调用。请换用其他模型，或请运维人员发布价格。',
  model_paused: '运维人员已暂停该模型。请换用其他模型，或稍后重试。',
  model_unavailable: '目前没有可用的上游提供该模型。请换用其他模型，或稍后重试。',
  balance_empty: '账户余额不足以支付此次调用的最高可能费用。请充值，或降低输出上限。',
  balance_needed: '账户余额不足：需要 {needed_nano_usd}，可用 {available_nano_usd}。请为账户充值。',
  balance_held: '账户余额因进行中的调用而冻结，请在调用结束后重试。',
  balance_needed_held:
    '账户余额因进行中的调用而冻结：需要 {needed_nano_usd}，可用 {available_nano_usd}，冻结 {held_nano_usd}。请在调用结束后重试。',
  key_limit_reached: '该密钥的消费上限不足以支付此次调用。请提高上限，或换用其他密钥。',
  key_limit_needed:
    '已达到该密钥的消费上限：需要 {needed_nano_usd}，剩余 {available_nano_usd}（上限 {limit_nano_usd}，已用 {spent_nano_usd}）。请提高上限或换用其他密钥。',
  key_limit_short:
    '已达到该密钥的消费上限：需要 {needed_nano_usd}，剩余 {available_nano_usd}（上限 {limit_nano_usd}，已用 {spent_nano_usd}，进行中的调用冻结 {held_nano_usd}）。请提高上限或换用其他密钥。',
  key_limit_held:
    '该密钥剩余的消费上限因进行中的调用而冻结：需要 {needed_nano_usd}，剩余 {available_nano_usd}（上限 {limit_nano_usd}，已用 {spent_nano_usd}，冻结 {held_nano_usd}）。请在调用结束后重试。',
  budget_reached: '预算不足以支付此次调用。请提高预算，或等到下一周期。',
  budget_needed:
    '已达到该{scope}的{period}预算：需要 {needed_nano_usd}，剩余 {available_nano_usd}（预算 {limit_nano_usd}，已用 {spent_nano_usd}）。将于 {resets_at} 重置。请提高预算或等到那时。',
  budget_short:
    '已达到该{scope}的{period}预算：需要 {needed_nano_usd}，剩余 {available_nano_usd}（预算 {limit_nano_usd}，已用 {spent_nano_usd}，进行中的调用冻结 {held_nano_usd}）。将于 {resets_at} 重置。请提高预算或等到那时。',
  budget_held:
    '该{scope}的{period}预算余额因进行中的调用而冻结：需要 {needed_nano_usd}，剩余 {available_nano_usd}（预算 {limit_nano_usd}，已用 {spent_nano_usd}，冻结 {held_nano_usd}）。请在调用结束后重试。',
  lifetime_budget_needed:
    '已达到该{scope}的{period}预算：需要 {needed_nano_usd}，剩余 {available_nano_usd}（预算 {limit_nano_usd}，已用 {spent_nano_usd}）。请提高预算。',
  lifetime_budget_short:
    '已达到该{scope}的{period}预算：需要 {needed_nano_usd}，剩余 {available_nano_usd}（预算 {limit_nano_usd}，已用 {spent_nano_usd}，进行中的调用冻结 {held_nano_usd}）。请提高预算。',
  lifetime_budget_held:
    '该{scope}的{period}预算余额因进行中的调用而冻结：需要 {needed_nano_usd}，剩余 {available_nano_usd}（预算 {limit_nano_usd}，已用 {spent_nano_usd}，冻结 {held_nano_usd}）。请在调用结束后重试。',
  hold_closed: '此次调用的冻结已结束，请重试。',
  code_refused: '此兑换码不存在、已被使用或已失效。请检查是否输入完整。',
  code_throttled: '被拒绝的兑换码过多，请稍后重试。',
  codes_throttled: '被拒绝的兑换码过多，请在 {minutes} 分钟后重试。',
  call_closed: '此次调用已被记为丢失，所收费用请见其用量记录。',
  rate_limited: '已达到速率限制，请稍后重试。',
  key_requests: '此密钥每分钟最多 {max} 次请求，已用 {used} 次。请在 {seconds} 秒后重试。',
  key_tokens: '此密钥每分钟最多使用 {max} 个 token，已用 {used} 个；此请求约需 {needed} 个。请在 {seconds} 秒后重试。',
  key_counts: '此密钥每分钟最多计算 {max} 次 token 数。请在 {seconds} 秒后重试。',
  management_requests: '此管理密钥每分钟最多 {max} 次请求，已用 {used} 次。请在 {seconds} 秒后重试。',
  key_concurrent: '此密钥最多同时进行 {max} 次调用，现有 {used} 次。请在其中一次结束后重试。',
  project_requests: '此项目每分钟最多 {max} 次请求，已用 {used} 次。请在 {seconds} 秒后重试。',
  project_tokens: '此项目每分钟最多使用 {max} 个 token，已用 {used} 个；此请求约需 {needed} 个。请在 {seconds} 秒后重试。',
  project_concurrent: '此项目最多同时进行 {max} 次调用，现有 {used} 次。请在其中一次结束后重试。',
  account_requests: '此账户每分钟最多 {max} 次请求，已用 {used} 次。请在 {seconds} 秒后重试。',
  account_tokens: '此账户每分钟最多使用 {max} 个 token，已用 {used} 个；此请求约需 {needed} 个。请在 {seconds} 秒后重试。',
  account_concurrent: '此账户最多同时进行 {max} 次调用，现有 {used} 次。请在其中一次结束后重试。',
  account_model_requests: '此账户每分钟最多向模型“{model}”发出 {max} 次请求，已用 {used} 次。请在 {seconds} 秒后重试。',
  account_model_tokens:
    '此账户每分钟最多使用模型“{model}”的 {max} 个 token，已用 {used} 个；此请求约需 {needed} 个。请在 {seconds} 秒后重试。',
  account_model_concurrent: '此账户最多同时对模型“{model}”进行 {max} 次调用，现有 {used} 次。请在其中一次结束后重试。',
  over_token_limit: '此请求约需 {needed} 个 token，超过每分钟 {max} 个 token 的限制。请缩短请求，或申请更高的限制。',
  upstream_rejected: '模型的上游拒绝了此请求。',
  upstream_rate_limited: '模型的上游暂时不接受更多调用，请稍后重试。',
  upstream_overloaded: '模型的上游负载过高，请稍后重试。',
  upstream_unavailable: '无法连接上游，或其拒绝了运维人员的凭据。请稍后重试；如果问题仍然存在，请联系运维人员。',
  payments_unavailable: '支付服务没有响应，请稍后重试。',
  upstream_failed: '上游返回了错误或中途断开，请重试。',
  upstream_timeout: '模型的上游未及时响应，请重试。',
  overloaded: '目前请求过多，此请求未被处理。请稍后重试。',
  payments_per_minute: '每个账户每分钟最多发起 {max} 次支付，请一分钟后重试。',
  alerts_per_hour: '每个账户每小时最多发送 {max} 条通知，请稍后重试。',
  sign_ins_busy: '目前登录的用户过多，请几秒后重试。',
  service_unavailable: '网关的一部分暂时无法访问，请稍后重试。',
  provider_unreachable: '目前无法连接身份提供方，请稍后重试。',
  deadline_exceeded: '操作未及时完成，请重试。',
  cancelled: '请求已取消。',
  unimplemented: '此版本不支持该操作。',
  internal: '本系统内部出错。请重试；如果问题仍然存在，请将请求 ID 告知运维人员。',
};

/** Translations of parameter values into Simplified Chinese. */
const chineseValues: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  role: { owner: '所有者', admin: '管理员', developer: '开发者', billing: '财务', viewer: '查看者', member: '项目成员' },
  permission: {
    look: '查看账户',
    'see projects': '查看项目',
    'change keys': '更改密钥',
    'change money': '更改余额与账单',
    'change members': '更改成员',
    'change projects': '更改项目与预算',
  },
  scope: { account: '账户', project: '项目', key: '密钥' },
  period: { lifetime: '总', month: '本月', week: '本周', day: '今日' },
  what: {
    account: '账户',
    batch: '批次',
    caller: '调用方',
    code: '兑换码',
    credential: '凭据',
    delivery: '发送记录',
    entry: '分录',
    identity: '身份',
    invitation: '邀请',
    key: '密钥',
    management_key: '管理密钥',
    member: '成员',
    payment: '支付',
    project: '项目',
    prompt_log: '提示词与回答',
    refusal: '被拒绝的调用',
    second_factor: '两步验证方式',
    session: '会话',
    upstream: '上游',
    usage_record: '用量记录',
    user: '用户',
    'webhook endpoint': ' Webhook 端点',
  },
};

const english: Readonly<Record<string, string>> = Object.assign({}, ...Object.values(sentences));

const dictionaries = {
  en: { rules: fieldRules, sentences: english, values: {}, end: '.', between: ' ' },
  'zh-CN': { rules: chineseFieldRules, sentences: chineseSentences, values: chineseValues, end: '。', between: '：' },
} as const satisfies Record<Language, object>;

/** The template with its parameters; undefined when the template is unknown or a parameter is missing, as from a newer gateway. */
function worded(template: string | undefined, { params }: ApiFault, language: Language): string | undefined {
  if (template === undefined) return undefined;
  const values: Readonly<Record<string, Readonly<Record<string, string>>>> = dictionaries[language].values;
  const shown = Object.entries(params).map(([name, value]) => [name, values[name]?.[value] ?? value]);
  const text = fill(template, Object.fromEntries(shown));
  return /\{\w+(?::\w+)?\}/.test(text) ? undefined : text;
}

function ruleText(fault: ApiFault, language: Language): string | undefined {
  const rules: Readonly<Record<string, string>> = dictionaries[language].rules;
  return fault.rule === null ? undefined : worded(rules[fault.rule], fault, language);
}

function sentenceText(fault: ApiFault, language: Language): string | undefined {
  const known: Readonly<Record<string, string>> = dictionaries[language].sentences;
  return fault.rule === null ? undefined : worded(known[fault.rule], fault, language);
}

/** Returns the text for an error of a whole request. */
export function wordsOf(fault: ApiFault, language: Language): Words {
  const { code, field, message } = fault;
  const { sentences: known, end, between } = dictionaries[language];
  const sentence = sentenceText(fault, language);
  if (sentence !== undefined) return { text: sentence, detail: undefined };
  const rule = ruleText(fault, language);
  if (rule !== undefined) return { text: `${field === null ? '' : `${field}${between}`}${rule}${end}`, detail: undefined };
  // Without a rule, the API's own sentence may contain details. Only English can show it as the text.
  if (language === 'en' && message !== '') return { text: message, detail: undefined };
  const text = (known as Readonly<Record<string, string>>)[code];
  if (text === undefined) return { text: message, detail: undefined };
  return { text, detail: message === '' || saysAll.has(code) ? undefined : message };
}

/** Codes for which the API's own sentence adds no details. */
const saysAll: ReadonlySet<string> = new Set([
  'session_unknown',
  'internal',
  'cancelled',
  'not_found',
  'code_refused',
  'key_missing',
  'sign_in_refused',
  'sign_in_throttled',
  'hold_closed',
]);

/** Returns the text for an error at its field. */
export function wordsAtField(fault: ApiFault, language: Language): string {
  const rule = ruleText(fault, language);
  if (rule === undefined) {
    const { text, detail } = wordsOf(fault, language);
    return detail === undefined ? text : `${text}${detail}`;
  }
  return `${rule.charAt(0).toUpperCase()}${rule.slice(1)}${dictionaries[language].end}`;
}
