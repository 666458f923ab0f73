// The scripts with which several gateways count calls in Redis or Valkey: the same windows as window-table.ts, by the clock of Redis. Each script runs
// as a whole, so that a call is counted against all of its subjects or against none.

/** Every key of ours, in one slot of a Redis cluster. */
export const keyPrefix = 'tollgate:{limits}:';
/** The gateways that are alive: a sorted set of their ids, by the time at which they expire. */
export const gatewaysKey = `${keyPrefix}gateways`;

const common = `
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local present = math.floor(nowMs / 500)
local buckets = 121

-- Moves the window of a subject to the present bucket, and returns its sums.
local function advance(key)
  local state = redis.call('HMGET', key, 'h', 'rs', 'ts')
  local head, requests, tokens = tonumber(state[1]) or present, tonumber(state[2]) or 0, tonumber(state[3]) or 0
  -- Nothing would leave a window that is ahead of a clock that was set back.
  if head > present + buckets then head = present end
  if present > head then
    local names = {}
    for at = math.max(head + 1, present - buckets + 1), present do
      names[#names + 1] = 'r' .. at % buckets
      names[#names + 1] = 't' .. at % buckets
    end
    local counts = redis.call('HMGET', key, unpack(names))
    for index = 1, #counts, 2 do
      requests = requests - (tonumber(counts[index]) or 0)
      tokens = tokens - (tonumber(counts[index + 1]) or 0)
    end
    redis.call('HDEL', key, unpack(names))
  end
  head = math.max(head, present)
  redis.call('HSET', key, 'h', head, 'rs', requests, 'ts', tokens)
  redis.call('EXPIRE', key, 120)
  return head, requests, tokens
end
`;

/**
 * Keys: gateways, then the window and the calls in flight of each subject. Arguments: gateway id, tokens, then the three limits of each subject, 0
 * for none. Returns the subject that refuses (0: none), its limit (1 requests, 2 tokens, 3 concurrent), the wait in milliseconds (-1: forever), the
 * bucket of Redis, and five figures of each subject.
 */
export const takeScript = `${common}
local gateway, demand = ARGV[1], tonumber(ARGV[2])
local refused, limit, wait = 0, 0, 0
local subjects = {}

-- Returns the wait until this much has left the window.
local function freeIn(subject, ring, excess)
  local names = {}
  for at = subject.head - buckets + 1, subject.head do names[#names + 1] = ring .. at % buckets end
  local counts = redis.call('HMGET', subject.key, unpack(names))
  for index = 1, #counts do
    excess = excess - (tonumber(counts[index]) or 0)
    if excess <= 0 then return math.max(1, (subject.head + index) * 500 - nowMs) end
  end
  return 60000
end

local function inFlight(key)
  local counts, sum = redis.call('HGETALL', key), 0
  for index = 1, #counts, 2 do
    local expires = tonumber(redis.call('ZSCORE', KEYS[1], counts[index]) or '0')
    if expires > nowMs or counts[index] == gateway then
      sum = sum + tonumber(counts[index + 1])
    else
      redis.call('HDEL', key, counts[index])
    end
  end
  return sum
end

for index = 1, (#KEYS - 1) / 2 do
  local key, calls = KEYS[2 * index], KEYS[2 * index + 1]
  local subject = { key = key, calls = calls, max = { tonumber(ARGV[3 * index]), tonumber(ARGV[3 * index + 1]), tonumber(ARGV[3 * index + 2]) } }
  local head, requests, tokens = advance(key)
  subject.head = head
  local last = redis.call('HMGET', key, 'rl', 'tl')
  subject.used = {
    requests,
    tokens,
    subject.max[3] > 0 and inFlight(calls) or 0,
  }
  subject.last = { tonumber(last[1]), tonumber(last[2]) }
  subjects[index] = subject
  local needed = { 1, demand, 1 }
  for each = 1, 3 do
    local excess = subject.used[each] + needed[each] - subject.max[each]
    if subject.max[each] > 0 and excess > 0 then
      local freeMs = 1000
      if each < 3 then freeMs = needed[each] > subject.max[each] and -1 or freeIn(subject, each == 1 and 'r' or 't', excess) end
      -- A client that waits for a shorter time would be refused again.
      if refused == 0 or (wait >= 0 and (freeMs < 0 or freeMs > wait)) then refused, limit, wait = index, each, freeMs end
    end
  end
end

if refused == 0 then
  for _, subject in ipairs(subjects) do
    local bucket = subject.head % buckets
    redis.call('HINCRBY', subject.key, 'rs', 1)
    redis.call('HINCRBY', subject.key, 'r' .. bucket, 1)
    redis.call('HSET', subject.key, 'rl', subject.head)
    subject.used[1], subject.last[1] = subject.used[1] + 1, subject.head
    if demand > 0 then
      redis.call('HINCRBY', subject.key, 'ts', demand)
      redis.call('HINCRBY', subject.key, 't' .. bucket, demand)
      redis.call('HSET', subject.key, 'tl', subject.head)
      subject.used[2], subject.last[2] = subject.used[2] + demand, subject.head
    end
    if subject.max[3] > 0 then
      redis.call('HINCRBY', subject.calls, gateway, 1)
      -- No call takes longer.
      redis.call('EXPIRE', subject.calls, 86400)
      subject.used[3] = subject.used[3] + 1
    end
  end
end

local answer = { refused, limit, wait, present }
for _, subject in ipairs(subjects) do
  for each = 1, 3 do answer[#answer + 1] = subject.used[each] end
  for each = 1, 2 do
    local last = subject.last[each]
    answer[#answer + 1] = last and math.max(0, (math.min(last, subject.head) + buckets) * 500 - nowMs) or 0
  end
end
return answer
`;

/**
 * Keys as above. Arguments: gateway id, the tokens and the bucket with which the call was counted, the tokens that it used, then for each subject 1 if its
 * calls in flight were counted.
 */
export const endScript = `${common}
local gateway, demand, taken, used = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
for index = 1, (#KEYS - 1) / 2 do
  local key, calls = KEYS[2 * index], KEYS[2 * index + 1]
  if ARGV[4 + index] == '1' and (tonumber(redis.call('HGET', calls, gateway) or '0')) > 0 then
    if redis.call('HINCRBY', calls, gateway, -1) == 0 then redis.call('HDEL', calls, gateway) end
  end
  local head = advance(key)
  local by, at = used - demand, head
  if by < 0 then
    at = taken
    local counted = taken > head - buckets and tonumber(redis.call('HGET', key, 't' .. taken % buckets) or '0') or 0
    by = math.max(by, -counted)
  end
  if by ~= 0 then
    redis.call('HINCRBY', key, 'ts', by)
    redis.call('HINCRBY', key, 't' .. at % buckets, by)
    if by > 0 then redis.call('HSET', key, 'tl', head) end
  end
end
return 0
`;

/**
 * Keys: gateways. Arguments: gateway id, its lifetime in milliseconds. Keeps a gateway alive. Returns how many are, and 1 if it still was, or 0 if its
 * calls in flight may have been removed.
 */
export const aliveScript = `
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local expiresMs = nowMs + ARGV[2]
local wasAlive = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '0') > nowMs
redis.call('ZADD', KEYS[1], expiresMs, ARGV[1])
-- Another gateway announced itself before the clock was set back; it may be lost.
for _, other in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. expiresMs, '+inf')) do
  redis.call('ZADD', KEYS[1], expiresMs, other)
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', nowMs)
return { redis.call('ZCARD', KEYS[1]), wasAlive and 1 or 0 }
`;
